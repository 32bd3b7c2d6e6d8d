"""The C side as libfuse 2.9 lays it out: a field in the wrong place means that the kernel caches nothing."""

import ctypes
import platform

import pytest

from memfs.core.errors import MountRefused
from memfs.fuse import structures


@pytest.mark.parametrize(("machine", "size"), [("x86_64", 144), ("aarch64", 128)])
def test_the_stat_that_an_entry_embeds_has_the_size_it_has_in_c(machine: str, size: int) -> None:
    assert size == structures.stat_bytes(machine)


def test_an_unknown_processor_is_refused_by_name() -> None:
    with pytest.raises(MountRefused, match="riscv64"):
        structures.stat_bytes("riscv64")


def test_the_timeouts_of_an_entry_lie_behind_the_whole_stat() -> None:
    """Fusepy's stat is shorter than C's: without the padding the kernel reads timeouts of 0 and asks every time."""
    size = structures.stat_bytes(platform.machine())

    assert 16 == structures.Entry.attr.offset
    assert 16 + size == structures.Entry.attr_timeout.offset
    assert 16 + size + 16 == ctypes.sizeof(structures.Entry)


def test_the_fields_of_a_stat_are_written_where_c_reads_them() -> None:
    entry = structures.Entry()
    links_and_mode = (3, 0o100644) if structures.LINKS_COME_FIRST else (0o100644, 3)

    structures.STAT_FIELDS.pack_into(
        entry, structures.Entry.attr.offset, 7, *links_and_mode, 11, 12, 13, 4096, 14, 21, 22, 23, 24, 25, 26
    )

    attr = entry.attr
    assert (7, 3, 0o100644, 11, 12, 13, 4096, 14) == (
        attr.st_ino, attr.st_nlink, attr.st_mode, attr.st_uid, attr.st_gid, attr.st_size, attr.st_blksize,
        attr.st_blocks,
    )  # fmt: skip
    times = [(spec.tv_sec, spec.tv_nsec) for spec in (attr.st_atimespec, attr.st_mtimespec, attr.st_ctimespec)]
    assert [(21, 22), (23, 24), (25, 26)] == times


def test_the_table_has_every_slot_of_libfuse_2_9() -> None:
    assert 41 == len(structures.SLOTS)
    assert 41 * ctypes.sizeof(ctypes.c_void_p) == ctypes.sizeof(structures.Operations)


def test_the_connection_is_as_long_as_libfuse_expects() -> None:
    assert 32 * ctypes.sizeof(ctypes.c_uint) == ctypes.sizeof(structures.Connection)
