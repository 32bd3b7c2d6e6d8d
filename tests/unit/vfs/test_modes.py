"""Bits: what a program sets it sees again, and the mount can always serve the file."""

import stat

import pytest

from memfs.vfs import modes


@pytest.mark.parametrize("is_directory", [True, False])
def test_any_permission_survives_and_the_owner_can_serve(is_directory: bool) -> None:
    kind = stat.S_IFDIR if is_directory else stat.S_IFREG
    needed = 0o700 if is_directory else 0o600

    backing = {bits: modes.backing(kind | bits, is_directory=is_directory) for bits in range(0o1000)}

    assert all(needed == bits & needed for bits in backing.values())
    assert {bits: kind | bits for bits in backing} == {
        bits: modes.reported(kind | kept) for bits, kept in backing.items()
    }


@pytest.mark.parametrize("special", [stat.S_ISUID, stat.S_ISGID, stat.S_ISVTX])
def test_special_bits_cannot_be_asked_for(special: int) -> None:
    assert modes.reported(stat.S_IFREG | modes.backing(special | 0o755, is_directory=False)) == stat.S_IFREG | 0o755
