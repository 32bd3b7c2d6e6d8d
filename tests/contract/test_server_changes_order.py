"""The order of the change feed under many writers: none is skipped, none comes twice, and a follower has it all."""

import random
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from feed import applied, asked, cursor, replica
from wire import connected, serving

WRITERS = 8
WRITES = 12
READERS = 4
PATHS = ("/a", "/a/b", "/a/b/c", "/a/d", "/b", "/c/x", "/c/y", "/é", "/a b")
STEPS = 25
Client = httpx.Client


@contextmanager
def two_servers(data: Path, database: str | None) -> Iterator[tuple[Client, Client]]:
    """Run two servers on one database and yield a client of each."""
    with ExitStack() as running:
        first, second = (
            running.enter_context(connected(running.enter_context(serving(data, database=database)))) for _ in range(2)
        )
        yield first, second


def follow(client: Client, base: str, after: str, limit: int, done: threading.Event) -> list[dict[str, Any]]:
    """Read page by page until the writers are done and nothing more comes."""
    seen: list[dict[str, Any]] = []
    while True:
        is_last = done.is_set()
        page = asked(client, base, after=after, limit=limit, wait=0 if is_last else 0.2)
        seen += page["data"]
        after = page["next"]
        if is_last and not page["has_more"]:
            return seen


def write(client: Client, memories: str, writer: int) -> None:
    """Make, change, move and delete memories, some of them in the way of other writers."""
    for number in range(WRITES):
        answer = client.post(memories, json={"path": f"/{number % 3}/{writer}-{number}", "content": str(number)})
        url = f"{memories}/{answer.raise_for_status().json()['id']}"
        client.post(url, json={"content": f"{writer} {number}"}).raise_for_status()
        client.post(url, json={"path": f"/moved/{number}"})  # the first writer has the place
        if number % 2:
            client.delete(url).raise_for_status()


def test_readers_see_each_change_once_and_in_one_order_while_writers_write(
    tmp_path: Path, new_database: str | None
) -> None:
    """Half of the writers and of the readers at each of two servers; each reader has a limit of its own."""
    done = threading.Event()
    with two_servers(tmp_path / "data", new_database) as clients, ThreadPoolExecutor(WRITERS + READERS) as pool:
        base = f"/v1/memory_stores/{clients[0].post('/v1/memory_stores', json={'name': 'n'}).json()['id']}"
        start = cursor(clients[0], base)
        reading = [pool.submit(follow, clients[n % 2], base, start, n + 1, done) for n in range(READERS)]
        writing = [pool.submit(write, clients[n % 2], f"{base}/memories", n) for n in range(WRITERS)]
        for one in writing:
            one.result(90)
        done.set()
        seen = [one.result(60) for one in reading]
        whole = asked(clients[0], base, after=start, limit=1_000)
        listed = replica(clients[1], base)

    assert not whole["has_more"]
    assert [whole["data"]] * READERS == seen
    assert Counter(change["memory_version_id"] for change in whole["data"]).most_common(1)[0][1] == 1
    moments = [change["created_at"] for change in whole["data"]]
    assert sorted(set(moments)) == moments
    followed: dict[str, tuple[str, str]] = {}
    applied(followed, whole["data"])
    assert listed == followed


def versions(client: Client, base: str) -> list[str]:
    """Return the ids of all versions of a store."""
    found: list[str] = []
    page: dict[str, str] = {}
    while True:
        answer = client.get(f"{base}/memory_versions", params={"limit": "100"} | page).json()
        found += [one["id"] for one in answer["data"]]
        if not answer["next_page"]:
            return found
        page = {"page": answer["next_page"]}


def step(client: Client, base: str, chance: random.Random) -> None:
    """Do one thing, which may be refused."""
    memories = f"{base}/memories"
    living = list(replica(client, base))
    match chance.choice(["create", "create", "edit", "move", "delete", "redact", "name"]):
        case "create":
            client.post(memories, json={"path": chance.choice(PATHS), "content": str(chance.random())})
        case "edit" if living:
            client.post(f"{memories}/{chance.choice(living)}", json={"content": str(chance.randrange(3))})
        case "move" if living:
            client.post(f"{memories}/{chance.choice(living)}", json={"path": chance.choice(PATHS)})
        case "delete" if living:
            client.delete(f"{memories}/{chance.choice(living)}")
        case "redact" if found := versions(client, base):
            client.post(f"{base}/memory_versions/{chance.choice(found)}/redact")
        case _:
            client.post(base, json={"name": str(chance.random())})


@pytest.mark.parametrize("seed", range(6))
def test_a_follower_that_knows_only_the_feed_has_what_a_listing_shows(raw: Client, base: str, seed: int) -> None:
    """Renames, deletions, redactions, a file that becomes a directory and back; two followers, one that listed late."""
    chance = random.Random(seed)
    early: dict[str, tuple[str, str]] = {}
    after = cursor(raw, base)
    late_after = after
    late: dict[str, tuple[str, str]] = {}
    for number in range(STEPS):
        step(raw, base, chance)
        if number == STEPS // 2:
            # The cursor first, then the listing: what happens in between comes twice, and does no harm.
            late_after = cursor(raw, base)
            step(raw, base, chance)
            late = replica(raw, base)
        if chance.random() < 0.4:
            page = asked(raw, base, after=after, limit=chance.choice([1, 2, 100]))
            applied(early, page["data"])
            after = page["next"]
            if not page["has_more"]:
                assert replica(raw, base) == early
    applied(early, asked(raw, base, after=after)["data"])
    applied(late, asked(raw, base, after=late_after)["data"])

    assert replica(raw, base) == early
    assert early == late
