"""Two stores on one server, each behind a real mount, one in each way of opening; the programs' tests share them."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from commands import RunningServer, serving
from synced import Synced, synced


@pytest.fixture(scope="session")
def store_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with serving(tmp_path_factory.mktemp("server") / "data") as server:
        yield server


@pytest.fixture(scope="session")
def both(store_server: RunningServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Synced]]:
    with ExitStack() as stack:
        yield {
            mode: stack.enter_context(synced(store_server, tmp_path_factory.mktemp(mode), f"Opened {mode}", mode))
            for mode in ("auto", "always")
        }


@pytest.fixture(scope="session", params=["auto", "always"])
def store(request: pytest.FixtureRequest, both: dict[str, Synced]) -> Synced:
    """A store that no test may leave with anything unsynced; each keeps to a directory of its own."""
    return both[request.param]


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A directory on the local disk."""
    return tmp_path
