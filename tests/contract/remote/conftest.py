"""The remotes that the contract suite runs on: the double in memory, the real one over HTTP, the retrying wrapper."""

from collections.abc import AsyncIterator

import pytest
from fakes import MemoryRemote

from memfs.remote.http import HttpRemote
from memfs.remote.protocol import Remote
from memfs.remote.retrying import Retrying


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=["memory", "http", "retrying"])
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
            return HttpRemote(request.getfixturevalue("server_url"), request.getfixturevalue("api_key"))
        case "retrying":
            return Retrying(MemoryRemote())
        case _:
            return MemoryRemote()
