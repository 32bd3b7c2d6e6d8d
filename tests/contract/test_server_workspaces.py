"""The workspace header: a request may name the workspace of its credential and no other, and each answer names it."""

import httpx
import pytest
from keyring import new_key
from wire import refusal

from memfs.api import routes
from memfs.server.serve import StoreServer

PERMISSION = (403, "permission_error")


@pytest.fixture
def own(raw: httpx.Client) -> str:
    """The id of the workspace of the first key."""
    return raw.get(routes.STORES).headers[routes.WORKSPACE]


def test_each_answer_names_the_workspace_of_the_credential(raw: httpx.Client, server: StoreServer, base: str) -> None:
    stranger = new_key(server, workspace="named in an answer")
    store = {"type": "memory_store", "memory_store_id": base.rpartition("/")[2]}
    session = raw.post(routes.SESSIONS, json={"resources": [store]})
    token = {"authorization": f"Bearer {session.json()['sessions_token']}"}

    named = [
        raw.get(base).headers[routes.WORKSPACE],
        raw.get(base, headers=token).headers[routes.WORKSPACE],
        raw.get(f"{base}x").headers[routes.WORKSPACE],
        raw.post(routes.STORES, json={}).headers[routes.WORKSPACE],
    ]

    assert [session.headers[routes.WORKSPACE]] * 4 == named
    assert named[0].startswith("wrkspc_01")
    assert named[0] != raw.get(base, headers=stranger).headers[routes.WORKSPACE]
    assert routes.WORKSPACE not in raw.get(base, headers={"authorization": "Bearer x"}).headers


def test_the_own_workspace_may_be_named(raw: httpx.Client, own: str) -> None:
    assert 200 == raw.get(routes.STORES, headers={routes.WORKSPACE: own}).status_code


@pytest.mark.parametrize("named", ["", "wrkspc_01", "default", "{own}x", "x" * 4_000])
def test_another_workspace_may_not_be_named_wherever(raw: httpx.Client, base: str, own: str, named: str) -> None:
    headers = {routes.WORKSPACE: named.format(own=own)}

    assert refusal(raw.get(base, headers=headers)) == PERMISSION
    assert refusal(raw.post(routes.STORES, json={"name": "x"}, headers=headers)) == PERMISSION
    assert refusal(raw.get(routes.SESSIONS, headers=headers)) == PERMISSION


def test_a_workspace_does_not_open_without_a_credential(raw: httpx.Client, own: str) -> None:
    answer = raw.get(routes.STORES, headers={"authorization": "", routes.WORKSPACE: own})

    assert 401 == answer.status_code


def test_the_strict_beta_header_of_sessions_is_the_one_of_agents(small_raw: httpx.Client) -> None:
    def status(path: str, beta: str | None) -> int:
        return small_raw.get(path, headers={} if beta is None else {routes.BETA: beta}).status_code

    both = f"{routes.BETA_MEMORY},{routes.BETA_MANAGED_AGENTS}"
    found = {
        path: [status(path, beta) for beta in (None, routes.BETA_MEMORY, routes.BETA_MANAGED_AGENTS, both)]
        for path in (routes.STORES, routes.SESSIONS)
    }

    assert {routes.STORES: [400, 200, 200, 400], routes.SESSIONS: [400, 400, 200, 400]} == found
