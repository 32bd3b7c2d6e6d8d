"""Ask the worker: the one that runs, over ``worker.sock``, or one that is started for the one request.

Used by the commands that change what the worker knows. Which store and path a person means is decided here too.
"""

import os
import socket
import subprocess
from pathlib import Path
from typing import Any

from memfs.cli.children import worker_command
from memfs.core.attachment import Attachment
from memfs.core.errors import InvalidRequest, NotFound, UsageError
from memfs.core.worker_requests import WorkerRequest, decode_reply, encode_request
from memfs.health import short_address
from memfs.state.attachments import attached
from memfs.state.layout import Layout

_PATIENCE_S = 60.0


def ask_worker(
    layout: Layout, request: WorkerRequest, *, config: Path | None = None, timeout_s: float = 0.0
) -> dict[str, Any]:
    """Return what the worker answers; ``timeout_s`` is what the request itself may take.

    Raises:
        MemfsError: The one that the worker met.
    """
    answer = ask_running_worker(layout, request, timeout_s=timeout_s)
    return decode_reply(_by_a_process(layout, encode_request(request), config)) if answer is None else answer


def ask_running_worker(layout: Layout, request: WorkerRequest, *, timeout_s: float = 0.0) -> dict[str, Any] | None:
    """Return what the worker that runs answers, None where none does.

    Raises:
        MemfsError: The one that the worker met.
    """
    answer = _over_the_socket(layout.worker_socket, encode_request(request), timeout_s + _PATIENCE_S)
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
        asker.settimeout(timeout_s)
        try:
            with short_address(path) as address:
                asker.connect(address)
        except OSError:
            return None
        try:
            asker.sendall(line)
            with asker.makefile("rb") as answers:
                answer: bytes = answers.readline()
        except OSError as error:
            raise InvalidRequest(f"the worker does not answer: {error}") from None
    return answer


def _by_a_process(layout: Layout, line: bytes, config: Path | None) -> bytes:
    arguments = ["--control", "--state", str(layout.root)]
    arguments += ["--config", str(config)] if config is not None else []
    done = subprocess.run(worker_command(*arguments), input=line, stdout=subprocess.PIPE, check=False)  # noqa: S603  (this interpreter, our own module)
    if done.returncode:
        # It has said why on standard error.
        raise SystemExit(done.returncode)
    return done.stdout
