"""Sixteen clients in four processes press on a store: nothing is lost, doubled or half done, whoever is killed.

Every write has a content that no other has, so that the history tells which of them were done.
"""

import random
import signal
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from killable import KEY, Killable, killable
from postgres import Cluster, cluster, stop
from pressing import END_S, Log, Work, press
from running_up import eventually

from memfs.core.errors import RemoteUnavailable
from memfs.server.store import tables
from memfs.server.store.database import Database
from memfs.server.store.opening import FILE, open_database

COUNTERS = 10
SHORT, LONG = 100, 1_500
"""Changes until the clients may end."""
KILLS, MANY_KILLS = 1, 12
STORES = "/v1/memory_stores"
SEEDS = [1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 7))]
Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pressed:
    """A store on running servers, and its database."""

    servers: list[Killable]
    client: httpx.Client
    path: str
    """Of the store."""
    database: Database

    def every(self, listing: str, **parameters: str) -> list[Row]:
        """Return all pages of a listing."""
        found: list[Row] = []
        page: dict[str, str] = {}
        while True:
            answer = self.client.get(f"{self.path}/{listing}", params={"view": "full", **parameters, **page})
            answer.raise_for_status()
            found += answer.json()["data"]
            if (cursor := answer.json()["next_page"]) is None:
                return found
            page = {"page": cursor}

    def work(self, kind: str, seed: int, ids: tuple[str, ...] = ()) -> Work:
        return Work(
            kind=kind,
            urls=tuple(server.url for server in self.servers),
            key=KEY,
            memories=f"{self.path}/memories",
            ids=ids,
            seed=seed,
        )


@contextmanager
def pressed(home: Path, *databases: str | None) -> Iterator[Pressed]:
    with (
        killable(home, *databases) as servers,
        httpx.Client(base_url=servers[0].url, headers={"authorization": f"Bearer {KEY}"}, timeout=30) as client,
    ):
        path = f"{STORES}/{client.post(STORES, json={'name': 'Pressed'}).json()['id']}"
        with closing(open_database(databases[0] or home / FILE)) as database:
            yield Pressed(servers=servers, client=client, path=path, database=database)


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pressed]:
    """On two servers of one database."""
    url = request.getfixturevalue("postgres").new_database() if request.param == "postgresql" else None
    with pressed(tmp_path, url, url) as found:
        yield found


@pytest.mark.parametrize("seed", SEEDS)
def test_each_increment_counts_once(store: Pressed, seed: int) -> None:
    ids = new_counters(store)
    with press(store.work("increments", seed, ids)) as log:
        progress(store, SHORT if seed == 1 else LONG)

    assert [] == log.lost
    check_counters(store, ids, log)
    check_feed(store)


@pytest.mark.timeout(240)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_killed_server_loses_no_increment_that_it_answered(store: Pressed, seed: int) -> None:
    ids, dice = new_counters(store), random.Random(seed)
    with press(store.work("increments", seed, ids)) as log:
        for _ in every_moment(store, dice, seed):
            victim = dice.choice(store.servers)
            victim.kill()
            victim.start()

    check_counters(store, ids, log)
    check_feed(store)


@pytest.mark.timeout(240)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_postgresql_that_crashes_loses_no_increment_that_was_answered(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    with cluster(is_durable=True) as durable:
        url = durable.new_database()
        with pressed(tmp_path, url, url) as store:
            ids = new_counters(store)
            with press(store.work("increments", seed, ids)) as log:
                for _ in every_moment(store, dice, seed):
                    crash(durable)

            check_counters(store, ids, log)
            check_feed(store)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_history_of_many_clients_replays_to_what_is_there(store: Pressed, seed: int) -> None:
    with press(store.work("history", seed)) as log:
        progress(store, SHORT if seed == 1 else LONG)

    assert [] == log.lost
    check_history(store, log)
    check_feed(store)


@pytest.mark.parametrize("seed", SEEDS)
def test_of_many_clients_none_creates_or_changes_after_the_archiving(store: Pressed, seed: int) -> None:
    with press(store.work("history", seed)) as log:
        progress(store, SHORT if seed == 1 else LONG)
        store.client.post(f"{store.path}/archive").raise_for_status()

    kinds = [row.kind for row in told(store)]
    after = kinds[kinds.index("store_archived") + 1 :]
    assert {"deleted", "redacted"} >= set(after)
    check_history(store, log)
    check_feed(store)


@pytest.mark.long
@pytest.mark.timeout(240)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_history_replays_to_what_is_there_after_kills(store: Pressed, seed: int) -> None:
    dice = random.Random(seed)
    with press(store.work("history", seed)) as log:
        for _ in every_moment(store, dice, seed):
            victim = dice.choice(store.servers)
            victim.kill()
            victim.start()

    check_history(store, log)
    check_feed(store)


def every_moment(store: Pressed, dice: random.Random, seed: int) -> Iterator[None]:
    """Yield some times at a moment that only chance knows, while changes are made before and after each."""
    for _ in range(KILLS if seed == 1 else MANY_KILLS):
        progress(store, dice.randint(1, 50))
        time.sleep(dice.uniform(0, 0.02))
        yield
    progress(store, 50)


def progress(store: Pressed, changes: int) -> None:
    """Wait until so many changes more are made."""
    before = place(store)
    eventually(lambda: place(store) >= before + changes, END_S)


def place(store: Pressed) -> int:
    try:
        found: int = row_of(store).last_seq
    except RemoteUnavailable:  # the database was just killed
        return 0
    return found


def crash(durable: Cluster) -> None:
    stop(durable, signal.SIGQUIT)
    durable.start()


def new_counters(store: Pressed) -> tuple[str, ...]:
    bodies = [{"path": f"/counter-{number}", "content": "0 start"} for number in range(COUNTERS)]
    return tuple(store.client.post(f"{store.path}/memories", json=body).json()["id"] for body in bodies)


def check_counters(store: Pressed, ids: tuple[str, ...], log: Log) -> None:
    """Each counter's history counts without a gap, and has what was answered once, the rest at most once."""
    assert log.done
    histories = {one: [row for row in oldest_first(store) if row["memory_id"] == one] for one in ids}
    for memory in store.every("memories"):
        history = histories[memory["id"]]
        assert list(range(len(history))) == [int(row["content"].split()[0]) for row in history]
        assert history[-1]["content"] == memory["content"]
        assert history[-1]["id"] == memory["memory_version_id"]

    written = {row["id"]: row["content_sha256"] for rows in histories.values() for row in rows[1:]}
    answered = {row["memory_version_id"]: row["content_sha256"] for row in log.done}
    contents = Counter(row["content"] for rows in histories.values() for row in rows[1:])
    unanswered = [row["content"] for rows in histories.values() for row in rows[1:] if row["id"] not in answered]
    assert len(log.done) == len(answered)
    assert answered.items() <= written.items()
    assert {1} == set(contents.values())
    assert set(unanswered) <= set(log.lost)


def check_history(store: Pressed, log: Log) -> None:
    """The versions, replayed in their order, give what is there; no memory ever lay below another."""
    living: dict[str, tuple[str | None, str | None, str]] = {}
    versions = oldest_first(store)
    for row in versions:
        if row["operation"] == "deleted":
            del living[row["memory_id"]]
            continue
        assert (row["operation"] == "created") == (row["memory_id"] not in living)
        living[row["memory_id"]] = (row["path"], row["content_sha256"], row["id"])
        refuse_nested([path for path, _, _ in living.values() if path is not None])

    memories = store.every("memories")
    assert living == {row["id"]: (row["path"], row["content_sha256"], row["memory_version_id"]) for row in memories}
    assert versions
    assert {row["memory_version_id"] for row in log.done} <= {row["id"] for row in versions}
    assert len(memories) == row_of(store).memories


def refuse_nested(paths: list[str]) -> None:
    taken = set(paths)
    assert len(taken) == len(paths)
    for path in paths:
        segments = path.split("/")
        assert taken.isdisjoint("/".join(segments[:depth]) for depth in range(2, len(segments)))


def check_feed(store: Pressed) -> None:
    """The feed has each version and each redaction once, without a gap, the versions in their order."""
    changes = told(store)
    versions = oldest_first(store)
    of_versions = [row for row in changes if row.kind not in {"redacted", "store_archived"}]
    redacted = [row.version_id for row in changes if row.kind == "redacted"]

    assert list(range(1, len(changes) + 1)) == [row.seq for row in changes]
    assert row_of(store).last_seq == len(changes)
    assert [(row["id"], row["operation"], row["memory_id"]) for row in versions] == [
        (row.version_id, row.kind, row.memory_id) for row in of_versions
    ]
    assert sorted(row["id"] for row in versions if row["redacted_at"]) == sorted(redacted)


def told(store: Pressed) -> Sequence[Any]:
    """Return the rows of the feed."""
    with store.database.read() as connection:
        query = tables.changes.select().where(tables.changes.c.store_id == store_id(store))
        return connection.execute(query.order_by(tables.changes.c.seq)).all()


def oldest_first(store: Pressed) -> list[Row]:
    return store.every("memory_versions")[::-1]


def store_id(store: Pressed) -> str:
    return store.path.rpartition("/")[2]


def row_of(store: Pressed) -> Any:
    with store.database.read() as connection:
        return connection.execute(tables.stores.select().where(tables.stores.c.id == store_id(store))).one()
