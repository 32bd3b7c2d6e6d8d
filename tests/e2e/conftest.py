"""What the end-to-end tests share: one real server process, and the command line told where it is."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import Memfs, RunningServer, serving


@pytest.fixture(scope="session")
def store_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with serving(tmp_path_factory.mktemp("store-server") / "data") as server:
        yield server


@pytest.fixture
def memfs(store_server: RunningServer, tmp_path: Path) -> Memfs:
    return Memfs.at_home(tmp_path, MEMFS_BASE_URL=store_server.url, MEMFS_API_KEY=store_server.key)
