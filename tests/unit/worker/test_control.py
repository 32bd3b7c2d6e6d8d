"""The worker's socket: private, one line each way, errors as replies, and nobody else is answered."""

import asyncio
import json
import socket
import stat
from contextlib import suppress
from pathlib import Path

import pytest

from memfs.core.errors import NotFound
from memfs.core.worker_requests import Drain, Reply, Resume, decode_reply, encode_request
from memfs.health import short_address
from worker import control_socket
from worker.control import Control
from worker.control_socket import serving_control

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A socket whose name is longer than an address may be."""
    directory = tmp_path / ("long" * 30)
    directory.mkdir()
    return directory / "worker.sock"


def ask(path: Path, *lines: bytes) -> list[bytes]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asker:
        asker.settimeout(10)
        with short_address(path) as address:
            asker.connect(address)
        with asker.makefile("rb") as received:
            answers = []
            for line in lines:
                with suppress(BrokenPipeError, ConnectionResetError):
                    asker.sendall(line)
                    answers.append(received.readline())
            return [one for one in answers if one]


def mode(path: Path) -> int | None:
    return stat.S_IMODE(path.stat().st_mode) if path.exists() else None


def left_behind(path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener, short_address(path) as address:
        listener.bind(address)


async def nothing(_: float) -> None:
    return


async def test_each_line_is_answered_by_a_line(path: Path) -> None:
    async def answer(line: bytes) -> Reply:
        return Reply(facts={"said": line.decode()})

    async with serving_control(path, answer):
        assert 0o600 == mode(path)
        answers = await asyncio.to_thread(ask, path, b"one\n", b"two\n")

    assert [{"said": "one\n"}, {"said": "two\n"}] == [decode_reply(one) for one in answers]
    assert mode(path) is None


async def test_what_a_killed_worker_left_is_replaced(path: Path) -> None:
    left_behind(path)

    async with serving_control(path, Control(dict, nothing).answer):
        (answer,) = await asyncio.to_thread(ask, path, encode_request(Drain(timeout_s=1)))

    assert {"unsynced": []} == decode_reply(answer)


async def test_another_user_is_not_answered(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_socket, "_is_trusted", lambda _: False)

    async with serving_control(path, Control(dict, nothing).answer):
        assert [] == await asyncio.to_thread(ask, path, encode_request(Drain(timeout_s=1)))


async def test_a_line_without_end_is_not_kept(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_socket, "_LINE_BYTES", 100)

    async with serving_control(path, Control(dict, nothing).answer):
        assert [] == await asyncio.to_thread(ask, path, b"x" * 1_000 + b"\n")


async def test_an_error_is_a_reply_and_the_next_request_is_answered(path: Path) -> None:
    control = Control(dict, nothing)
    async with serving_control(path, control.answer):
        answers = await asyncio.to_thread(
            ask,
            path,
            b"nonsense\n",
            encode_request(Resume(store_id="s", accept=True)),
            encode_request(Drain(timeout_s=1)),
        )

    assert ["invalid_request", "not_found", ""] == [json.loads(one)["code"] for one in answers]
    with pytest.raises(NotFound, match="no store s attached"):
        decode_reply(answers[1])
