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


def test_the_table_has_every_slot_of_libfuse_2_9() -> None:
    assert 41 == len(structures.SLOTS)
    assert 41 * ctypes.sizeof(ctypes.c_void_p) == ctypes.sizeof(structures.Operations)


def test_the_connection_is_as_long_as_libfuse_expects() -> None:
    assert 32 * ctypes.sizeof(ctypes.c_uint) == ctypes.sizeof(structures.Connection)
