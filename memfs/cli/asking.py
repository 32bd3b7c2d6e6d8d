"""Ask the worker: the one that runs, over ``worker.sock``, or one that is started for the one request.

Used by the commands that change what the worker knows. Which store and path a person means is decided here too.
"""

import fcntl
import os
import select
import socket
import struct
import subprocess
import sys
import termios
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from memfs.cli.children import worker_command
from memfs.core.attachment import Attachment
from memfs.core.errors import AlreadyHeld, InvalidRequest, NotFound, UsageError
from memfs.core.worker_requests import WorkerRequest, decode_reply, encode_request
from memfs.health import short_address
from memfs.state.attachments import attached
from memfs.state.layout import Layout

_BEGIN_S = 10.0
"""Within this time a worker that is at work has begun to read what it is asked, however much it has to do."""
_PATIENCE_S = 60.0
"""What a request may take for which nobody named a time."""
_LATE_S = 5.0
"""How much later than asked the answer to one with a time may come."""
_LOOK_EVERY_S = 0.1
_CREDENTIALS = struct.Struct("3i")


def ask_worker(
    layout: Layout, request: WorkerRequest, *, config: Path | None = None, timeout_s: float | None = None
) -> dict[str, Any]:
    """Return what the worker answers; ``timeout_s`` is what the request itself may take.

    Raises:
        AlreadyHeld: The worker that runs does not answer; the message names its process.
        MemfsError: The one that the worker met.
    """
    answer = ask_running_worker(layout, request, timeout_s=timeout_s)
    return decode_reply(_by_a_process(layout, encode_request(request), config)) if answer is None else answer


def ask_running_worker(
    layout: Layout, request: WorkerRequest, *, timeout_s: float | None = None
) -> dict[str, Any] | None:
    """Return what the worker that runs answers, None where none does.

    Raises:
        AlreadyHeld: It does not answer; the message names its process.
        MemfsError: The one that the worker met.
    """
    most_s = _PATIENCE_S if timeout_s is None else timeout_s + _LATE_S
    answer = _over_the_socket(layout.worker_socket, encode_request(request), most_s)
    return None if answer is None else decode_reply(answer)


def one_store(layout: Layout, text: str) -> Attachment:
    """Return the attached store that a person calls ``text``: by slug, name or id.

    Raises:
        NotFound: None is called so.
        UsageError: Several are.
    """
    stores = attached(layout)
    found = [one for one in stores if text in {one.slug, one.store_id}] or [one for one in stores if text == one.name]
    if not found:
        known = ", ".join(one.slug for one in stores) or "none"
        raise NotFound(f"no attached store is called {text}", remedy=f"Attached here: {known}")
    if len(found) > 1:
        raise UsageError(f"{len(found)} attached stores are called {text}", remedy="Name one by its id")
    return found[0]


def some_stores(layout: Layout, text: str | None) -> list[Attachment]:
    """Return the store that is named, or all that are attached."""
    return attached(layout) if text is None else [one_store(layout, text)]


def located(layout: Layout, text: str, mount_point: str | None) -> tuple[Attachment, str]:
    """Return the store and the store path of a file: a path below the mount or a tree, or ``STORE/PATH``.

    Raises:
        NotFound: It is in no attached store.
    """
    full = Path(os.path.realpath(Path(text).parent)) / Path(text).name
    if mount_point is not None and full.is_relative_to(mount_point):
        slug, _, path = str(full.relative_to(mount_point)).partition("/")
        return one_store(layout, slug), f"/{path}"
    for one in attached(layout):
        tree = os.path.realpath(layout.store(one.store_id).tree)
        if full.is_relative_to(tree):
            return one, f"/{full.relative_to(tree)}"
    name, _, path = text.partition("/")
    return one_store(layout, name), f"/{path}"


def _over_the_socket(path: Path, line: bytes, timeout_s: float) -> bytes | None:
    """Return the answer of the worker that runs, None where none does."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asker:
        asker.settimeout(min(_BEGIN_S, timeout_s))
        try:
            with short_address(path) as address:
                asker.connect(address)
        except TimeoutError:
            raise _silent(asker) from None
        except OSError:
            return None
        try:
            return _answer(asker, line, timeout_s)
        except TimeoutError:
            raise _silent(asker) from None
        except OSError as error:
            raise InvalidRequest(f"the worker does not answer: {error}") from None


def _answer(asker: socket.socket, line: bytes, timeout_s: float) -> bytes:
    """Send the request and return the answer.

    Raises:
        TimeoutError: The worker does not even begin to read it, or has not answered after ``timeout_s``.
    """
    began = time.monotonic()
    asker.sendall(line)
    while _is_unread(asker):
        if time.monotonic() - began > min(_BEGIN_S, timeout_s):
            raise TimeoutError
        select.select([asker], [], [], _LOOK_EVERY_S)
    asker.settimeout(max(_LOOK_EVERY_S, began + timeout_s - time.monotonic()))
    with asker.makefile("rb") as answers:
        answer: bytes = answers.readline()
    return answer


def _is_unread(asker: socket.socket) -> bool:
    """Tell whether the other end has left any of what was sent where it is."""
    waiting = fcntl.ioctl(asker, termios.TIOCOUTQ, bytes(4))
    return int.from_bytes(waiting, sys.byteorder) > 0


def _silent(asker: socket.socket) -> AlreadyHeld:
    pid = 0
    with suppress(OSError):
        credentials = asker.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        pid = _CREDENTIALS.unpack(credentials)[0]
    if pid <= 0:
        return AlreadyHeld("the worker that runs does not answer", remedy="Stop `memfs up` and start it again")
    return AlreadyHeld(
        f"the worker that runs (process {pid}) does not answer",
        remedy=f"If it is stopped, say kill -CONT {pid}; else kill -9 {pid}: nothing is lost, `memfs up` starts one",
    )


def _by_a_process(layout: Layout, line: bytes, config: Path | None) -> bytes:
    arguments = ["--control", "--state", str(layout.root)]
    arguments += ["--config", str(config)] if config is not None else []
    done = subprocess.run(worker_command(*arguments), input=line, stdout=subprocess.PIPE, check=False)  # noqa: S603  (this interpreter, our own module)
    if done.returncode:
        # It has said why on standard error.
        raise SystemExit(done.returncode)
    return done.stdout
