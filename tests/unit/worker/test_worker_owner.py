"""Whom the worker asks: the mount where one listens, itself where none does."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from memfs.core.attachment import Access, Attachment
from memfs.core.errors import AlreadyHeld
from memfs.core.tree_requests import (
    Answer,
    Changed,
    Outcome,
    Reload,
    Replace,
    Request,
    decode_request,
    encode_answer,
)
from memfs.state.attachments import attach
from memfs.state.layout import Layout
from memfs.tree.atomic import stage
from memfs.tree.owner import OwnerLock
from worker.owner import MountOwner, connect

STORE = "memstore_1"


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    layout = Layout(tmp_path / ("long" * 30))
    attach(layout, [Attachment(store_id=STORE, name="Notes", slug="notes", access=Access.READ_WRITE)])
    return layout


@pytest.fixture
def owner(layout: Layout) -> Iterator[MountOwner]:
    owner = MountOwner(layout)
    yield owner
    owner.close()


def replace(layout: Layout, name: str = "staged") -> Replace:
    stage(layout.store(STORE).staging, name, b"pulled")
    return Replace(store_id=STORE, path="/note.md", staged=name, expect=None)


@contextmanager
def mount(layout: Layout, answers: list[Answer | None]) -> Iterator[list[Request]]:
    """Listen as a mount does; each answer is for one request, None hangs up instead."""
    asked: list[Request] = []
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    here = Path.cwd()
    listener.bind(_short(layout.mount_socket))
    listener.listen()

    def serve() -> None:
        while answers:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection, connection.makefile("rb") as lines:
                for line in lines:
                    asked.append(decode_request(line))
                    answer = answers.pop(0)
                    if answer is None:
                        break
                    connection.sendall(encode_answer(answer))
                    if not answers:
                        break

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield asked
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        layout.mount_socket.unlink()
        thread.join(10)
        assert Path.cwd() == here


def _short(path: Path) -> str:
    """Return a name of the socket that fits an address."""
    link = path.parent.parent / "s"
    link.symlink_to(path.parent)
    return f"{link}/{path.name}"


def test_without_a_mount_the_worker_changes_the_tree_itself(owner: MountOwner, layout: Layout) -> None:
    answer = owner.ask(replace(layout))

    assert Outcome.APPLIED == answer.outcome
    assert b"pulled" == (layout.store(STORE).tree / "note.md").read_bytes()


def test_threads_take_turns_where_no_mount_lives(owner: MountOwner, layout: Layout) -> None:
    requests = [replace(layout, f"staged{number}") for number in range(8)]
    outcomes: list[Outcome] = []
    threads = [threading.Thread(target=lambda one=one: outcomes.append(owner.ask(one).outcome)) for one in requests]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)

    assert 1 == outcomes.count(Outcome.APPLIED)
    assert 7 == outcomes.count(Outcome.CHANGED)


def test_a_socket_that_nobody_listens_on_is_no_mount(owner: MountOwner, layout: Layout) -> None:
    with mount(layout, []):
        pass
    layout.mount_socket.touch()

    assert Outcome.APPLIED == owner.ask(replace(layout)).outcome


def test_a_mount_is_asked_over_one_connection(owner: MountOwner, layout: Layout) -> None:
    request = replace(layout)
    with mount(layout, [Answer(), Answer(outcome=Outcome.BUSY), Answer(outcome=Outcome.CHANGED)]) as asked:
        outcomes = [owner.ask(request).outcome for _ in range(3)]

    assert [Outcome.APPLIED, Outcome.BUSY, Outcome.CHANGED] == outcomes
    assert [request, request, request] == asked
    assert not (layout.store(STORE).tree / "note.md").exists()


def test_a_mount_that_hangs_up_is_asked_again_and_then_looked_at(owner: MountOwner, layout: Layout) -> None:
    request = replace(layout)
    with mount(layout, [Answer(), None, None]) as asked:
        first, second = owner.ask(request), owner.ask(request)

    assert Outcome.APPLIED == first.outcome
    assert Outcome.CHANGED == second.outcome
    assert 3 == len(asked)


def test_a_store_that_the_mount_does_not_know_is_changed_directly(owner: MountOwner, layout: Layout) -> None:
    with mount(layout, [Answer(error="no such store")]):
        answer = owner.ask(replace(layout))

    assert Outcome.APPLIED == answer.outcome
    assert "" == answer.error


def test_a_mounts_refusal_stands_while_it_owns_the_tree(owner: MountOwner, layout: Layout) -> None:
    with OwnerLock(layout.store(STORE).owner_lock), mount(layout, [Answer(error="the disk is full", errno=28)]):
        answer = owner.ask(replace(layout))

    assert "the disk is full" == answer.error


def test_a_tree_owned_by_somebody_silent_is_left_alone(owner: MountOwner, layout: Layout) -> None:
    with OwnerLock(layout.store(STORE).owner_lock), pytest.raises(AlreadyHeld):
        owner.ask(replace(layout))


def test_telling_needs_nobody_to_listen(owner: MountOwner, layout: Layout) -> None:
    owner.tell(Reload())
    with mount(layout, [Answer(), Answer()]) as asked:
        owner.tell(Reload())
        owner.tell(Changed(store_id=STORE, paths=("/note.md",)))

    assert [Reload(), Changed(store_id=STORE, paths=("/note.md",))] == asked
    with pytest.raises(OSError, match="No such file"):
        connect(layout.mount_socket)
