"""A store as programs, the worker and the server see it: real processes, a real mount, and what became of a save.

All calls come from the test's thread. The server's answers are read over HTTP, the worker's from its state.
"""

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from commands import Memfs, RunningServer
from running_up import Up, eventually, running_up

from memfs.api.models import Memory, View
from memfs.remote.http import HttpRemote
from memfs.state.layout import Layout
from memfs.state.summary import StoreSummary, summaries

BARRIER = "settled.md"
Item = TypeVar("Item")


@dataclass(kw_only=True)
class Synced:
    """One mounted store, ``root``, whose worker keeps it in sync with a server."""

    up: Up
    server: RunningServer
    root: Path
    _turns: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def settle(self) -> None:
        """Return once the worker has pushed whatever was done in the store before, and owes nothing."""
        turn = f"{next(self._turns)}\n"
        (self.root / BARRIER).write_text(turn)
        eventually(lambda: self.contents().get(BARRIER) == turn)
        eventually(lambda: not self.summary().pending_paths)
        assert () == self.summary().problems

    def summary(self) -> StoreSummary:
        """Return what the worker says of the store."""
        (only,) = summaries(Layout(self.up.state))
        return only

    def memories(self, below: str = "") -> dict[str, Memory]:
        """Return the server's memories below a directory, by their paths relative to it."""

        async def read(remote: HttpRemote) -> AsyncIterator[Memory]:
            store_id, prefix = self.summary().attachment.store_id, f"/{below}/" if below else ""
            async for one in remote.list_memories(store_id, path_prefix=prefix, view=View.FULL):
                assert isinstance(one, Memory)
                yield one

        return {one.path.removeprefix(f"/{below}").removeprefix("/"): one for one in self._ask(read)}

    def contents(self, below: str = "") -> dict[str, str]:
        """Return the contents of the server's memories below a directory."""
        return {path: one.content or "" for path, one in self.memories(below).items()}

    def history(self, below: str) -> list[tuple[str, str]]:
        """Return every version that was ever made below a directory, oldest first: operation and relative path."""

        async def read(remote: HttpRemote) -> AsyncIterator[tuple[str, str]]:
            async for one in remote.list_versions(self.summary().attachment.store_id):
                if (one.path or "").startswith(f"/{below}/"):
                    yield str(one.operation), (one.path or "").removeprefix(f"/{below}/")

        return self._ask(read)[::-1]

    def _ask(self, read: Callable[[HttpRemote], AsyncIterator[Item]]) -> list[Item]:
        async def collect() -> list[Item]:
            remote = HttpRemote(self.server.url, self.server.key)
            try:
                return [one async for one in read(remote)]
            finally:
                await remote.aclose()

        return asyncio.run(collect())


@contextmanager
def synced(server: RunningServer, home: Path, name: str, open_upcalls: str) -> Iterator[Synced]:
    """Run `memfs up` on a new store of ``server`` until the block ends; then it must have pushed everything."""
    memfs = Memfs.at_home(home, MEMFS_BASE_URL=server.url, MEMFS_API_KEY=server.key)
    assert memfs.run("stores", "create", name).code == 0
    settings = home / "memfs.toml"
    settings.write_text(f'[mount]\nopen_upcalls = "{open_upcalls}"\n')
    with running_up(memfs, home, "--store", name, "-c", settings) as up:
        eventually(lambda: directories(up) != [])
        (root,) = directories(up)
        yield Synced(up=up, server=server, root=root)
        code = up.stop()
    assert code == 0, up.told()
    assert "everything is synced" in up.told(), up.told()
    for word in ("Traceback", "ERROR"):
        assert word not in up.told(), up.told()


def directories(up: Up) -> list[Path]:
    return [one for one in up.mount.iterdir() if not one.name.startswith(".")]
