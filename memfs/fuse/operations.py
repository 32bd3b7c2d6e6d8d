"""What the kernel asks, in the words of `FileSystem`: one method for each upcall, and the table that libfuse is given.

Left out on purpose, so that the kernel never asks again: flush, access, xattrs, locks (its own), fallocate.

In the kernel-open mode ``open`` and ``opendir`` are answered ENOSYS once: from then on the kernel opens by itself,
reads and lists from its cache without an upcall, and sends no ``release`` either, so a created file keeps no handle.

Threading: everything runs in the session's thread.
"""

import ctypes as C  # noqa: N812  (the letter every binding uses)
import errno
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from memfs.core.errors import MemfsError
from memfs.fuse import replies
from memfs.fuse import structures as lib
from memfs.fuse.announced import Announced
from memfs.fuse.announcing import Announcer
from memfs.fuse.lowlevel import Callback, Send, Upcalls, by_caller, no_reply, one_reply
from memfs.fuse.options import OpenUpcalls
from memfs.fuse.structures import Foreign
from memfs.vfs.filesystem import FileSystem
from memfs.vfs.values import ROOT, Attributes, DirectoryEntry, SetAttributes, Statistics

KERNEL_OPENS_SINCE_MINOR = 29
"""The protocol's minor version (Linux 5.1) from which both ``open`` and ``opendir`` may be answered ENOSYS."""

_SET_MODE, _SET_UID, _SET_GID, _SET_SIZE, _SET_ATIME, _SET_MTIME = (1 << bit for bit in range(6))
_NS = 1_000_000_000
_NAMES = {
    **dict.fromkeys(("lookup", "mknod", "mkdir", "unlink", "rmdir", "create"), (1,)),
    "symlink": (2,), "link": (2,), "rename": (1, 3),
}  # fmt: skip
"""Which arguments of an upcall are names."""


class _Upcall(NamedTuple):
    """What an upcall does, how it is answered, and how it is taken back when the kernel no longer waited."""

    operation: Callable[..., Any]
    send: Send
    undo: Callable[[Any], None] | None = None


class Operations:
    """The callbacks of one mount.

    Args:
        filesystem: What they act on.
        open_upcalls: Whether ``open`` stays an upcall in any case.
        announcer: Has a process that is answered by `Announced`.
    """

    def __init__(self, filesystem: FileSystem, open_upcalls: OpenUpcalls, announcer: Announcer) -> None:
        self._fs = filesystem
        self._open_upcalls = open_upcalls
        self.kernel_opens = False
        self.upcalls = Upcalls()
        self._replies = replies.Replies()
        self._announcer = announcer

    def table(self) -> lib.Operations:
        """Return the C table; whoever hands it to libfuse keeps it alive as long as the session."""
        callbacks = self._callbacks()
        return lib.Operations(**{name: slot(callbacks[name]) for name, slot in lib.SLOTS if name in callbacks})

    def _callbacks(self) -> dict[str, Callback]:
        answers, fs, cell = self._replies, self._fs, self.upcalls.cell
        table = {
            "lookup": _Upcall(self.lookup, answers.entry, self.forget_entry),
            "forget": _Upcall(fs.forget, replies.nothing),
            "forget_multi": _Upcall(self.forget_multi, replies.nothing),
            "getattr": _Upcall(self.getattr, answers.attributes),
            "setattr": _Upcall(self.setattr, answers.attributes),
            "mknod": _Upcall(self.refuse_node, replies.done),
            "symlink": _Upcall(self.refuse_symlink, replies.done),
            "link": _Upcall(self.refuse_link, replies.done),
            "mkdir": _Upcall(fs.mkdir, answers.entry, self.forget_entry),
            "unlink": _Upcall(fs.unlink, replies.done),
            "rmdir": _Upcall(fs.rmdir, replies.done),
            "rename": _Upcall(fs.rename, replies.done),
            "create": _Upcall(self.create, answers.created, self.forget_created),
            "open": _Upcall(self.open, replies.opened),
            "opendir": _Upcall(self.opendir, replies.opened),
            "read": _Upcall(self.read, replies.content),
            "write": _Upcall(self.write, replies.written),
            "release": _Upcall(self.release, replies.done),
            "fsync": _Upcall(self.fsync, replies.done),
            "fsyncdir": _Upcall(self.fsync, replies.done),
            "readdir": _Upcall(self.readdir, answers.listing),
            "statfs": _Upcall(self.statfs, answers.statistics),
        }
        made = {
            name: one_reply(*upcall, count=cell(name), names=_NAMES.get(name, ())) for name, upcall in table.items()
        }
        return {"init": no_reply(self.init), **made, **self._announced(table, made)}

    def _announced(self, table: Mapping[str, _Upcall], made: Mapping[str, Callback]) -> dict[str, Callback]:
        """Return those callbacks that look who asks."""
        announcer, own = self._announcer, Announced(self._fs, self._announcer.made, self.open, self.setattr)
        operations: dict[str, Callable[..., Any]] = {
            "lookup": own.lookup,
            "mkdir": own.mkdir,
            "create": own.create,
            "open": own.open,
            "setattr": own.setattr,
        }
        count = self.upcalls.cell("announcements")
        return {
            name: by_caller(
                made[name],
                one_reply(operation, table[name].send, table[name].undo, count=count, names=_NAMES.get(name, ())),
                lambda: announcer.pid if announcer.is_under_way else 0,
            )
            for name, operation in operations.items()
        }

    def init(self, _user: object, connection: Foreign) -> None:
        """Learn what the kernel can do, before any other upcall."""
        can = connection.contents.proto_minor >= KERNEL_OPENS_SINCE_MINOR
        self.kernel_opens = can and self._open_upcalls is OpenUpcalls.AUTO

    def lookup(self, parent: int, name: bytes) -> Attributes | None:
        """Find a name; a missing one is remembered by the kernel, except at the root, where stores come and go."""
        try:
            return self._fs.lookup(parent, name)
        except (OSError, MemfsError) as error:
            if error.errno != errno.ENOENT or parent == ROOT:
                raise
            return None

    def forget_entry(self, attributes: Attributes | None) -> None:
        """Take back the lookup that the kernel never learned of."""
        if attributes is not None:
            self._fs.forget(attributes.nodeid, 1)

    def forget_created(self, created: tuple[Attributes, Foreign]) -> None:
        """Take back the file's lookup and handle; the file itself stays."""
        attributes, info = created
        self.release(attributes.nodeid, info)
        self._fs.forget(attributes.nodeid, 1)

    def forget_multi(self, count: int, items: Foreign) -> None:
        """Drop lookups of several nodes."""
        forget = self._fs.forget
        for index in range(count):
            item = items[index]
            forget(item.nodeid, item.nlookup)

    def getattr(self, nodeid: int, _info: object) -> Attributes:
        """Tell what a node is like."""
        return self._fs.getattr(nodeid)

    def setattr(self, nodeid: int, attr: Foreign, to_set: int, info: Foreign) -> Attributes:
        """Change attributes; "now" comes with its time. O_TRUNC is a size of 0 here."""
        wanted = attr.contents
        change = SetAttributes(
            mode=wanted.st_mode if to_set & _SET_MODE else None,
            uid=wanted.st_uid if to_set & _SET_UID else None,
            gid=wanted.st_gid if to_set & _SET_GID else None,
            size=wanted.st_size if to_set & _SET_SIZE else None,
            atime_ns=_nanoseconds(wanted.st_atimespec) if to_set & _SET_ATIME else None,
            mtime_ns=_nanoseconds(wanted.st_mtimespec) if to_set & _SET_MTIME else None,
        )
        return self._fs.setattr(nodeid, change, (info.contents.fh or None) if info else None)

    def refuse_node(self, parent: int, _name: bytes, _mode: int, _device: int) -> None:
        """Refuse devices, sockets and pipes."""
        self._fs.refuse_special(parent)

    def refuse_symlink(self, _target: bytes, parent: int, _name: bytes) -> None:
        """Refuse symbolic links."""
        self._fs.refuse_special(parent)

    def refuse_link(self, _nodeid: int, parent: int, _name: bytes) -> None:
        """Refuse hard links."""
        self._fs.refuse_special(parent)

    def create(self, parent: int, name: bytes, mode: int, info: Foreign) -> tuple[Attributes, Foreign]:
        """Make a file and open it."""
        opened = info.contents
        attributes, fh = self._fs.create(parent, name, mode, opened.flags)
        if self.kernel_opens:
            # The kernel forgets to release what it can open by itself: the handle would never be closed.
            self._fs.release(attributes.nodeid, fh)
            fh = 0
        opened.fh, opened.keep_cache = fh, 1
        return attributes, info

    def open(self, nodeid: int, info: Foreign) -> Foreign:
        """Open a file, or tell the kernel to do so by itself."""
        if self.kernel_opens:
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
        opened = info.contents
        opened.fh, opened.keep_cache = self._fs.open(nodeid, opened.flags), 1
        return info

    def opendir(self, _nodeid: int, info: Foreign) -> Foreign:
        """Open a directory, or tell the kernel to do so by itself; listings go by nodeid and need no handle."""
        if self.kernel_opens:
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
        return info

    def read(self, nodeid: int, size: int, offset: int, info: Foreign) -> bytes:
        """Read from a file."""
        return self._fs.read(nodeid, size, offset, info.contents.fh)

    def write(self, nodeid: int, buffer: int, size: int, offset: int, info: Foreign) -> int:
        """Write to a file; ``flags`` are those of the descriptor, so that O_APPEND is known without an open."""
        opened = info.contents
        return self._fs.write(nodeid, C.string_at(buffer, size), offset, opened.flags, opened.fh)

    def release(self, nodeid: int, info: Foreign) -> None:
        """Give a handle back."""
        if fh := info.contents.fh:
            self._fs.release(nodeid, fh)

    def fsync(self, nodeid: int, datasync: int, info: Foreign) -> None:
        """Make a file, or the names of a directory, durable."""
        self._fs.fsync(nodeid, bool(datasync), info.contents.fh if info else 0)

    def readdir(self, nodeid: int, size: int, cookie: int, _info: object) -> tuple[int, Iterator[DirectoryEntry]]:
        """List a directory from ``cookie`` on."""
        return size, self._fs.readdir(nodeid, cookie)

    def statfs(self, nodeid: int) -> Statistics:
        """Tell how full it is."""
        return self._fs.statfs(nodeid)


def _nanoseconds(spec: Foreign) -> int:
    return int(spec.tv_sec * _NS + spec.tv_nsec)
