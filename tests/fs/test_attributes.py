"""Attributes: bits and times are kept, an owner is accepted, nobody locks the mount out."""

import os
import stat

import pytest
from fs.files import Files
from fs.worlds import World


def test_a_file_shows_what_it_is(world: World, files: Files, home: str) -> None:
    files.write(f"{home}/a.md", b"text")
    found = files.stat(f"{home}/a.md")
    backing = world.tree(f"{home}/a.md").stat()

    assert stat.S_IFREG | 0o644 == found.mode
    assert (os.geteuid(), os.getegid(), 1, 4) == (found.uid, found.gid, found.nlink, found.size)
    assert (backing.st_ino, backing.st_mtime_ns) == (found.inode, found.mtime_ns)


def test_the_root_and_a_store_are_directories(files: Files) -> None:
    assert stat.S_IFDIR | 0o555 == files.stat("").mode
    assert stat.S_ISDIR(files.stat("notes").mode)
    assert files.stat("notes").mode & 0o200


@pytest.mark.parametrize("mode", [0o644, 0o600, 0o755, 0o444, 0o000, 0o222, 0o111, 0o777])
def test_chmod_is_kept_and_locks_nobody_out(mode: int, world: World, files: Files, home: str) -> None:
    files.write(f"{home}/a.md", b"text")
    files.mkdir(f"{home}/d")

    files.chmod(f"{home}/a.md", mode)
    files.chmod(f"{home}/d", mode)

    assert stat.S_IMODE(files.stat(f"{home}/a.md").mode) == mode
    assert stat.S_IMODE(files.stat(f"{home}/d").mode) == mode
    assert world.tree(f"{home}/a.md").stat().st_mode & 0o600 == 0o600
    assert world.tree(f"{home}/d").stat().st_mode & 0o700 == 0o700
    files.chmod(f"{home}/d", 0o755)


def test_a_created_file_has_the_bits_it_was_asked_for(files: Files, home: str) -> None:
    files.open(f"{home}/a", os.O_CREAT | os.O_WRONLY, 0o600).close()
    files.open(f"{home}/b", os.O_CREAT | os.O_WRONLY, 0o777).close()
    files.open(f"{home}/c", os.O_CREAT | os.O_WRONLY, 0o400).close()
    files.mkdir(f"{home}/d", 0o700)

    modes = [stat.S_IMODE(files.stat(f"{home}/{name}").mode) for name in "abcd"]
    assert modes == [0o600, 0o755, 0o400, 0o700]


def test_chown_is_accepted_and_not_kept(files: Files, home: str) -> None:
    files.create(f"{home}/a")

    files.chown(f"{home}/a", os.geteuid(), os.getegid())
    if os.geteuid() == 0:
        files.chown(f"{home}/a", 12345, 12345)

    assert (os.geteuid(), os.getegid()) == files.stat(f"{home}/a")[4:6]


def test_times_have_nanoseconds(world: World, files: Files, home: str) -> None:
    files.create(f"{home}/a")

    files.utime(f"{home}/a", 1_111_111_111_222_333_444, 1_555_555_555_666_777_888)

    found = files.stat(f"{home}/a")
    assert (found.atime_ns, found.mtime_ns) == (1_111_111_111_222_333_444, 1_555_555_555_666_777_888)
    assert world.tree(f"{home}/a").stat().st_mtime_ns == 1_555_555_555_666_777_888


def test_bits_and_times_survive_a_rewrite(files: Files, home: str) -> None:
    files.write(f"{home}/a", b"text")
    files.chmod(f"{home}/a", 0o754)
    files.utime(f"{home}/a", 0, 0)

    files.write(f"{home}/a", b"other")

    found = files.stat(f"{home}/a")
    assert stat.S_IMODE(found.mode) == 0o754
    assert found.mtime_ns > 0
