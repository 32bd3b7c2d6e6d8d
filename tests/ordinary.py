"""``python ordinary.py UID COMMAND…``: become an ordinary user, as one is on a usual host, and run COMMAND.

Run by root, it makes a mount namespace of its own first, in which everybody may open /dev/fuse and pass to the
interpreter and to the present directory; nothing of the host is changed. Run by anybody else, it only runs COMMAND.
"""

import os
import stat
import sys
from pathlib import Path

from memfs.sandbox import system

DEVICE = Path("/dev/fuse")


def main(uid: int, command: list[str]) -> None:
    if os.geteuid() == 0:
        system.unshare(system.NEWNS)
        system.mount(None, "/", None, system.MS_REC | system.MS_PRIVATE)
        open_device()
        for path in (here := Path.cwd(), Path(sys.base_prefix), Path(sys.prefix)):
            let_pass(path)
        os.chdir(here)
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    os.execv(command[0], command)


def open_device() -> None:
    if DEVICE.stat().st_mode & 0o006 == 0o006:
        return
    system.mount("devices", "/mnt", "tmpfs", 0)
    own = Path("/mnt/fuse")
    os.mknod(own, stat.S_IFCHR | 0o666, DEVICE.stat().st_rdev)
    own.chmod(0o666)
    system.bind(own, DEVICE)
    system.unmount("/mnt")


def let_pass(path: Path) -> None:
    """Replace each directory on the way to ``path`` that is closed to others by one that only leads there."""
    for closed in reversed(path.parents):
        if closed.stat().st_mode & 0o001:
            continue
        step = path.relative_to(closed).parts[0]
        kept = os.open(closed / step, os.O_PATH)
        system.mount("way", closed, "tmpfs", 0, "mode=755")
        (closed / step).mkdir()
        system.bind(f"/proc/self/fd/{kept}", closed / step)
        os.close(kept)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
