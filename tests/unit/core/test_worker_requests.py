"""Requests to the worker and its replies survive the wire; anything else is refused, never half understood."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfs.core.errors import InvalidRequest, MemfsError, NotFound, StoreReadOnly
from memfs.core.worker_requests import (
    Drain,
    EmptyTrash,
    Reply,
    Resolve,
    RestoreTrash,
    Resume,
    Take,
    WorkerRequest,
    decode_reply,
    decode_request,
    encode_reply,
    encode_request,
    refused,
)

texts = st.text(max_size=20)
seconds = st.floats(min_value=0, max_value=1e9)
requests = st.one_of(
    st.builds(Resolve, store_id=texts, path=texts, take=st.sampled_from(Take), content=texts),
    st.builds(Resume, store_id=texts, accept=st.booleans()),
    st.builds(RestoreTrash, store_id=texts, name=texts, path=texts),
    st.builds(EmptyTrash, store_id=texts, older_than_s=seconds),
    st.builds(Drain, timeout_s=seconds),
)


@given(requests)
def test_a_request_survives_the_wire_as_one_line(request: WorkerRequest) -> None:
    line = encode_request(request)

    assert b"\n" not in line[:-1]
    assert request == decode_request(line)


@pytest.mark.parametrize(
    "line",
    [
        b"", b"null", b"[]", b"{}", b"{", b'{"op": "shutdown"}', b'{"op": "drain"}',
        b'{"op": "drain", "timeout_s": -1}', b'{"op": "drain", "timeout_s": "1"}',
        b'{"op": "drain", "timeout_s": NaN}', b'{"op": "drain", "timeout_s": true}',
        b'{"op": "resume", "store_id": "s", "accept": 1}', b'{"op": "resume", "store_id": 1, "accept": true}',
        b'{"op": "resolve", "store_id": "s", "path": "/a", "take": "all"}',
        b'{"op": "resolve", "store_id": "s", "path": "\\ud800", "take": "local"}',
        b'{"op": "drain", "timeout_s": 1, "more": 2}', b"[" * 100_000, b"\xff",
    ],
)  # fmt: skip
def test_what_is_no_request_is_refused(line: bytes) -> None:
    with pytest.raises(InvalidRequest):
        decode_request(line)


def test_facts_survive_the_wire() -> None:
    assert {"unsynced": ["notes/a.md"]} == decode_reply(encode_reply(Reply(facts={"unsynced": ["notes/a.md"]})))


@pytest.mark.parametrize(
    "error", [NotFound("no conflict"), StoreReadOnly("read-only", remedy="Attach it read_write"), MemfsError("a bug")]
)
def test_an_error_of_the_worker_is_raised_where_it_was_asked(error: MemfsError) -> None:
    with pytest.raises(type(error)) as raised:
        decode_reply(encode_reply(refused(error)))

    assert type(error) is type(raised.value)
    assert (str(error), error.exit_code) == (str(raised.value), raised.value.exit_code)


def test_an_error_of_a_newer_worker_is_an_error_here_too() -> None:
    with pytest.raises(MemfsError, match="something new"):
        decode_reply(json.dumps({"code": "from_the_future", "message": "something new"}).encode())


@pytest.mark.parametrize("line", [b"", b"[]", b'{"facts": []}', b'{"outcome": "applied"}'])
def test_what_is_no_reply_is_refused(line: bytes) -> None:
    with pytest.raises(InvalidRequest):
        decode_reply(line)
