"""User namespaces: entering a new one, whose ids are whose outside, and why a host refuses one.

Used by `outer` (the namespace that owns the mount) and `inner` (the one that the command lives in).
"""

import errno
import os
from collections.abc import Callable
from pathlib import Path

from memfs.core.errors import SandboxRefused
from memfs.sandbox import system

_SETTINGS = (
    ("kernel/unprivileged_userns_clone", "0", "kernel.unprivileged_userns_clone=1"),
    ("user/max_user_namespaces", "0", "user.max_user_namespaces=15000"),
    ("user/max_mnt_namespaces", "0", "user.max_mnt_namespaces=15000"),
    ("user/max_pid_namespaces", "0", "user.max_pid_namespaces=15000"),
    ("kernel/apparmor_restrict_unprivileged_userns", "1", "kernel.apparmor_restrict_unprivileged_userns=0"),
)
_CONTAINER = "In a container add --security-opt seccomp=unconfined --security-opt apparmor=unconfined"


def identity(kind: str) -> str:
    """Return a map in which every id of the present namespace is itself. ``kind`` is ``uid`` or ``gid``."""
    extents = [line.split() for line in Path(f"/proc/self/{kind}_map").read_text().splitlines()]
    return "\n".join(f"{first} {first} {count}" for first, _outside, count in extents)


def enter(flags: int, uid_map: str, gid_map: str) -> None:
    """Enter a new user namespace with these maps, and with it the further new namespaces of ``flags``.

    A short-lived process that stays behind writes the maps: only from outside may they name more than one id.

    Raises:
        SandboxRefused: The host does not allow it; the message says by which setting.
    """
    process = os.getpid()
    is_in, entered = os.pipe()
    writer = os.fork()
    if writer == 0:
        os.close(entered)
        _write_maps(process, is_in, uid_map, gid_map)
    os.close(is_in)
    try:
        system.unshare(system.NEWUSER | flags)
        os.write(entered, b"!")
    except OSError as error:
        raise refusal(error) from None
    finally:
        os.close(entered)
        _, status = os.waitpid(writer, 0)
    if code := os.waitstatus_to_exitcode(status):
        raise refusal(OSError(code, os.strerror(code)))


def refusal(error: OSError, read: Callable[[str], str] | None = None) -> SandboxRefused:
    """Return the error that says why this host gives no namespaces, and the remedy.

    Args:
        error: What the kernel answered.
        read: Returns a setting below /proc/sys, "" where there is none.
    """
    read = read or _setting
    for name, refusing, remedy in _SETTINGS:
        if read(name) == refusing:
            told = f"{name.replace('/', '.')} is {refusing}"
            return SandboxRefused(f"this host gives no user namespaces: {told}", remedy=f"As root: sysctl -w {remedy}")
    if error.errno == errno.ENOSPC:
        return SandboxRefused(
            "this host gives no more namespaces: the most that user.max_user_namespaces allows are in use",
            remedy="As root: raise it with sysctl -w, or end what uses them",
        )
    if error.errno == errno.EINVAL:
        return SandboxRefused("this kernel has no user namespaces", remedy="Use one with CONFIG_USER_NS")
    where = f" ({error.filename})" if error.filename else ""
    return SandboxRefused(f"this host does not allow the sandbox: {error.strerror}{where}", remedy=_CONTAINER)


def _setting(name: str) -> str:
    try:
        return Path("/proc/sys", name).read_text().strip()
    except OSError:
        return ""


def _write_maps(process: int, is_in: int, uid_map: str, gid_map: str) -> None:
    """Write the maps of ``process`` once it is in its new namespace; the exit code is an errno. Never returns."""
    code = 0
    try:
        if os.read(is_in, 1):
            below = Path(f"/proc/{process}")
            (below / "setgroups").write_text("deny")  # The kernel asks for it, lest a group be left that denies.
            (below / "gid_map").write_text(gid_map)
            (below / "uid_map").write_text(uid_map)
    except OSError as error:
        code = error.errno or errno.EIO
    finally:
        os._exit(code)
