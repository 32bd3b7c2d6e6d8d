"""The remotes that the contract suite runs on: the double in memory, the real one over HTTP, the retrying wrapper."""

from collections.abc import AsyncIterator

import pytest
from fakes import MemoryRemote

from memfs.remote.http import HttpRemote
from memfs.remote.protocol import Remote
from memfs.remote.retrying import Retrying
from memfs.server.serve import StoreServer


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=["memory", "http", "http-postgresql", "retrying"])
async def remote(request: pytest.FixtureRequest) -> AsyncIterator[Remote]:
    made = _make(request)
    yield made
    await made.aclose()


@pytest.fixture
async def store_id(remote: Remote) -> str:
    return (await remote.create_store("contract")).id


def _make(request: pytest.FixtureRequest) -> Remote:
    match request.param:
        case "http":
            return _over_http(request.getfixturevalue("sqlite_server"))
        case "http-postgresql":
            return _over_http(request.getfixturevalue("postgresql_server"))
        case "retrying":
            return Retrying(MemoryRemote())
        case _:
            return MemoryRemote()


def _over_http(server: StoreServer) -> HttpRemote:
    return HttpRemote(server.url, server.api_key)
