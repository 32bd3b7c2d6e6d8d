"""Call the C table of a mount's callbacks as libfuse does, with nobody behind the answers but a list."""

import ctypes
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from memfs.fuse import structures as lib
from memfs.fuse.operations import Operations

SENDERS = ("err", "none", "entry", "create", "attr", "open", "write", "buf", "statfs")
INTERRUPTED = -2


class Kernel:
    """Notes each answer, and which nodes it was told of; with ``is_gone`` it no longer waits for answers."""

    def __init__(self, operations: Operations, patch: pytest.MonkeyPatch) -> None:
        self._table = operations.table()
        self._request = 0
        self.answers: list[tuple[int, str, Any]] = []
        self.lookups: Counter[int] = Counter()
        self.errnos: Counter[int] = Counter()
        self.answered: Counter[str] = Counter()
        self.is_gone = False
        for name in SENDERS:
            patch.setattr(lib, f"reply_{name}", self._sender(name))
        connection = lib.Connection(proto_major=7, proto_minor=45)
        self._table.init(None, ctypes.pointer(connection))

    def call(self, name: str, *arguments: Any) -> Any:
        """Make one request; return what it was answered with, exactly once."""
        self._request += 1
        self.answers.clear()
        getattr(self._table, name)(self._request, *arguments)
        assert [self._request] == [request for request, _, _ in self.answers], (name, self.answers)
        _, kind, value = self.answers[0]
        if kind == "err":
            self.errnos[value] += 1
        else:
            self.answered[name] += 1
        return value

    def forget_all(self) -> None:
        for node, count in list(self.lookups.items()):
            self.forget(node, count)

    def forget(self, node: int, count: int) -> None:
        self.lookups -= Counter({node: count})
        self.call("forget", node, count)

    def forget_some(self, counts: dict[int, int]) -> None:
        self.lookups -= Counter(counts)
        items = (lib.Forgotten * max(1, len(counts)))()
        for item, (node, count) in zip(items, counts.items(), strict=False):
            item.nodeid, item.nlookup = node, count
        self.call("forget_multi", len(counts), items)

    def _sender(self, kind: str) -> Callable[..., int]:
        def send(request: int, *values: Any) -> int:
            self.answers.append((request, kind, values[0] if values else None))
            if self.is_gone:
                return INTERRUPTED
            if kind in {"entry", "create"}:
                node = lib.Entry.from_address(values[0]).ino
                self.lookups += Counter({node: 1}) if node else Counter()
            return 0

        return send
