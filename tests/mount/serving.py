"""Run as a process: serve a state directory at a mount point; ``READY`` on standard output once it answers.

After the way of opening may come limits: ``memories=8``.
"""

import logging
import os
import sys
import time
from pathlib import Path

from memfs.core.errors import MemfsError
from memfs.core.limits import Limits
from memfs.core.names import Names
from memfs.fuse.mounting import MountOptions, OpenUpcalls, run
from memfs.state.layout import Layout
from memfs.vfs.filesystem import FileSystem
from memfs.vfs.values import Ownership


def main(state: str, mount_point: str, open_upcalls: str, **limits: int) -> int:
    layout = Layout(Path(state))
    try:
        return run(
            lambda invalidate: FileSystem(
                layout,
                limits=Limits(**limits),
                names=Names(),
                ownership=Ownership(uid=os.geteuid(), gid=os.getegid(), umask=0o022),
                clock_ns=time.time_ns,
                invalidate=invalidate,
            ),
            socket_path=layout.mount_socket,
            mount_point=Path(mount_point),
            options=MountOptions(open_upcalls=OpenUpcalls(open_upcalls)),
            on_ready=lambda: os.write(1, b"READY\n"),
        )
    except MemfsError as error:
        sys.stderr.write(f"{error.code}: {error}\n")
        return error.exit_code


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    given = (word.split("=") for word in sys.argv[4:])
    sys.exit(main(*sys.argv[1:4], **{name: int(figure) for name, figure in given}))
