"""A far side of the HTTP remote that answers what a test tells it, and keeps what it was asked."""

import json
from typing import Any

import httpx

from memfs.core.digest import content_sha256
from memfs.remote.http import HttpRemote

KEY = "sk-secret-key"
SHA = content_sha256(b"x")
NOW = "2026-11-30T12:00:00.000000Z"
STORE = {"type": "memory_store", "id": "memstore_1", "name": "notes", "created_at": NOW, "updated_at": NOW}
MEMORY = {
    "type": "memory", "id": "mem_1", "memory_store_id": "memstore_1", "memory_version_id": "memver_1", "path": "/a.md",
    "content": "x", "content_sha256": SHA, "content_size_bytes": 1, "created_at": NOW, "updated_at": NOW,
}  # fmt: skip


class Far:
    """The far side: it keeps what was asked and answers what it is told."""

    def __init__(self, *answers: httpx.Response | Exception) -> None:
        self.asked: list[httpx.Request] = []
        self._answers = list(answers)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def remote(self, base_url: str = "https://far.example") -> HttpRemote:
        return HttpRemote(base_url, KEY, transport=httpx.MockTransport(self))

    @property
    def sent(self) -> tuple[str, str, Any]:
        """The method, the URL as it went out, and the body of the last request."""
        last = self.asked[-1]
        return last.method, str(last.url), json.loads(last.content) if last.content else None


def ok(value: object) -> httpx.Response:
    return httpx.Response(200, json=value)


def refusal(status: int, kind: str, **extra: object) -> httpx.Response:
    return httpx.Response(status, json={"type": "error", "error": {"type": kind, "message": "no", **extra}})
