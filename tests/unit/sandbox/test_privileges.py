"""The filter of system calls: its jumps are right for each architecture it knows."""

import errno
import struct

import pytest

from memfs.sandbox.privileges import filter_program

X86_64, I386, AARCH64, ARM = 0xC000_003E, 0x4000_0003, 0xC000_00B7, 0x4000_0028
TIOCSTI, TIOCLINUX, TCGETS = 0x5412, 0x541C, 0x5401
ALLOWED, REFUSED = 0x7FFF_0000, 0x0005_0000 | errno.EPERM


def answered(machine: str, architecture: int, number: int, request: int) -> int:
    """Run the filter as the kernel does."""
    call = struct.pack("IIQQQQQQQ", number, architecture, 0, 0, request, 0, 0, 0, 0)
    program, at, value = filter_program(machine), 0, 0
    while True:
        code, then, otherwise, operand = struct.unpack("HBBI", program[at])
        at += 1
        match code:
            case 0x20:
                (value,) = struct.unpack_from("I", call, operand)
            case 0x15:
                at += then if value == operand else otherwise
            case 0x06:
                return int(operand)


@pytest.mark.parametrize(
    ("machine", "architecture", "ioctl"),
    [
        ("x86_64", X86_64, 16),
        ("x86_64", X86_64, 0x4000_0000 + 514),
        ("x86_64", I386, 54),
        ("aarch64", AARCH64, 29),
        ("aarch64", ARM, 54),
    ],
)
def test_only_typing_into_a_terminal_is_refused(machine: str, architecture: int, ioctl: int) -> None:
    assert REFUSED == answered(machine, architecture, ioctl, TIOCSTI)
    assert REFUSED == answered(machine, architecture, ioctl, TIOCLINUX)
    assert ALLOWED == answered(machine, architecture, ioctl, TCGETS)
    assert ALLOWED == answered(machine, architecture, ioctl + 1, TIOCSTI)
    assert ALLOWED == answered(machine, 0x1234, ioctl, TIOCSTI)


def test_an_unknown_machine_has_no_filter() -> None:
    assert [] == filter_program("riscv64")
