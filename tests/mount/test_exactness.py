"""What programs rarely ask, and then rely on: locks, mappings, orphans, the order of a listing, what is refused."""

import ctypes
import errno
import fcntl
import mmap
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from fs.getdents import DIRECTORY, REGULAR, entries

FEW_BYTES = 64
NOREPLACE, EXCHANGE = 1, 2
AT_FDCWD = -100

LOCK = """
import fcntl, os, sys
file = os.open(sys.argv[1], os.O_RDWR)
lock = {'flock': fcntl.flock, 'fcntl': fcntl.lockf}[sys.argv[2]]
lock(file, fcntl.LOCK_EX)
print(0, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def root(mounted_either_way: Any) -> Path:
    return mounted_either_way.root


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(OSError, match=r".*") as caught:
        call()
    return errno.errorcode[caught.value.errno or 0]


def renameat2(old: Path, new: Path, flags: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(AT_FDCWD, os.fsencode(old), AT_FDCWD, os.fsencode(new), flags):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def test_a_file_without_a_name_is_refused_as_programs_expect(root: Path) -> None:
    assert refused(lambda: os.open(root, os.O_TMPFILE | os.O_RDWR, 0o600)) == "ENOTSUP"
    assert list(root.iterdir()) == []


@pytest.mark.parametrize("flags", [NOREPLACE, EXCHANGE])
def test_a_rename_that_must_not_replace_is_refused_and_changes_nothing(flags: int, root: Path) -> None:
    (root / "a.md").write_text("a")
    (root / "b.md").write_text("b")

    assert refused(lambda: renameat2(root / "a.md", root / "b.md", flags)) in {"EINVAL", "EEXIST"}
    assert refused(lambda: renameat2(root / "a.md", root / "c.md", flags)) in {"EINVAL", "ENOENT"}
    assert {one.name: one.read_text() for one in root.iterdir()} == {"a.md": "a", "b.md": "b"}


@pytest.mark.parametrize("kind", ["flock", "fcntl"])
def test_a_lock_keeps_other_programs_out_and_goes_with_its_holder(
    kind: str, root: Path, program: Callable[..., Any], said: Callable[..., Any]
) -> None:
    (root / "a.md").touch()
    lock = {"flock": fcntl.flock, "fcntl": fcntl.lockf}[kind]
    holder = program(LOCK, root / "a.md", kind)
    assert said(holder) == 0
    with (root / "a.md").open("r+") as file:
        assert refused(lambda: lock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)) in {"EAGAIN", "EACCES"}

        waiter = program(LOCK, root / "a.md", kind)
        holder.kill()

        assert said(waiter) == 0
        assert refused(lambda: lock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)) in {"EAGAIN", "EACCES"}


def test_parts_of_a_file_are_locked_apart(root: Path, program: Callable[..., Any], said: Callable[..., Any]) -> None:
    (root / "a.md").write_text("0123456789")
    holder = program(
        LOCK.replace("lock(file, fcntl.LOCK_EX)", "fcntl.lockf(file, fcntl.LOCK_EX, 5)"), root / "a.md", "fcntl"
    )
    assert said(holder) == 0
    with (root / "a.md").open("r+") as file:
        assert refused(lambda: fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 5)) in {"EAGAIN", "EACCES"}

        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 5, 5)


def test_a_private_mapping_stays_private(root: Path) -> None:
    (root / "a.md").write_bytes(b"x" * 5_000)
    with (root / "a.md").open("rb") as file, mmap.mmap(file.fileno(), 0, flags=mmap.MAP_PRIVATE, prot=3) as mapped:
        mapped[:4] = b"mine"

        assert mapped[:5] == b"minex"
        assert (root / "a.md").read_bytes() == b"x" * 5_000


def test_a_shared_mapping_is_seen_by_readers_at_once_and_sees_writers(root: Path) -> None:
    (root / "a.md").write_bytes(b"x" * 5_000)
    with (root / "a.md").open("rb+") as file, mmap.mmap(file.fileno(), 0) as mapped:
        mapped[4_990:4_994] = b"MMAP"
        assert (root / "a.md").read_bytes()[4_988:4_996] == b"xxMMAPxx"

        os.pwrite(file.fileno(), b"written", 10)
        assert mapped[8:19] == b"xxwrittenxx"


def test_an_orphan_takes_a_descriptor_until_it_is_forgotten(
    mounted_either_way: Any, until: Callable[..., None]
) -> None:
    mounted = mounted_either_way
    with (mounted.root / "a.md").open("w+") as file:
        (mounted.root / "a.md").unlink()
        file.write("still here")
        file.flush()

        assert deleted(mounted) == 1
        assert os.pread(file.fileno(), 20, 0) == b"still here"
    until(lambda: deleted(mounted) == 0)


def test_a_directory_that_is_removed_while_it_is_open_is_empty_and_takes_nothing(root: Path) -> None:
    (root / "d").mkdir()
    directory = os.open(root / "d", os.O_RDONLY)
    (root / "d").rmdir()

    assert refused(lambda: os.open("a.md", os.O_CREAT | os.O_WRONLY, dir_fd=directory)) == "ENOENT"
    assert os.fstat(directory).st_nlink == 0
    os.close(directory)


def test_a_directory_that_is_renamed_while_it_is_open_goes_on(root: Path, mounted_either_way: Any) -> None:
    (root / "d" / "e").mkdir(parents=True)
    directory = os.open(root / "d" / "e", os.O_RDONLY)
    (root / "d").rename(root / "moved")

    os.close(os.open("a.md", os.O_CREAT | os.O_WRONLY, dir_fd=directory))
    os.close(directory)

    assert (mounted_either_way.store.tree / "moved" / "e" / "a.md").exists()


def test_a_listing_names_itself_and_what_is_above_with_types_and_inodes(root: Path) -> None:
    (root / "d" / "e").mkdir(parents=True)
    (root / "d" / "a.md").touch()

    found = {one.name: (one.kind, one.inode) for one in listed(root / "d", FEW_BYTES)}

    inodes = {name: (root / "d" / name).stat().st_ino for name in (".", "..", "e", "a.md")}
    assert found == {
        b".": (DIRECTORY, inodes["."]),
        b"..": (DIRECTORY, inodes[".."]),
        b"e": (DIRECTORY, inodes["e"]),
        b"a.md": (REGULAR, inodes["a.md"]),
    }


@pytest.mark.parametrize("is_cached", [False, True])
def test_a_listing_in_small_pieces_shows_each_untouched_name_once(is_cached: bool, root: Path) -> None:
    stays = [f"stays-{number:03}".encode() for number in range(100)]
    for name in stays:
        (root / os.fsdecode(name)).touch()
    for number in range(50):
        (root / f"goes-{number}").touch()
    if is_cached:
        list(root.iterdir())

    descriptor, seen = os.open(root, os.O_RDONLY), []
    for number, entry in enumerate(entries(descriptor, FEW_BYTES)):
        seen.append(entry.name)
        if number < 50:
            (root / f"goes-{number}").unlink()
            (root / f"comes-{number}").touch()
    os.close(descriptor)

    assert sorted(name for name in seen if name.startswith(b"stays")) == stays


def test_a_listing_goes_on_where_a_program_was_before(root: Path) -> None:
    for number in range(30):
        (root / f"{number:02}").touch()
    descriptor = os.open(root, os.O_RDONLY)
    whole = list(entries(descriptor, FEW_BYTES))

    os.lseek(descriptor, whole[9].cookie, os.SEEK_SET)

    assert [one.name for one in entries(descriptor, FEW_BYTES)] == [one.name for one in whole[10:]]
    os.close(descriptor)


def test_access_tells_what_the_bits_allow(root: Path) -> None:
    (root / "a.md").touch()
    (root / "run.sh").touch()
    (root / "run.sh").chmod(0o755)

    assert [os.access(root / "a.md", way) for way in (os.F_OK, os.R_OK, os.W_OK, os.X_OK)] == [True, True, True, False]
    assert os.access(root / "run.sh", os.X_OK)
    assert os.access(root, os.R_OK | os.W_OK | os.X_OK)
    assert not os.access(root / "none", os.F_OK)


def test_a_hole_is_read_as_data_and_copied_by_the_kernel(root: Path) -> None:
    with (root / "a.md").open("wb+") as file, (root / "b.md").open("wb+") as copy:
        os.pwrite(file.fileno(), b"end", 5_000)

        assert os.lseek(file.fileno(), 0, os.SEEK_HOLE) == 5_003
        assert os.lseek(file.fileno(), 10, os.SEEK_DATA) == 10
        assert os.copy_file_range(file.fileno(), copy.fileno(), 5_003, 0, 0) == 5_003
        assert os.sendfile(copy.fileno(), file.fileno(), 5_000, 3) == 3
    assert (root / "b.md").read_bytes() == b"end" + b"\0" * 4_997 + b"end"


def listed(directory: Path, size: int) -> list[Any]:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        return list(entries(descriptor, size))
    finally:
        os.close(descriptor)


def deleted(mounted: Any) -> int:
    """Return how many files without a name the process keeps."""
    count = 0
    for one in Path(f"/proc/{mounted.process.pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            link = os.fspath(one.readlink())
            count += link.endswith("(deleted)") and os.fspath(mounted.store.tree) in link
    return count
