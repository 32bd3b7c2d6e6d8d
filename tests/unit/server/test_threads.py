"""Where endpoints run: many writes share a commit, and those who wait for a lock keep nobody else waiting."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from starlette.responses import Response

from memfs.core.errors import NotFound, RemoteUnavailable
from memfs.server import threads as rooms
from memfs.server.store.database import Database
from memfs.server.threads import ManyWriters, OneWriter


class Batched:
    """Stands in for a database: it only counts batches, and may fail at the end of one."""

    def __init__(self) -> None:
        self.batches = 0
        self.failure: Exception | None = None

    @contextmanager
    def batch(self) -> Iterator[None]:
        self.batches += 1
        yield
        if self.failure is not None:
            raise self.failure


@pytest.fixture
def batched() -> Batched:
    return Batched()


@pytest.fixture
def writer(batched: Batched) -> Iterator[OneWriter]:
    found = OneWriter(batched)  # type: ignore[arg-type]  # all that it asks of a database
    found.start()
    yield found
    found.stop()


def saying(text: str) -> Callable[[], Response]:
    return lambda: Response(text)


async def together(writer: OneWriter | ManyWriters, *acts: Callable[[], Response]) -> list[bytes | BaseException]:
    asked = [writer.write(act, "memstore_1") for act in acts]
    answers = await asyncio.gather(*asked, return_exceptions=True)
    return [bytes(one.body) if isinstance(one, Response) else one for one in answers]


def test_the_engine_decides(database: Database) -> None:
    assert isinstance(rooms.threads(database), OneWriter if database.is_sqlite else ManyWriters)


def test_writes_that_wait_share_a_batch_and_are_answered_in_order(writer: OneWriter, batched: Batched) -> None:
    let_go = threading.Event()

    def first() -> Response:
        let_go.wait(20)
        return Response("1")

    async def ask() -> list[bytes | BaseException]:
        asked = asyncio.create_task(together(writer, first, saying("2"), saying("3")))
        await asyncio.sleep(0)  # all are asked now
        let_go.set()
        return await asked

    assert [b"1", b"2", b"3"] == asyncio.run(ask())
    assert batched.batches == 1


def test_what_one_write_raises_is_its_own(writer: OneWriter) -> None:
    def refuse() -> Response:
        raise NotFound("nothing there")

    answers = asyncio.run(together(writer, saying("1"), refuse, saying("2")))

    assert [b"1", b"2"] == [answers[0], answers[2]]
    assert isinstance(answers[1], NotFound)


def test_a_batch_that_cannot_be_committed_is_told_to_each(writer: OneWriter, batched: Batched) -> None:
    batched.failure = RemoteUnavailable("the disk is full")

    answers = asyncio.run(together(writer, saying("1"), saying("2")))

    assert [batched.failure] * 2 == answers


@pytest.mark.parametrize("kind", ["one", "many"])
def test_who_has_waited_too_long_is_refused_and_does_not_run(
    kind: str, batched: Batched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rooms, "PATIENCE_S", 0.05)
    monkeypatch.setattr(rooms, "_MOST_OF_A_STORE", 1)
    database: Any = batched
    writer = OneWriter(database) if kind == "one" else ManyWriters()
    waited, ran = threading.Event(), []

    def slow() -> Response:
        waited.wait(0.2)
        return Response("slow")

    def late() -> Response:
        ran.append("late")
        return Response("late")

    writer.start()
    answers = asyncio.run(together(writer, slow, late))
    writer.stop()

    assert (b"slow", []) == (answers[0], ran)
    assert isinstance(answers[1], RemoteUnavailable)


def test_a_store_that_hangs_leaves_room_for_writes_of_others() -> None:
    many, let_go = ManyWriters(), threading.Event()

    def hang() -> Response:
        let_go.wait(20)
        return Response("hung")

    async def ask() -> tuple[bytes, list[bytes | BaseException]]:
        asked = asyncio.create_task(together(many, *[hang] * 40))
        other = await many.write(saying("other"), "memstore_2")
        read = await many.read(saying("read"))
        let_go.set()
        return bytes(other.body) + bytes(read.body), await asked

    other, hung = asyncio.run(ask())
    assert (b"otherread", [b"hung"] * 40) == (other, hung)


def test_an_answer_that_nobody_awaits_any_longer_is_dropped(writer: OneWriter) -> None:
    let_go, ran = threading.Event(), threading.Event()

    def first() -> Response:
        let_go.wait(20)
        ran.set()
        return Response("1")

    async def ask() -> bytes:
        given_up = asyncio.create_task(writer.write(first, None))
        await asyncio.sleep(0)
        given_up.cancel()
        let_go.set()
        return bytes((await writer.write(saying("2"), None)).body)

    assert b"2" == asyncio.run(ask())
    assert ran.is_set()
