"""The first process inside: closes everything in, gives up every privilege, runs the command, and ends with it.

When it ends, the kernel ends every process inside. It tells what becomes of the command (`messages`), passes signals on
to it, and collects orphans. The command can neither trace it nor open its descriptors.

Threading: one thread.
"""

import os
import select
import signal
import socket
import struct
import sys
from contextlib import suppress
from fcntl import ioctl
from types import FrameType

from memfs.sandbox import messages, namespaces, privileges, system, view
from memfs.sandbox.plan import Plan

NOT_RUNNABLE, NOT_FOUND = 126, 127
"""What shells exit with, too."""
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1
_INTERFACE = "16sH14x"


def run(plan: Plan, control: socket.socket) -> None:
    """Run the command in this process's namespaces and return when it has ended.

    Raises:
        MemfsError, OSError: What could not be made; the command did not begin.
    """
    system.prctl(system.PR_SET_PDEATHSIG, signal.SIGKILL)
    uid_map, gid_map = _maps(plan)
    system.unshare(system.NEWNS)
    view.close_in(plan)
    if not plan.has_network:
        _raise_loopback()
    namespaces.enter(system.NEWNS, uid_map, gid_map)
    privileges.drop()
    system.prctl(system.PR_SET_DUMPABLE, 0)
    system.prctl(system.PR_SET_PDEATHSIG, signal.SIGKILL)  # Changed credentials may have undone the first.
    _attend(plan, control)


def _maps(plan: Plan) -> tuple[str, str]:
    """Return the maps by which the command has the ids that its caller has outside."""
    if plan.uid == os.getuid():
        return namespaces.identity("uid"), namespaces.identity("gid")
    return f"{plan.uid} 0 1", f"{plan.gid} 0 1"


def _raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        answered = ioctl(any_socket, _SIOCGIFFLAGS, struct.pack(_INTERFACE, b"lo", 0))
        _, flags = struct.unpack(_INTERFACE, answered)
        ioctl(any_socket, _SIOCSIFFLAGS, struct.pack(_INTERFACE, b"lo", flags | _IFF_UP))


def _attend(plan: Plan, control: socket.socket) -> None:
    woken, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.signal(signal.SIGCHLD, _note)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    command = os.fork()
    if command == 0:
        _become(plan, control)
    with suppress(ProcessLookupError, PermissionError):  # The command does it too: whoever comes first.
        os.setpgid(command, command)
    while True:
        readable, _, _ = select.select([control.fileno(), woken], [], [])
        if woken in readable:
            os.read(woken, 4_096)
            if _collect(command, control):
                return
        if control.fileno() in readable:
            told = messages.receive(control)
            if told["kind"] == "gone":
                return
            with suppress(ProcessLookupError):
                os.killpg(command, told["number"])


def _collect(command: int, control: socket.socket) -> bool:
    """Collect whoever ended and tell what became of the command; True when that has ended."""
    while True:
        try:
            process, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
        except ChildProcessError:
            return False
        if process == 0:
            return False
        if process != command:
            continue
        if os.WIFSTOPPED(status):
            messages.send(control, "stopped", number=os.WSTOPSIG(status))
            continue
        messages.send(control, "ended", code=os.waitstatus_to_exitcode(status))
        return True


def _become(plan: Plan, control: socket.socket) -> None:
    """Turn into the command. Never returns."""
    code = NOT_RUNNABLE
    try:
        signal.set_wakeup_fd(-1)
        os.setpgid(0, 0)
        if plan.has_terminal:
            _take_terminal()
        messages.send(control, "began")  # From here, for the kernel tells with it which process this is.
        for number in (signal.SIGTTOU, signal.SIGPIPE, signal.SIGXFSZ):  # Ignored until now, by Python or by us.
            signal.signal(number, signal.SIG_DFL)
        _enter_directory(plan.directory)
        os.execvp(plan.command[0], plan.command)  # noqa: S606  (the command that was asked for)
    except FileNotFoundError:
        code = NOT_FOUND
        sys.stderr.write(f"memfs: {plan.command[0]}: command not found\n")
    except OSError as error:
        sys.stderr.write(f"memfs: {plan.command[0]}: {error.strerror}\n")
    finally:
        sys.stderr.flush()
        os._exit(code)


def _take_terminal() -> None:
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    with suppress(OSError):
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_CLOEXEC)
        os.tcsetpgrp(terminal, os.getpgrp())
        os.close(terminal)


def _enter_directory(directory: str) -> None:
    """Go where the caller is, by name: the old place may be one that is covered now."""
    os.chdir("/")
    with suppress(OSError):
        os.chdir(directory)
    os.environ["PWD"] = os.getcwd()  # noqa: PTH109  (text)


def _note(_number: int, _frame: FrameType | None) -> None:
    """Take the place of the default action; the descriptor tells."""
