"""Each test of this folder runs in this process and through a real mount, each in both ways of opening."""

import itertools
import os
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from fs.files import Files
from fs.worlds import InProcess, ThroughMount, World

MEMORY = Path("/dev/shm")
_number = itertools.count(1)
KINDS: dict[str, Callable[[Path], World]] = {
    "inprocess": InProcess,
    "inprocess-asking": partial(InProcess, asks_to_open=True),
    "mount": ThroughMount,
    "mount-asking": partial(ThroughMount, open_upcalls="always"),
}


@pytest.fixture(scope="session", params=KINDS)
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """The stores of `worlds.STORES`; all tests share it and keep to directories of their own."""
    made = KINDS[request.param](tmp_path_factory.mktemp(request.param))
    yield made
    made.close()


@pytest.fixture
def quick(tmp_path: Path) -> Iterator[Path]:
    """A directory in memory, where the machine has such: what is shown there needs thousands of fsyncs."""
    if not os.access(MEMORY, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=MEMORY) as made:
        yield Path(made)


@pytest.fixture
def world(served: World) -> Iterator[World]:
    """The shared world, with somebody who ends it should it hang."""
    with served.watched():
        yield served


@pytest.fixture
def files(world: World) -> Files:
    return world.files


@pytest.fixture
def home(files: Files) -> str:
    """A new directory in the store ``notes``."""
    path = f"notes/home{next(_number)}"
    files.mkdir(path)
    return path
