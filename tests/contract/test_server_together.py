"""Many clients at once: one wins each round, nothing is lost, nothing is half done."""

import hashlib
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx

WRITERS = 6
ROUNDS = 8


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_exactly_one_of_many_preconditioned_updates_wins_each_round(raw: httpx.Client, memories: str) -> None:
    memory = raw.post(memories, json={"path": "/a", "content": "start"}).json()
    url = f"{memories}/{memory['id']}"
    current = "start"
    gate = threading.Barrier(WRITERS)

    def attempt(text: str, expected: str) -> tuple[int, str]:
        gate.wait(10)
        body = {"content": text, "precondition": {"type": "content_sha256", "content_sha256": expected}}
        return raw.post(url, json=body).status_code, text

    with ThreadPoolExecutor(WRITERS) as pool:
        for number in range(ROUNDS):
            wanted = [f"round {number} writer {writer}" for writer in range(WRITERS)]
            outcomes = list(pool.map(attempt, wanted, [digest(current)] * WRITERS))
            winners = [text for status, text in outcomes if status == 200]
            assert sorted(status for status, _ in outcomes) == [200] + [409] * (WRITERS - 1)
            current = winners[0]
            assert raw.get(url).json()["content"] == current

    history = raw.get(memories.replace("/memories", "/memory_versions"), params={"limit": "100"}).json()["data"]
    assert len(history) == 1 + ROUNDS


def test_one_path_is_given_to_one_of_many_creators(raw: httpx.Client, memories: str) -> None:
    gate = threading.Barrier(WRITERS)

    def attempt(path: str) -> int:
        gate.wait(10)
        return raw.post(memories, json={"path": path, "content": path}).status_code

    with ThreadPoolExecutor(WRITERS) as pool:
        for number in range(ROUNDS):
            top = f"/{number}"
            paths = [top, f"{top}/a", f"{top}/a/b", top, f"{top}/a", f"{top}/a/b"]
            assert sorted(pool.map(attempt, paths)) == [200] + [409] * (WRITERS - 1)

    assert len(raw.get(memories, params={"limit": "100"}).json()["data"]) == ROUNDS


def test_readers_see_whole_memories_while_writers_write(raw: httpx.Client, memories: str) -> None:
    memory = raw.post(memories, json={"path": "/a", "content": "0"}).json()
    url = f"{memories}/{memory['id']}"
    done = threading.Event()

    def write() -> None:
        for number in range(60):
            raw.post(url, json={"content": str(number) * 3_000}).raise_for_status()
        done.set()

    def read() -> list[dict[str, Any]]:
        seen: list[dict[str, Any]] = []
        while not done.is_set():
            seen.append(raw.get(url).json())
            seen += raw.get(memories, params={"view": "full"}).json()["data"]
        return seen

    with ThreadPoolExecutor(4) as pool:
        readers = [pool.submit(read) for _ in range(3)]
        pool.submit(write).result(60)
        seen = [memory for reader in readers for memory in reader.result(60)]

    assert seen
    assert all(one["content_sha256"] == digest(one["content"]) for one in seen)


def test_a_full_store_stays_full_under_many_creators(small_raw: httpx.Client) -> None:
    beta = {"anthropic-beta": "agent-memory-2026-07-22"}
    store = small_raw.post("/v1/memory_stores", json={"name": "n"}, headers=beta).json()["id"]
    memories = f"/v1/memory_stores/{store}/memories"

    def attempt(number: int) -> int:
        return small_raw.post(memories, json={"path": f"/{number}", "content": ""}, headers=beta).status_code

    with ThreadPoolExecutor(WRITERS) as pool:
        assert sorted(pool.map(attempt, range(12))) == [200] * 3 + [409] * 9
