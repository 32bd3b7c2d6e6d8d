"""Who is woken by what, who shares a look, and that nothing is left of those who went away."""

import asyncio
import threading
from pathlib import Path

import pytest
from sqlalchemy import select

from memfs.api.models import View
from memfs.api.requests import CreateStore
from memfs.core.limits import Limits
from memfs.core.paths import StorePath
from memfs.server.neighbours import Neighbours
from memfs.server.store import tables
from memfs.server.store.callers import Caller
from memfs.server.store.database import Database
from memfs.server.store.opening import open_database
from memfs.server.store.sql import SqlStore
from memfs.server.store.stamps import Stamps
from memfs.server.store.versions import Content
from memfs.server.waiters import Waiters

pytestmark = pytest.mark.anyio
LONG_S = 20


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Look:
    """A look into the database that a test lets end."""

    def __init__(self, found: object = "seen") -> None:
        self.count = 0
        self.may_end = threading.Event()
        self._found = found

    def __call__(self) -> object:
        self.count += 1
        assert self.may_end.wait(LONG_S)
        if isinstance(self._found, Exception):
            raise self._found
        return self._found


async def turns(count: int = 5) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_only_who_waits_for_the_store_is_woken() -> None:
    waiters = Waiters()
    with waiters.place("a") as first, waiters.place("a") as second, waiters.place("b") as other:
        waiters.tell(["a", "unknown"])
        await turns()

        assert [True, True, False] == [one.is_set() for one in (first, second, other)]
        waiters.tell_all()
        await turns()
        assert other.is_set()


async def test_a_wake_from_another_thread_arrives() -> None:
    waiters = Waiters()
    with waiters.place("a") as told:
        await asyncio.to_thread(waiters.tell, ["a"])
        async with asyncio.timeout(LONG_S):
            await told.wait()


async def test_nothing_is_left_of_those_who_went_away() -> None:
    waiters = Waiters()
    with waiters.place("a"):
        with waiters.place("a"), waiters.place("b"):
            assert (3, {"a", "b"}, True) == (waiters.count, set(waiters.stores()), waiters.someone.is_set())
        assert (1, ["a"], True) == (waiters.count, waiters.stores(), waiters.someone.is_set())

    assert (0, [], False) == (waiters.count, waiters.stores(), waiters.someone.is_set())
    waiters.tell(["a"])
    waiters.tell_all()


async def test_telling_before_anyone_waited_and_after_the_loop_ended_does_nothing() -> None:
    waiters = Waiters()
    waiters.tell(["a"])
    waiters.close()

    assert waiters.is_closed


async def test_those_whom_one_wake_woke_share_one_look() -> None:
    waiters, look = Waiters(), Look()
    with waiters.place("a"):
        waiters.tell(["a"])
        await turns()
        looking = [asyncio.create_task(waiters.look("page", look)) for _ in range(50)]
        await turns()
        look.may_end.set()

        assert ["seen"] * 50 == await asyncio.gather(*looking)
    assert look.count == 1


async def test_a_look_that_began_before_the_wake_is_not_shared() -> None:
    """It may have seen the store as it was before what the wake is about."""
    waiters, early, late = Waiters(), Look("early"), Look("late")
    late.may_end.set()
    with waiters.place("a"):
        first = asyncio.create_task(waiters.look("page", early))
        await turns()
        waiters.tell(["a"])
        await turns()

        assert "late" == await waiters.look("page", late)
        early.may_end.set()
        assert "early" == await first


async def test_other_questions_are_other_looks() -> None:
    waiters, one, other = Waiters(), Look("one"), Look("other")
    one.may_end.set()
    other.may_end.set()

    assert ["one", "other"] == list(await asyncio.gather(waiters.look("one", one), waiters.look("other", other)))


async def test_who_goes_away_takes_the_look_from_nobody() -> None:
    waiters, look = Waiters(), Look()
    gone, stays = (asyncio.create_task(waiters.look("page", look)) for _ in range(2))
    await turns()
    gone.cancel()
    await turns()
    look.may_end.set()

    assert "seen" == await stays
    assert gone.cancelled()


async def test_a_look_that_fails_fails_for_all_and_is_forgotten() -> None:
    waiters, broken, whole = Waiters(), Look(LookupError("broken")), Look()
    broken.may_end.set()
    whole.may_end.set()

    failed = await asyncio.gather(*(waiters.look("page", broken) for _ in range(3)), return_exceptions=True)

    assert [LookupError] * 3 == [type(one) for one in failed]
    assert "seen" == await waiters.look("page", whole)


async def test_a_look_that_fails_when_everyone_has_gone_is_no_trouble(caplog: pytest.LogCaptureFixture) -> None:
    waiters, broken = Waiters(), Look(LookupError("broken"))
    gone = asyncio.create_task(waiters.look("page", broken))
    await turns()
    gone.cancel()
    broken.may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await gone
    await asyncio.to_thread(lambda: None)
    await turns()

    assert [] == caplog.records


async def test_a_commit_of_another_process_wakes_its_store_and_no_other(
    database: Database, database_path: Path, stamps: Stamps
) -> None:
    """Another connection pool is to SQLite what another process is."""
    with database.read() as connection:
        caller = Caller(actor="apikey_1", workspace_id=connection.execute(select(tables.workspaces.c.id)).scalar_one())
    here = SqlStore.on(database, stamps, Limits())
    quiet, busy = (here.stores.create(caller, CreateStore(name=name)).id for name in ("quiet", "busy"))
    elsewhere = open_database(database_path)
    there = SqlStore.on(elsewhere, stamps, Limits())

    def write(path: str) -> None:
        there.memories.create(caller, busy, StorePath(path), Content.of(b""), view=View.BASIC)

    waiters = Waiters()
    neighbours = Neighbours(database, waiters)
    neighbours.start()
    try:
        with waiters.place(quiet) as unwoken, waiters.place(busy) as woken:
            for content in ("one", "two", "three"):
                await asyncio.to_thread(write, f"/{content}")
                async with asyncio.timeout(LONG_S):
                    await woken.wait()
                woken.clear()

            assert not unwoken.is_set()
            await asyncio.to_thread(there.stores.delete, caller, quiet)
            async with asyncio.timeout(LONG_S):
                await unwoken.wait()
    finally:
        neighbours.stop()
        elsewhere.close()
