"""What touches a mount, done by short-lived processes: the one that serves a mount must never wait for itself.

Killed while its own request is unanswered, a serving process never dies and everyone else hangs. So the look at a mount
and the unmounting run outside, without the descriptor of /dev/fuse. Every wait here is bounded.
"""

import errno
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from enum import Enum
from pathlib import Path

from memfs.fuse import mountinfo

# The exit code is an errno. Both calls are asked: attributes may come from the kernel's cache, statvfs never does.
_LOOK = "import os, sys; os.stat(sys.argv[1]); os.statvfs(sys.argv[1])"
_GUARD = "import os, sys\ntry:\n    {}\nexcept OSError as error:\n    sys.exit(error.errno)"
_MOUNT_CALLS = str(Path(__file__).with_name("mount_calls.py"))
_KILLED_WAIT_S = 0.5
_UNMOUNT_TIMEOUT_S = 10.0


class Pulse(Enum):
    """What a look at a mount showed."""

    ALIVE = "it answers"
    DEAD = "its process is gone"
    SILENT = "it does not answer"


def look(mount_point: Path, timeout_s: float) -> Pulse:
    """Ask the mount for its attributes and figures, from another process."""
    code = _run("-c", _GUARD.format(_LOOK), str(mount_point), timeout_s=timeout_s)
    if code is None:
        return Pulse.SILENT
    return Pulse.DEAD if code in {errno.ENOTCONN, errno.ECONNABORTED} else Pulse.ALIVE


def unmount(mount_point: Path, *, lazy: bool, timeout_s: float = _UNMOUNT_TIMEOUT_S) -> None:
    """Try to unmount; whether it worked is seen in `mountinfo`. ``lazy`` detaches even while programs use it."""
    if os.geteuid() != 0:
        _ask_fusermount(mount_point, lazy=lazy, timeout_s=timeout_s)
    elif lazy:
        call("detach", mount_point, timeout_s=timeout_s)
    else:
        found = mountinfo.at(mount_point)
        parts = mountinfo.inside(found) if found else []
        names = [part.mount_point.name for part in reversed(parts)]
        call("unmount", mount_point, *names, timeout_s=timeout_s)


def clear(mount_point: Path, device: str) -> None:
    """Detach a mount whose process is gone or hangs, its connection aborted first: waiting programs get an error."""
    control = Path("/sys/fs/fuse/connections") / device.partition(":")[2] / "abort"
    with suppress(OSError):  # The control files may not be mounted, or belong to someone else.
        control.write_text("1")
    if os.geteuid() == 0:
        call("abort", mount_point, timeout_s=_UNMOUNT_TIMEOUT_S)
    else:
        _ask_fusermount(mount_point, lazy=True, timeout_s=_UNMOUNT_TIMEOUT_S)


def call(step: str, mount_point: Path, *names: str, timeout_s: float) -> int | None:
    """Take a step of `mount_calls`; return its errno (0: done), None where it hangs."""
    return _run(_MOUNT_CALLS, step, str(mount_point), *names, timeout_s=timeout_s)


def _ask_fusermount(mount_point: Path, *, lazy: bool, timeout_s: float) -> None:
    if fusermount := shutil.which("fusermount"):
        _wait([fusermount, "-u", "-q", *(["-z"] if lazy else []), "--", str(mount_point)], timeout_s)


def _run(*words: str, timeout_s: float) -> int | None:
    return _wait([sys.executable, "-I", "-S", *words], timeout_s)


def _wait(command: list[str], timeout_s: float) -> int | None:
    """Return the exit code, None where the process hangs (it is killed, and may stay until the mount lets it go)."""
    process = subprocess.Popen(  # noqa: S603  (fixed words and a path)
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/"
    )
    try:
        return process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        process.kill()
        with suppress(subprocess.TimeoutExpired):
            process.wait(_KILLED_WAIT_S)
        return None
