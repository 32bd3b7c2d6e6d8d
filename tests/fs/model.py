"""What a mount should do, said with plain dictionaries: the reference that the state machine compares it with.

Nothing here knows memfs. A call that must be refused raises `Refused` with every errno that would be right, and has
changed nothing; what the worker does by compare-and-swap (`Pulled`) is in `model_pulls`.
"""

import errno
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

BEFORE = [b"", b"\xc3", b"\xe2", b"\xe2\x82", b"\xf0", b"\xf0\x9f", b"\xf0\x9f\x90"]
AFTER = [b"", b"\xa9", b"\x82\xac", b"\x90\x88\x80"]
READ_ONLY = {errno.EROFS, errno.EACCES}


class Refused(Exception):
    """The call fails with one of ``numbers``."""

    def __init__(self, *numbers: int) -> None:
        super().__init__(sorted(errno.errorcode[number] for number in numbers))
        self.numbers = frozenset(numbers)


@dataclass(eq=False)
class File:
    """A file, with or without a name."""

    mode: int
    content: bytes = b""
    mtime_ns: int | None = None
    """Where a program has set it since the last change."""
    is_local: bool = False
    is_linked: bool = True
    successor: "File | None" = None
    late: list[tuple[int, bytes]] = field(default_factory=list)
    """What was refused since it was displaced, by offset: each must be found there in a file of the trash."""

    def current(self) -> "File":
        return self if self.successor is None else self.successor.current()


@dataclass(eq=False)
class Directory:
    """Names; ``touched`` counts how often each came, went or was replaced."""

    mode: int
    names: "dict[str, File | Directory]" = field(default_factory=dict)
    touched: Counter[str] = field(default_factory=Counter)
    is_linked: bool = True

    def put(self, name: str, node: "File | Directory") -> None:
        self.names[name] = node
        self.touched[name] += 1

    def take(self, name: str) -> "File | Directory":
        self.touched[name] += 1
        return self.names.pop(name)


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """The limits of every store."""

    memory_bytes: int
    memories: int
    path_bytes: int
    segments: int
    segment_bytes: int


class Model:
    """The stores of a mount: ``slug/a/b.md``. Those in ``read_only`` take no change."""

    def __init__(self, stores: list[str], read_only: set[str], bounds: Bounds) -> None:
        self.root = Directory(0o555, {slug: Directory(0o755) for slug in stores})
        self.read_only = read_only
        self.bounds = bounds
        self.kept: list[tuple[str, File]] = []
        """By store, what must be found in trash at the end."""

    def find(self, path: str) -> File | Directory:
        node: File | Directory = self.root
        for name in filter(None, path.split("/")):
            if isinstance(node, File):
                raise Refused(errno.ENOTDIR)
            if name not in node.names:
                raise Refused(errno.ENOENT)
            node = node.names[name]
        return node

    def open(self, path: str, flags: int, mode: int) -> File | Directory:
        above, name = self.above(path)
        found = above.names.get(name)
        if found is None:
            if not flags & os.O_CREAT:
                raise Refused(errno.ENOENT)
            return self._create(path, above, name, mode)
        wrong = set()
        if flags & os.O_CREAT and flags & os.O_EXCL:
            wrong.add(errno.EEXIST)
        if isinstance(found, Directory) and (flags & os.O_ACCMODE or flags & (os.O_CREAT | os.O_TRUNC)):
            wrong.add(errno.EISDIR)
        if flags & (os.O_ACCMODE | os.O_TRUNC):
            wrong |= self._if_read_only(path)
        _refuse_if(wrong)
        if flags & os.O_TRUNC and isinstance(found, File):
            found.content, found.mtime_ns = b"", None
        return found

    def mkdir(self, path: str, mode: int) -> None:
        above, name = self.above(path)
        taken = {errno.EEXIST} if name in above.names else set()
        _refuse_if(taken | self._if_read_only(path) | self.wrong_name(path))
        above.put(name, Directory(mode & ~0o022))

    def unlink(self, path: str) -> None:
        above, name = self.above(path)
        node = self._to_remove(path, above, name)
        _refuse_if(self._if_read_only(path) | ({errno.EISDIR} if isinstance(node, Directory) else set()))
        _lose(above.take(name))

    def rmdir(self, path: str) -> None:
        above, name = self.above(path)
        node = self._to_remove(path, above, name)
        wrong = self._if_read_only(path)
        if isinstance(node, File):
            wrong.add(errno.ENOTDIR)
        elif node.names:
            wrong.add(errno.ENOTEMPTY)
        _refuse_if(wrong)
        _lose(above.take(name))

    def rename(self, old: str, new: str) -> None:
        (above, name), (below, target) = self.above(old), self.above(new)
        moving, replaced = above.names.get(name), below.names.get(target)
        if moving is None:
            across = {errno.EXDEV} if store_of(old) != store_of(new) else set()
            raise Refused(errno.ENOENT, *across, *self._if_read_only(old), *self._if_read_only(new))
        wrong = self._if_read_only(old) | self._if_read_only(new)
        if (new + "/").startswith(old + "/") and old != new:
            wrong.add(errno.EINVAL)
        if (old + "/").startswith(new + "/") and old != new:
            wrong.add(errno.ENOTEMPTY)
        if store_of(old) != store_of(new):
            wrong.add(errno.EXDEV)
        if moving is not replaced:
            wrong |= _wrong_kinds(moving, replaced) | self._wrong_results(old, new, moving, replaced)
        _refuse_if(wrong)
        if moving is not replaced:
            if replaced is not None:
                _lose(below.take(target))
            self.move(above, name, below, target, new)

    def move(self, above: Directory, name: str, below: Directory, target: str, path: str) -> None:
        node = above.take(name)
        below.put(target, node)
        for at, file in files_below(node, path):
            file.is_local = is_local(at)

    def truncate(self, path: str, size: int) -> None:
        node = self.find(path)
        if isinstance(node, Directory):
            raise Refused(errno.EISDIR, *self._if_read_only(path))
        _refuse_if(self._if_read_only(path))
        self.truncate_file(node, size)

    def truncate_file(self, file: File, size: int) -> None:
        if file.successor is not None:
            raise Refused(errno.ESTALE)
        if not file.is_local and size > self.bounds.memory_bytes:
            raise Refused(errno.EFBIG)
        file.content = file.content[:size].ljust(size, b"\0")
        file.mtime_ns = None

    def write(self, file: File, content: bytes, offset: int, *, append: bool) -> None:
        if not content:
            return
        if file.successor is not None and not append:
            file.late.append((offset, content))
            raise Refused(errno.ESTALE)
        written = file.current()
        start = len(written.content) if append else offset
        wrong = set()
        if not written.is_local:
            wrong |= {errno.EFBIG} if start + len(content) > self.bounds.memory_bytes else set()
            wrong |= set() if _may_be_text(content) else {errno.EILSEQ}
        _refuse_if(wrong)
        written.content = _over(written.content, content, start)
        written.mtime_ns = None
        if written is not file:
            file.content += content  # who has it open sees its own bytes
            file.mtime_ns = None

    def fsync(self, file: File) -> None:
        if file.successor is None and not file.is_local and not _is_text(file.content):
            raise Refused(errno.EILSEQ)

    def chmod(self, path: str, mode: int) -> None:
        node = self.find(path)
        _refuse_if(self._if_read_only(path))
        node.mode = mode

    def utime(self, path: str, mtime_ns: int) -> None:
        node = self.find(path)
        _refuse_if(self._if_read_only(path))
        if isinstance(node, File):
            node.mtime_ns = mtime_ns

    def memories(self, store: str) -> int:
        return sum(not file.is_local for _, file in files_below(self.root.names[store], store))

    def room(self, store: str) -> int:
        return max(0, self.bounds.memories - self.memories(store))

    def above(self, path: str) -> tuple[Directory, str]:
        before, _, name = path.rpartition("/")
        node = self.find(before)
        if isinstance(node, File):
            raise Refused(errno.ENOTDIR)
        return node, name

    def paths(self, kind: type[File] | type[Directory], store: str) -> list[str]:
        found = walk(self.root.names[store], store)
        return sorted(path for path, node in found if isinstance(node, kind))

    def wrong_name(self, path: str) -> set[int]:
        """Return what is wrong with a path that is about to be made."""
        below = path.partition("/")[2]
        if is_local(path):
            return set()
        names = below.split("/")
        wrong = {errno.EILSEQ} if any(ord(letter) < 32 for letter in below) else set()
        too_long = len(below.encode()) + 1 > self.bounds.path_bytes or len(names) > self.bounds.segments
        if too_long or any(len(name.encode()) > self.bounds.segment_bytes for name in names):
            wrong.add(errno.ENAMETOOLONG)
        return wrong

    def _create(self, path: str, above: Directory, name: str, mode: int) -> File:
        wrong = self._if_read_only(path) | self.wrong_name(path)
        if not is_local(path) and not is_held_back(path) and not self.room(store_of(path)):
            wrong.add(errno.ENOSPC)
        _refuse_if(wrong)
        made = File(mode & ~0o022, is_local=is_local(path))
        above.put(name, made)
        return made

    def _wrong_results(
        self, old: str, new: str, moving: File | Directory, replaced: File | Directory | None
    ) -> set[int]:
        """Return what is wrong with what a rename would make, as if each memory were written."""
        wrong = self.wrong_name(new)
        more, saved = 0, False
        for before, node in walk(moving, old):
            after = new + before.removeprefix(old)
            wrong |= self.wrong_name(after)
            if isinstance(node, File) and not is_local(after):
                saved |= is_held_back(before) and not is_held_back(after)
                wrong |= self._wrong_content(node) if is_local(before) or is_held_back(before) else set()
            more += isinstance(node, File) and is_local(before) - is_local(after)
        if isinstance(replaced, File):
            more -= not replaced.is_local
            saved = False
        memories = self.memories(store_of(old))
        is_full = more > 0 and memories + more > self.bounds.memories
        if is_full or (saved and memories > self.bounds.memories):
            wrong.add(errno.ENOSPC)
        return wrong

    def _wrong_content(self, file: File) -> set[int]:
        wrong = {errno.EFBIG} if len(file.content) > self.bounds.memory_bytes else set()
        return wrong if _is_text(file.content) else wrong | {errno.EILSEQ}

    def _to_remove(self, path: str, above: Directory, name: str) -> File | Directory:
        """Return what is at a path; where the kernel holds the store read-only, it says so before it looks."""
        if name not in above.names:
            raise Refused(errno.ENOENT, *self._if_read_only(path))
        return above.names[name]

    def _if_read_only(self, path: str) -> set[int]:
        return set(READ_ONLY) if store_of(path) in self.read_only else set()


def store_of(path: str) -> str:
    return path.partition("/")[0]


def is_local(path: str) -> bool:
    return any(name.endswith("~") or name == ".git" for name in path.split("/"))


def is_held_back(path: str) -> bool:
    names = path.split("/")
    return not is_local(path) and any(
        name.endswith(".tmp") or (len(name) == 9 and name.startswith("sed")) for name in names
    )


def walk(node: File | Directory, path: str) -> "Iterator[tuple[str, File | Directory]]":
    """Yield a node and all below it with their paths."""
    yield path, node
    if isinstance(node, Directory):
        for name, below in node.names.items():
            yield from walk(below, f"{path}/{name}")


def files_below(node: File | Directory, path: str) -> Iterator[tuple[str, File]]:
    return ((at, found) for at, found in walk(node, path) if isinstance(found, File))


def _refuse_if(wrong: set[int]) -> None:
    if wrong:
        raise Refused(*wrong)


def _lose(node: File | Directory) -> None:
    node.is_linked = False


def _wrong_kinds(moving: File | Directory, replaced: File | Directory | None) -> set[int]:
    if replaced is None:
        return set()
    if isinstance(moving, File):
        return {errno.EISDIR} if isinstance(replaced, Directory) else set()
    if isinstance(replaced, File):
        return {errno.ENOTDIR}
    return {errno.ENOTEMPTY} if replaced.names else set()


def _over(content: bytes, piece: bytes, offset: int) -> bytes:
    return content[:offset].ljust(offset, b"\0") + piece + content[offset + len(piece) :]


def _is_text(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _may_be_text(content: bytes) -> bool:
    """Tell whether some bytes before and after make text of it."""
    return any(_is_text(before + content + after) for before in BEFORE for after in AFTER)
