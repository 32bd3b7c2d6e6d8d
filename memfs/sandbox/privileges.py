"""The end of every privilege: no capability, none to be had by running a program, no typing into the terminal.

`inner` calls `drop` as the last step before the command; what is dropped here cannot be had again.
"""

import ctypes
import os
import struct
from contextlib import suppress
from typing import TYPE_CHECKING

from memfs.sandbox import system

if TYPE_CHECKING:
    from collections.abc import Sequence

_LAST_CAPABILITY = 63
# SECBIT_NOROOT, NO_SETUID_FIXUP and NO_CAP_AMBIENT_RAISE, each with its lock, and the lock of KEEP_CAPS: user 0 gets
# nothing for being user 0.
_SECURE_BITS = 0b1110_1111
_AMBIENT_CLEAR_ALL = 4

_ARCHITECTURES = {"x86_64": ((0xC000_003E, 16), (0x4000_0003, 54)), "aarch64": ((0xC000_00B7, 29), (0x4000_0028, 54))}
"""For each machine, the AUDIT_ARCH of its native and its 32-bit programs, each with its number of ioctl."""
_X32_BIT = 0x4000_0000
_X32_IOCTL = _X32_BIT + 514
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_LOAD, _EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _REFUSE = 0x7FFF_0000, 0x0005_0001  # SECCOMP_RET_ALLOW; SECCOMP_RET_ERRNO with EPERM
_NUMBER, _ARCHITECTURE, _SECOND_ARGUMENT = 0, 4, 24  # offsets in struct seccomp_data
_FILTER = 2


def drop() -> None:
    """Give up every capability for good, for this process and all it starts."""
    for capability in range(_LAST_CAPABILITY + 1):
        with suppress(OSError):  # The kernel knows fewer.
            system.prctl(system.PR_CAPBSET_DROP, capability)
    system.prctl(system.PR_CAP_AMBIENT, _AMBIENT_CLEAR_ALL)
    system.prctl(system.PR_SET_SECUREBITS, _SECURE_BITS)
    system.forget_capabilities()
    system.prctl(system.PR_SET_NO_NEW_PRIVS, 1)
    _refuse_typing()


def _refuse_typing() -> None:
    """Refuse the calls that put text into the terminal's input, which the shell outside would read and run."""
    program = filter_program(os.uname().machine)
    if not program:
        return
    steps = ctypes.create_string_buffer(b"".join(program))
    head = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program), ctypes.addressof(steps)))
    system.prctl(system.PR_SET_SECCOMP, _FILTER, ctypes.addressof(head))


def filter_program(machine: str) -> list[bytes]:
    """Return the seccomp filter for a machine, one instruction each; empty for one that is not known."""
    numbers: Sequence[tuple[int, int]] = _ARCHITECTURES.get(machine, ())
    program: list[bytes] = []
    for architecture, ioctl in numbers:
        also = _X32_IOCTL if machine == "x86_64" and ioctl == numbers[0][1] else ioctl
        program += [
            _step(_LOAD, _ARCHITECTURE),
            _step(_EQUAL, architecture, otherwise=7),
            _step(_LOAD, _NUMBER),
            _step(_EQUAL, ioctl, then=1),
            _step(_EQUAL, also, otherwise=4),
            _step(_LOAD, _SECOND_ARGUMENT),
            _step(_EQUAL, _TIOCSTI, then=1),
            _step(_EQUAL, _TIOCLINUX, otherwise=1),
            _step(_RETURN, _REFUSE),
        ]
    return [*program, _step(_RETURN, _ALLOW)] if program else []


def _step(code: int, value: int, *, then: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("HBBI", code, then, otherwise, value)
