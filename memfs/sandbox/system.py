"""The system calls of namespaces and mounts that Python 3.11 has no name for; nothing is decided here.

Used by the rest of the room. Each function raises OSError with the call and what it was about.

Threading: called from processes of one thread only; the kernel refuses a new user namespace to any other.
"""

import ctypes
import os
from pathlib import Path

from memfs.core.errors import SandboxRefused

NEWNS, NEWUSER, NEWPID, NEWNET = 0x0002_0000, 0x1000_0000, 0x2000_0000, 0x4000_0000

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 1, 2, 4, 8, 32
MS_BIND, MS_REC, MS_PRIVATE, MS_SLAVE, MS_SHARED = 1 << 12, 1 << 14, 1 << 18, 1 << 19, 1 << 20

ATTR_RDONLY, ATTR_NODEV = 1, 4

PR_SET_PDEATHSIG, PR_SET_DUMPABLE = 1, 4
PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_SECUREBITS = 22, 24, 28
PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 38, 47

_SYS_MOUNT_SETATTR = 442  # The same number on every architecture, as of all calls since Linux 5.1 but alpha's.
_SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_MNT_DETACH = 2
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_CAPABILITY_VERSION_3 = 0x2008_0522

_c = ctypes.CDLL(None, use_errno=True)
_c.mount.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_ulong, ctypes.c_char_p]
_c.prctl.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]


class _MountAttributes(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "namespace")]


def unshare(flags: int) -> None:
    """Leave the namespaces named by ``flags`` for new ones."""
    _checked(_c.unshare(flags), "unshare")


def setns(descriptor: int, flags: int) -> None:
    """Enter namespaces of the process that ``descriptor`` (of `os.pidfd_open`) stands for."""
    _checked(_c.setns(descriptor, flags), "setns")


def mount(source: Path | str | None, target: Path | str, kind: str | None, flags: int, options: str = "") -> None:
    """Make, bind or change a mount, as the manual says."""
    words = [None if word is None else os.fsencode(word) for word in (source, target, kind)]
    _checked(_c.mount(*words, flags, options.encode() or None), "mount", target)


def unmount(target: Path | str) -> None:
    """Detach what is mounted at ``target``, also while it is used."""
    _checked(_c.umount2(os.fsencode(target), _MNT_DETACH), "umount", target)


def bind(source: Path | str, target: Path | str) -> None:
    """Show ``source``, with all that is mounted below it, at ``target`` too."""
    mount(source, target, None, MS_BIND | MS_REC)


def set_attributes(target: Path | str, *, add: int = 0, remove: int = 0, is_recursive: bool = False) -> None:
    """Change flags of a mount, and of those below it, and leave its other flags as they are.

    Raises:
        SandboxRefused: The kernel is older than 5.12.
    """
    attributes = _MountAttributes(add, remove, 0, 0)
    flags = _AT_RECURSIVE if is_recursive else 0
    result = _c.syscall(
        _SYS_MOUNT_SETATTR,
        _AT_FDCWD,
        os.fsencode(target),
        flags,
        ctypes.byref(attributes),
        ctypes.c_size_t(ctypes.sizeof(attributes)),
    )
    if result < 0 and ctypes.get_errno() == 38:  # noqa: PLR2004  (ENOSYS)
        raise SandboxRefused("this kernel cannot make mounts read-only as a whole", remedy="Use Linux 5.12 or later")
    _checked(result, "mount_setattr", target)


def pivot_root(new: Path | str, old: Path | str) -> None:
    """Make the mount ``new`` the root of everything, and show the former root at ``old`` inside it.

    Raises:
        SandboxRefused: The call's number is not known for this machine.
    """
    number = _SYS_PIVOT_ROOT.get(os.uname().machine)
    if number is None:
        raise SandboxRefused(f"there is no directory to show {old} in", remedy="As root: mkdir /mnt")
    _checked(_c.syscall(number, os.fsencode(new), os.fsencode(old)), "pivot_root", new)


def prctl(option: int, value: int = 0, address: int = 0) -> None:
    """Change what this process may do."""
    _checked(_c.prctl(option, value, address, 0, 0), "prctl")


def forget_capabilities() -> None:
    """Empty the permitted, effective and inheritable sets."""
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    _checked(_c.capset(header, (ctypes.c_uint32 * 6)()), "capset")


def _checked(result: int, call: str, target: Path | str | None = None) -> None:
    if result < 0:
        number = ctypes.get_errno()
        where = call if target is None else f"{call} {os.fsdecode(target)}"
        raise OSError(number, os.strerror(number), where)
