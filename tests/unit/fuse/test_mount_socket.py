"""``mount.sock``: one answer a line, only for trusted peers, and a file left behind is replaced."""

import errno
import socket
import stat
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from memfs.core.errors import StoreReadOnly
from memfs.core.tree_requests import (
    Answer,
    Changed,
    Outcome,
    Ping,
    Request,
    decode_answer,
    encode_request,
)
from memfs.fuse import mount_socket
from memfs.fuse.mount_socket import MountSocket

Serve = Callable[[Callable[[Request], Answer]], None]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "mount.sock"


@pytest.fixture
def serve(path: Path) -> Iterator[Serve]:
    sockets: list[MountSocket] = []

    def start(apply: Callable[[Request], Answer]) -> None:
        sockets.append(MountSocket(path, apply))
        sockets[-1].start()

    yield start
    for one in sockets:
        one.close()


def connected(path: Path) -> socket.socket:
    caller = socket.socket(socket.AF_UNIX)
    caller.settimeout(10)
    caller.connect(str(path))
    return caller


def asked(path: Path, lines: bytes, count: int = 1) -> list[Answer]:
    with closing(connected(path)) as caller, caller.makefile("rb") as reader:
        caller.sendall(lines)
        return [decode_answer(reader.readline()) for _ in range(count)]


def test_a_request_is_answered_in_a_line(serve: Serve, path: Path) -> None:
    serve(lambda request: Answer(outcome=Outcome.BUSY, facts={"paths": list(request.paths)}))

    answers = asked(path, encode_request(Changed(store_id="memstore_1", paths=("/a",))))

    assert [Answer(outcome=Outcome.BUSY, facts={"paths": ["/a"]})] == answers


def test_requests_in_one_packet_are_answered_in_order(serve: Serve, path: Path) -> None:
    seen: list[Request] = []

    def apply(request: Request) -> Answer:
        seen.append(request)
        return Answer(appended_bytes=len(seen))

    serve(apply)

    answers = asked(path, encode_request(Ping()) + encode_request(Changed(store_id="s")) + encode_request(Ping()), 3)

    assert [1, 2, 3] == [answer.appended_bytes for answer in answers]
    assert [Ping(), Changed(store_id="s"), Ping()] == seen


def test_a_request_in_pieces_is_answered_once_it_is_whole(serve: Serve, path: Path) -> None:
    serve(lambda _request: Answer())
    line = encode_request(Ping())

    with closing(connected(path)) as caller, caller.makefile("rb") as reader:
        caller.sendall(line[:4])
        assert [Answer()] == asked(path, line)
        caller.sendall(line[4:])

        assert Answer() == decode_answer(reader.readline())


def test_a_failure_is_an_answer_with_its_errno(serve: Serve, path: Path) -> None:
    def refuse(_request: Request) -> Answer:
        raise StoreReadOnly("the store notes is read_only")

    serve(refuse)

    assert [(errno.EROFS, "the store notes is read_only")] == [
        (answer.errno, answer.error)
        for answer in asked(path, encode_request(Ping()))
        if answer.outcome is Outcome.CHANGED
    ]


def test_nonsense_is_an_answer_too_and_the_connection_goes_on(serve: Serve, path: Path) -> None:
    serve(lambda _request: Answer())

    first, second = asked(path, b"{}\n" + encode_request(Ping()), 2)

    assert errno.EINVAL == first.errno
    assert Answer() == second


@pytest.mark.expect_log("a request on the mount's socket failed")
def test_a_bug_is_an_answer_and_the_socket_serves_on(serve: Serve, path: Path) -> None:
    def fail(_request: Request) -> Answer:
        raise ValueError

    serve(fail)

    assert [errno.EIO, errno.EIO] == [answer.errno for answer in asked(path, encode_request(Ping()) * 2, 2)]


def test_only_the_mounting_user_may_open_the_file(serve: Serve, path: Path) -> None:
    serve(lambda _request: Answer())

    assert 0o600 == stat.S_IMODE(path.stat().st_mode)


def test_another_users_process_is_not_answered(serve: Serve, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mount_socket, "_is_trusted", lambda _connection: False)
    serve(lambda _request: Answer())

    with closing(connected(path)) as caller:
        assert b"" == caller.recv(1)


def test_the_peer_of_a_connection_is_known_by_its_uid() -> None:
    ours, theirs = socket.socketpair()

    with closing(ours), closing(theirs):
        assert mount_socket._is_trusted(ours)


def test_a_file_left_by_a_killed_mount_is_replaced(serve: Serve, path: Path) -> None:
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(path))
    left.close()

    serve(lambda _request: Answer())

    assert [Answer()] == asked(path, encode_request(Ping()))


def test_a_state_directory_may_lie_deeper_than_an_address_is_long(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["directory-with-a-long-name"] * 6)
    deep.mkdir(parents=True)
    server = MountSocket(deep / "mount.sock", lambda _request: Answer())

    assert (deep / "mount.sock").is_socket()

    server.close()

    assert not (deep / "mount.sock").exists()


def test_an_endless_line_ends_the_connection(serve: Serve, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mount_socket, "_LINE_BYTES", 100)
    serve(lambda _request: Answer())

    with closing(connected(path)) as caller:
        caller.sendall(b"x" * 101)
        assert b"" == caller.recv(1)


def test_callers_that_stay_and_say_half_a_line_keep_nobody_out(serve: Serve, path: Path) -> None:
    serve(lambda _: Answer())
    idle = [connected(path) for _ in range(100)]
    for one in idle:
        with suppress(BrokenPipeError):
            one.sendall(b'{"op"')

    assert [Answer()] == asked(path, encode_request(Ping()))

    for one in idle:
        one.close()
