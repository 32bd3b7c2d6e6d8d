"""A real store server on a loopback port, one for the whole run, and clients of it.

`server_url` and `api_key` are all that a client needs. Every test makes stores of its own, so tests do not meet.
"""

from collections.abc import Iterator

import httpx
import pytest
from postgres import Cluster
from wire import connected, serving

from memfs.core.limits import Limits
from memfs.server.serve import StoreServer


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def engine(request: pytest.FixtureRequest) -> str:
    """The database below: the whole suite runs on both."""
    name: str = request.param
    return name


@pytest.fixture
def new_database(request: pytest.FixtureRequest, engine: str) -> str | None:
    """An empty database for a server of the test's own, as its options name it."""
    url: str | None = request.getfixturevalue("postgres").new_database() if engine == "postgresql" else None
    return url


@pytest.fixture(scope="session")
def sqlite_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StoreServer]:
    with serving(tmp_path_factory.mktemp("contract-server") / "data") as running:
        yield running


@pytest.fixture(scope="session")
def postgresql_server(tmp_path_factory: pytest.TempPathFactory, postgres: Cluster) -> Iterator[StoreServer]:
    data = tmp_path_factory.mktemp("contract-server") / "data"
    with serving(data, database=postgres.new_database()) as running:
        yield running


@pytest.fixture(scope="session")
def server(request: pytest.FixtureRequest, engine: str) -> StoreServer:
    running: StoreServer = request.getfixturevalue(f"{engine}_server")
    return running


@pytest.fixture(scope="session")
def server_url(server: StoreServer) -> str:
    return server.url


@pytest.fixture(scope="session")
def api_key(server: StoreServer) -> str:
    return server.api_key


@pytest.fixture(scope="session")
def raw(server: StoreServer) -> Iterator[httpx.Client]:
    """Plain HTTP: what the SDK hides or refuses to send."""
    with connected(server) as client:
        yield client


@pytest.fixture(scope="session")
def small_raw(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest, engine: str
) -> Iterator[httpx.Client]:
    """A server that is strict about the beta header and whose stores hold three memories."""
    data = tmp_path_factory.mktemp("small-server") / "data"
    database = request.getfixturevalue("postgres").new_database() if engine == "postgresql" else None
    options = {"limits": Limits(memories=3), "strict_beta": True, "database": database}
    with serving(data, **options) as running, connected(running) as client:
        yield client


@pytest.fixture
def base(raw: httpx.Client) -> str:
    """The path of a new store."""
    answer = raw.post("/v1/memory_stores", json={"name": "Notes"})
    return f"/v1/memory_stores/{answer.json()['id']}"


@pytest.fixture
def memories(base: str) -> str:
    """The path of a new store's memories."""
    return f"{base}/memories"
