"""Invalidations reach the kernel in order, from a thread of their own, and a directory's listing goes with a name."""

import errno
import threading

import pytest

from memfs.fuse.notifier import Notifier
from memfs.vfs.values import Announcement, Event, InvalidateEntry, InvalidateInode


class Kernel:
    def __init__(self, status: int = 0) -> None:
        self.told: list[tuple[object, ...]] = []
        self.threads: set[int] = set()
        self.status = status

    def entry(self, parent: int, name: bytes) -> int:
        self.told.append(("entry", parent, name))
        self.threads.add(threading.get_ident())
        return self.status

    def inode(self, nodeid: int) -> int:
        self.told.append(("inode", nodeid))
        return self.status

    def announce(self, announcement: Announcement) -> None:
        self.told.append(("announce", announcement.path))


def test_a_name_goes_first_and_the_listing_of_its_directory_after_it() -> None:
    kernel, notifier = Kernel(), Notifier()
    notifier.put(InvalidateEntry(5, b"a.md"))

    notifier.start(kernel.entry, kernel.inode, kernel.announce)
    notifier.put(InvalidateInode(9))
    notifier.stop()

    assert [("entry", 5, b"a.md"), ("inode", 5), ("inode", 9)] == kernel.told
    assert threading.get_ident() not in kernel.threads


def test_programs_hear_of_a_file_only_after_the_kernel_forgot_the_old_one() -> None:
    kernel, notifier = Kernel(), Notifier()

    notifier.start(kernel.entry, kernel.inode, kernel.announce)
    notifier.put(InvalidateEntry(5, b"a.md"))
    notifier.put(Announcement(b"notes/a.md", Event.EDITED))
    notifier.stop()

    assert [("entry", 5, b"a.md"), ("inode", 5), ("announce", b"notes/a.md")] == kernel.told


@pytest.mark.parametrize("status", [-errno.ENOENT, -errno.ENOTCONN, -errno.ENODEV])
def test_what_the_kernel_does_not_cache_needs_no_word(status: int) -> None:
    kernel, notifier = Kernel(status), Notifier()

    notifier.start(kernel.entry, kernel.inode, kernel.announce)
    notifier.put(InvalidateEntry(5, b"a.md"))
    notifier.stop()

    assert 2 == len(kernel.told)


@pytest.mark.expect_log("EINVAL")
def test_a_refused_invalidation_is_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    kernel, notifier = Kernel(-errno.EINVAL), Notifier()

    notifier.start(kernel.entry, kernel.inode, kernel.announce)
    notifier.put(InvalidateInode(5))
    notifier.stop()

    assert "EINVAL" in caplog.text


def test_stopping_what_never_started_returns() -> None:
    Notifier().stop()
