"""Two workspaces, and requests at random with ids of both in every place: none of them ever meets the other's."""

from random import Random
from typing import Any

import httpx
import pytest
from keyring import new_key
from wire import INVALID, refusal

from memfs.api import routes
from memfs.server.serve import StoreServer

STEPS = 250
UNKNOWN = (404, "not_found_error")


class Workspace:
    """What one workspace has, as its own client knows it."""

    def __init__(self, raw: httpx.Client, key: dict[str, str], name: str) -> None:
        self._raw, self.key, self.name = raw, key, name
        self.stores: list[str] = []
        self.memories: dict[str, str] = {}
        """The store of each."""
        self.versions: dict[str, str] = {}
        self.sessions: list[str] = []
        self._made = 0

    def ask(self, method: str, path: str, **more: Any) -> httpx.Response:
        return self._raw.request(method, path, headers=self.key, **more)

    def make(self, random: Random) -> None:
        """Make something new of one's own."""
        self._made += 1
        if not self.stores or random.random() < 0.1:
            self.stores.append(self.ask("POST", routes.STORES, json={"name": f"of {self.name}"}).json()["id"])
        store = random.choice(self.stores)
        body = {"path": f"/{self._made}", "content": f"of {self.name}"}
        made = self.ask("POST", routes.path(routes.MEMORIES, store_id=store), json=body).json()
        self.memories[made["id"]] = self.versions[made["memory_version_id"]] = store
        if random.random() < 0.2:
            resources = [{"type": "memory_store", "memory_store_id": store}]
            self.sessions.append(self.ask("POST", routes.SESSIONS, json={"resources": resources}).json()["id"])

    def owns(self, ids: dict[str, str]) -> bool:
        """Tell whether all of these are of this workspace, and of one store."""
        store = ids.get("store_id")
        return (
            ("session_id" not in ids or ids["session_id"] in self.sessions)
            and (store is None or store in self.stores)
            and ("memory_id" not in ids or self.memories.get(ids["memory_id"]) == store)
            and ("version_id" not in ids or self.versions.get(ids["version_id"]) == store)
        )

    def listed(self, where: str, **query: str) -> set[str]:
        """Return the ids of everything that a listing shows."""
        found: set[str] = set()
        page: dict[str, str] = {}
        while True:
            answer = self.ask("GET", where, params={"limit": "100", **query, **page}).raise_for_status().json()
            found |= {one["id"] for one in answer["data"]}
            if not answer["next_page"]:
                return found
            page = {"page": answer["next_page"]}


OPERATIONS: list[tuple[str, str, Any]] = [
    ("GET", routes.STORE, None),
    ("POST", routes.STORE, {"description": "of whoever may"}),
    ("GET", routes.MEMORIES, None),
    ("GET", routes.MEMORY, None),
    ("POST", routes.MEMORY, {"content": "of {name}"}),
    ("GET", routes.VERSIONS, None),
    ("GET", routes.VERSION, None),
    ("GET", routes.CHANGES, None),
    ("GET", routes.SESSION, None),
    ("POST", routes.SESSION, {"title": "of {name}"}),
    ("GET", routes.SESSION_RESOURCES, None),
]


def named(template: str, random: Random, both: list[Workspace]) -> dict[str, str]:
    """Return ids for the places of a route, each of either workspace."""
    kinds = {"store_id": "stores", "memory_id": "memories", "version_id": "versions", "session_id": "sessions"}
    if random.random() < 0.5:
        both = [random.choice(both)]
    pools = {place: [one for of in both for one in getattr(of, kind)] for place, kind in kinds.items()}
    ids = {place: random.choice(pool) for place, pool in pools.items() if f"{{{place}}}" in template and pool}
    child = ids.get("memory_id") or ids.get("version_id")
    if child and random.random() < 0.5:
        # The store that it is in, so that not nearly all of them are strangers.
        ids["store_id"] = next(of.memories.get(child) or of.versions[child] for of in both if _has(of, child))
    return ids


def _has(workspace: Workspace, child: str) -> bool:
    return child in workspace.memories or child in workspace.versions


def step(random: Random, who: Workspace, both: list[Workspace]) -> bool | None:
    """Send one request and hold what must be; return whether it was about one's own, None where there was nothing."""
    method, template, body = random.choice(OPERATIONS)
    ids = named(template, random, both)
    if template.count("{") != len(ids):
        return None
    sent = None if body is None else {name: value.format(name=who.name) for name, value in body.items()}
    answer = who.ask(method, routes.path(template, **ids), json=sent)
    if not who.owns(ids):
        assert refusal(answer) == UNKNOWN, (method, template)
        return False
    assert answer.status_code == 200, (method, template, answer.text)
    if (method, template) == ("POST", routes.MEMORY):
        who.versions[answer.json()["memory_version_id"]] = ids["store_id"]
    return True


def attach_another(random: Random, who: Workspace, other: Workspace) -> None:
    resources = [{"type": "memory_store", "memory_store_id": random.choice(other.stores)}]
    assert refusal(who.ask("POST", routes.SESSIONS, json={"resources": resources})) == INVALID


@pytest.mark.parametrize("seed", [1, 2])
def test_whatever_is_asked_a_workspace_meets_its_own_only(
    server: StoreServer, raw: httpx.Client, engine: str, seed: int
) -> None:
    random = Random(seed)
    both = [Workspace(raw, new_key(server, workspace=f"{engine} {seed} {name}"), name) for name in ("one", "two")]
    outcomes: list[bool | None] = []
    for number in range(STEPS):
        who, other = random.sample(both, 2)
        if number % 5 == 0:
            for workspace in both:
                workspace.make(random)
        outcomes.append(step(random, who, both))
        if number % 20 == 0:
            attach_another(random, who, other)

    assert min(outcomes.count(True), outcomes.count(False)) > STEPS / 10
    for who, other in (both, both[::-1]):
        assert who.listed(routes.STORES) == set(who.stores)
        assert who.listed(routes.SESSIONS) == set(who.sessions)
        for store in who.stores:
            memories = routes.path(routes.MEMORIES, store_id=store)
            texts = who.ask("GET", memories, params={"view": "full"}).json()["data"]
            assert {memory["content"] for memory in texts} <= {f"of {who.name}"}
            assert who.listed(memories) == {one for one, of in who.memories.items() if of == store}
            versions = routes.path(routes.VERSIONS, store_id=store)
            assert who.listed(versions) == {one for one, of in who.versions.items() if of == store}
            assert who.listed(versions, memory_id=next(iter(other.memories))) == set()
