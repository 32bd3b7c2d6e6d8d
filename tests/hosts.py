"""Hosts that share one remote: a real tree and a real state each, driven by hand under a clock that stands still."""

import os
from collections.abc import Callable

from fakes import FakeClock, MemoryRemote

from memfs.api.models import Memory
from memfs.core.attachment import Attachment
from memfs.core.conflicts import ConflictPolicy
from memfs.core.limits import Limits
from memfs.core.names import Names
from memfs.remote.protocol import Remote
from memfs.state.attachments import attach
from memfs.state.layout import Layout
from memfs.state.problems import Conflict
from worker.gate import Gate
from worker.owner import MountOwner
from worker.replica import Replica
from worker.runner import Runner

WAIT_S = 3.0
"""Longer than the delete window, shorter than names are held back."""


class Host:
    """One replica of a store, without processes and without a mount."""

    def __init__(
        self,
        layout: Layout,
        attachment: Attachment,
        remote: Remote,
        clock: FakeClock,
        limits: Limits,
        policy: ConflictPolicy = ConflictPolicy.MERGE,
    ) -> None:
        attach(layout, [attachment])
        self.layout, self.attachment, self.remote, self.clock, self.limits = layout, attachment, remote, clock, limits
        self.policy = policy
        self.store = layout.store(attachment.store_id)
        self.open()

    def open(self, names: Names | None = None) -> None:
        """Start a worker; after `close`, on what the last one left."""
        self.owner = MountOwner(self.layout)
        self.replica = Replica(
            self.attachment, self.store, self.remote, self.owner, self.owner.tell,
            names=names or Names(), limits=self.limits, clock=self.clock, policy=self.policy,
        )  # fmt: skip
        gate = Gate(self.clock.monotonic, lambda: 0.5)
        self.runner = Runner(self.replica, gate, poll_s=2.0, sleep=self.clock.sleep)

    def close(self) -> None:
        self.replica.close()
        self.owner.close()

    def restart(self) -> None:
        self.close()
        self.open()

    async def sync(self, wait_s: float = WAIT_S) -> list[str]:
        """Look at both sides and sync; return what is not the same on both."""
        await self.runner.once(wait_s)
        return self.runner.unsynced()

    # ------------------------------------------------------------------------------------------------- as a program

    def write(self, name: str, content: str | bytes) -> None:
        path = self.store.tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())

    def save_atomically(self, name: str, content: str) -> None:
        temporary = self.store.tree / f".tmp-{os.urandom(3).hex()}"
        temporary.write_text(content)
        temporary.rename(self.store.tree / name)

    def move(self, name: str, target: str) -> None:
        (self.store.tree / target).parent.mkdir(parents=True, exist_ok=True)
        (self.store.tree / name).rename(self.store.tree / target)

    def remove(self, name: str) -> None:
        (self.store.tree / name).unlink()

    # ------------------------------------------------------------------------------------------------ what is where

    def tree(self) -> dict[str, str]:
        """Return every file of the tree with its content; bytes that are no text are shown escaped."""
        files = sorted(one for one in self.store.tree.rglob("*") if one.is_file() and not one.is_symlink())
        return {
            str(one.relative_to(self.store.tree)): one.read_bytes().decode(errors="backslashreplace") for one in files
        }

    def directories(self) -> set[str]:
        return {str(one.relative_to(self.store.tree)) for one in self.store.tree.rglob("*") if one.is_dir()}

    def trash(self) -> list[str]:
        return sorted(one.read_bytes().decode(errors="backslashreplace") for one in self.store.trash.iterdir())

    def problems(self) -> dict[str, str]:
        return {one.path: one.code for one in self.replica.state.problems}

    def conflicts(self) -> list[Conflict]:
        return list(self.replica.state.conflicts)

    def inode(self, name: str) -> int:
        return (self.store.tree / name).stat().st_ino


class Far:
    """The remote as another client sees it."""

    def __init__(self, remote: MemoryRemote, store_id: str) -> None:
        self.remote, self.store_id = remote, store_id

    async def contents(self) -> dict[str, str]:
        """Return every memory's content by its path without the leading slash."""
        return {path.removeprefix("/"): one.content or "" for path, one in (await self.memories()).items()}

    async def memories(self) -> dict[str, Memory]:
        found = {}
        async for one in self.remote.list_memories(self.store_id):
            if isinstance(one, Memory):
                found[one.path] = await self.remote.retrieve_memory(self.store_id, one.id)
        return found

    async def id(self, name: str) -> str:
        return (await self.memories())["/" + name].id

    async def versions(self, name: str) -> int:
        return len([one async for one in self.remote.list_versions(self.store_id, memory_id=await self.id(name))])

    async def write(self, name: str, content: str) -> None:
        memory = (await self.memories()).get("/" + name)
        if memory is None:
            await self.remote.create_memory(self.store_id, "/" + name, content)
        else:
            await self.remote.update_memory(self.store_id, memory.id, content=content)

    async def remove(self, name: str) -> None:
        await self.remote.delete_memory(self.store_id, await self.id(name))

    async def move(self, name: str, target: str) -> None:
        await self.remote.update_memory(self.store_id, await self.id(name), path="/" + target)


MakeHost = Callable[..., Host]
