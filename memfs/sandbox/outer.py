"""The sandbox's outer half: the namespaces that own the mount, and the way into them.

`hold` makes them and keeps them while the command runs. `join` is how the mount's process gets in: there it may mount
without fusermount, sees the state, and nothing of it shows on the host.

Threading: one thread; a process of its own each (``python -I -m memfs.sandbox``).
"""

import os
import signal
import socket
import traceback
from collections.abc import Sequence
from contextlib import suppress

from memfs.core.errors import DeviceMissing, MemfsError
from memfs.sandbox import inner, messages, namespaces, system, view
from memfs.sandbox.plan import Plan

_DEVICE = "/dev/fuse"


def hold(plan: Plan, control: socket.socket) -> int:
    """Make the namespaces, wait for ``begin``, run the command in its own, and return when everything inside ended."""
    system.prctl(system.PR_SET_PDEATHSIG, signal.SIGKILL)
    try:
        _check_device()
        _enter()
        system.prctl(system.PR_SET_PDEATHSIG, signal.SIGKILL)  # Changed credentials may have undone the first.
        view.make_memory()
        messages.send(control, "made")
        if messages.receive(control)["kind"] != "begin":
            return 0
        system.unshare(system.NEWPID | (0 if plan.has_network else system.NEWNET))
    except (MemfsError, OSError) as error:
        _tell(control, error)
        return 1
    first = os.fork()
    if first == 0:
        _run_inside(plan, control)
    control.close()
    os.waitpid(first, 0)
    return 0


def join(process: int, command: Sequence[str]) -> None:
    """Enter the namespaces that ``process`` holds and turn into ``command``. Never returns."""
    descriptor = os.pidfd_open(process)
    system.setns(descriptor, system.NEWUSER | system.NEWNS)
    os.close(descriptor)
    system.prctl(system.PR_SET_PDEATHSIG, signal.SIGTERM)
    os.execv(command[0], list(command))  # noqa: S606  (memfs's own)


def _check_device() -> None:
    try:
        os.close(os.open(_DEVICE, os.O_RDWR | os.O_CLOEXEC))
    except OSError as error:
        is_missing = isinstance(error, FileNotFoundError)
        remedy = "Load the module (modprobe fuse)" if is_missing else f"As root: chmod 666 {_DEVICE}"
        raise DeviceMissing(
            f"{_DEVICE} cannot be opened: {error.strerror}",
            remedy=f"{remedy}; in a container add --device {_DEVICE}",
        ) from None


def _enter() -> None:
    """Enter namespaces in which this user may mount: root as itself, with every id; any other as user 0."""
    if os.geteuid() == 0:
        namespaces.enter(system.NEWNS, namespaces.identity("uid"), namespaces.identity("gid"))
    else:
        namespaces.enter(system.NEWNS, f"0 {os.getuid()} 1", f"0 {os.getgid()} 1")


def _run_inside(plan: Plan, control: socket.socket) -> None:
    """Be the first process inside. Never returns."""
    try:
        inner.run(plan, control)
    except (MemfsError, OSError) as error:
        _tell(control, error)
    except BaseException:  # noqa: BLE001  (a bug: the last one to see it)
        traceback.print_exc()
    finally:
        os._exit(0)


def _tell(control: socket.socket, error: MemfsError | OSError) -> None:
    told = error if isinstance(error, MemfsError) else namespaces.refusal(error)
    with suppress(OSError):  # Nobody is left to be told.
        messages.send(control, "refused", code=told.code, message=told.message, remedy=told.remedy)
