"""``mount.lock``: one mount for a state directory. The file tells which process serves which mount point."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memfs.core.errors import AlreadyHeld

NAME = "mount.lock"


@contextmanager
def held(state: Path, mount_point: Path) -> Iterator[None]:
    """Hold the state directory (made where it is missing) for a mount.

    Raises:
        AlreadyHeld: Another mount serves it; the message names process and mount point.
    """
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = os.open(state / NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pid, point = _told(lock)
            raise AlreadyHeld(
                f"process {pid} already mounts the state {state} at {point}",
                remedy=f"Unmount it first: memfs unmount {point}",
            ) from None
        os.ftruncate(lock, 0)
        os.pwrite(lock, os.fsencode(f"{os.getpid()} {mount_point}\n"), 0)
        yield
    finally:
        os.close(lock)


def holder(state: Path) -> int:
    """Return the process that serves, or served last, a state directory.

    Raises:
        FileNotFoundError: None ever did.
    """
    lock = os.open(state / NAME, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return int(_told(lock)[0])
    finally:
        os.close(lock)


def holder_told(state: Path) -> tuple[int, str] | None:
    """Return process and mount point of the mount that serves a state directory; None where no process holds it."""
    try:
        lock = os.open(state / NAME, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        device, inode = os.fstat(lock).st_dev, os.fstat(lock).st_ino
        # Read about, never tried: a mount that starts now must find it free.
        held = f" {os.major(device):02x}:{os.minor(device):02x}:{inode} "
        if held not in Path("/proc/locks").read_text(encoding="ascii"):
            return None
        pid, point = _told(lock)
        return int(pid), point
    finally:
        os.close(lock)


def _told(lock: int) -> tuple[str, str]:
    pid, _, point = os.fsdecode(os.pread(lock, 8_192, 0)).partition(" ")
    return pid, point.strip()
