"""How soon who waits for a change of a store is answered, and what a page of a listing costs in stores of all sizes."""

import statistics
import time
from dataclasses import replace
from itertools import count

from load import Place, Wire, page, text
from served import new_store
from sqlalchemy import func, insert, select, update

from memfs.api.routes import CHANGES, MEMORIES
from memfs.server.store import tables
from memfs.server.store.database import Database
from memfs.server.store.stamps import identifier

_CHUNK = 5_000
_SETTLE_S = 0.05
"""After this a request that waits is taken to wait."""


def filled(place: Place, database: Database, memories: int) -> Place:
    """Make a store with so many memories, written straight into the database: by its API it would take minutes."""
    wire = Wire(place)
    store_id = new_store(wire)
    wire.close()
    for first in range(0, memories, _CHUNK):
        rows = [_row(store_id, number) for number in range(first, min(first + _CHUNK, memories))]
        with database.write() as connection:
            connection.execute(insert(tables.versions), [version for version, _ in rows])
            connection.execute(insert(tables.memories), [memory for _, memory in rows])
    with database.write() as connection:
        counted = connection.execute(
            select(func.count()).select_from(tables.memories).where(tables.memories.c.store_id == store_id)
        ).scalar_one()
        connection.execute(update(tables.stores).where(tables.stores.c.id == store_id).values(memories=counted))
    return replace(place, memories=MEMORIES.format(store_id=store_id))


def _row(store_id: str, number: int) -> tuple[dict[str, object], dict[str, object]]:
    at_us = time.time_ns() // 1_000
    memory_id, version_id = identifier("mem", at_us), identifier("memver", at_us)
    content = text(number).encode()
    head = {"path": f"/notes/{number:06}", "content_sha256": f"{number:064x}", "content_size_bytes": len(content)}
    ids = {"store_id": store_id, "created_at": at_us}
    version = {"id": version_id, "memory_id": memory_id, "operation": "created", "content": content}
    memory = {"id": memory_id, "version_id": version_id, "updated_at": at_us}
    return head | ids | version | {"created_by": "apikey_bench"}, head | ids | memory


def listing_s(place: Place) -> tuple[float, str | None]:
    """List a store, 100 memories a page; return the seconds, and the cursor of the page in the middle."""
    wire = Wire(place)
    cursors: list[str | None] = [None]
    began = time.perf_counter()
    while (cursor := wire.ask("GET", page(place, cursor=cursors[-1]))["next_page"]) is not None:
        cursors.append(cursor)
    took_s = time.perf_counter() - began
    wire.close()
    return took_s, cursors[len(cursors) // 2]


def page_ms(place: Place, cursor: str | None, times: int) -> float:
    """Return the median milliseconds of one page."""
    wire = Wire(place)
    took_s = []
    for _ in range(times + 1):
        began = time.perf_counter()
        wire.ask("GET", page(place, cursor=cursor))
        took_s.append(time.perf_counter() - began)
    wire.close()
    return statistics.median(took_s[1:]) * 1_000


def wakes_ms(writing: Place, waiting: Place, times: int) -> list[float]:
    """Return how long after a write's answer whoever waits has its own; the two may be of different processes."""
    writer, waiter = Wire(writing), Wire(waiting)
    memory, _ = writing.written[0]
    feed = CHANGES.format(store_id=writing.memories.split("/")[3])
    cursor = waiter.ask("GET", feed)["next"]
    found = []
    for number in count():
        if number > times:
            return found[1:]
        waiter.send("GET", f"{feed}?after={cursor}&wait=20")
        time.sleep(_SETTLE_S)
        writer.ask("POST", f"{writing.memories}/{memory}", {"content": text(f"wake {number} {time.time_ns()}")})
        began = time.perf_counter()
        answer = waiter.receive_json()
        found.append((time.perf_counter() - began) * 1_000)
        cursor = answer["next"]
    raise AssertionError
