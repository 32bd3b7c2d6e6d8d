"""Requests to a tree's owner and its answers survive the wire; anything else is refused, never half understood."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memfs.core.errors import InvalidRequest
from memfs.core.tree_requests import (
    Answer,
    Changed,
    Identity,
    Move,
    Outcome,
    Ping,
    Refresh,
    Reload,
    Remove,
    Replace,
    Request,
    decode_answer,
    decode_request,
    encode_answer,
    encode_request,
)

numbers = st.integers(min_value=0, max_value=2**63)
texts = st.text(max_size=20)
paths = st.lists(texts, max_size=3).map(tuple)
identities = st.builds(Identity, numbers, numbers, numbers, numbers)
requests = st.one_of(
    st.builds(Replace, store_id=texts, path=texts, staged=texts, expect=st.none() | identities, force=st.booleans()),
    st.builds(Remove, store_id=texts, path=texts, expect=identities, trash=texts, prune=paths, force=st.booleans()),
    st.builds(Move, store_id=texts, path=texts, target=texts, expect=identities, prune=paths),
    st.builds(Changed, store_id=texts, paths=paths),
    st.just(Reload()),
    st.just(Refresh()),
    st.just(Ping()),
)
answers = st.builds(
    Answer,
    outcome=st.sampled_from(Outcome),
    identity=st.none() | identities,
    made=paths,
    appended_bytes=numbers,
    error=texts,
    errno=numbers,
    facts=st.dictionaries(texts, numbers | texts | st.lists(texts, max_size=2), max_size=3),
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | texts, lambda inner: st.lists(inner) | st.dictionaries(texts, inner)
)
REPLACE = {"op": "replace", "store_id": "s", "path": "/a", "staged": "f", "expect": [1, 2, 3, 4], "force": False}


@given(requests)
def test_a_request_survives_the_wire_as_one_line(request_: Request) -> None:
    line = encode_request(request_)

    assert request_ == decode_request(line)
    assert [line] == line.splitlines(keepends=True)


@given(answers)
def test_an_answer_survives_the_wire_as_one_line(answer: Answer) -> None:
    line = encode_answer(answer)

    assert answer == decode_answer(line)
    assert [line] == line.splitlines(keepends=True)


@example(b"{}")
@given(st.binary(max_size=60) | values.map(lambda value: json.dumps(value).encode()))
def test_garbage_is_refused(line: bytes) -> None:
    with pytest.raises(InvalidRequest):
        decode_request(line)
    with pytest.raises(InvalidRequest):
        decode_answer(line)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"op": "replace"}',
        b'{"op": "explode"}',
        b'{"op": ["ping"]}',
        b'{"op": "ping"',
        b'{"op": "ping"} {"op": "ping"}',
    ],
    ids=range(8),
)
def test_a_line_that_is_no_request_is_refused(line: bytes) -> None:
    with pytest.raises(InvalidRequest, match="the mount was asked something it does not know"):
        decode_request(line)


@pytest.mark.parametrize(
    "change",
    [
        {"op": "remove"},
        {"unknown": 1},
        {"path": 7},
        {"path": None},
        {"staged": ["f"]},
        {"staged": "\ud800"},
        {"expect": [1, 2, 3]},
        {"expect": [1, 2, 3, "4"]},
        {"expect": "1234"},
        {"expect": 0},
        {"force": "no"},
        {"op": "move", "target": "/b", "staged": "f"},
    ],
    ids=str,
)
def test_a_field_that_is_missing_unknown_or_of_another_kind_is_refused(change: dict[str, Any]) -> None:
    assert isinstance(decode_request(json.dumps(REPLACE).encode()), Replace)
    with pytest.raises(InvalidRequest):
        decode_request(json.dumps(REPLACE | change).encode())


@pytest.mark.parametrize("prune", ["/a", [1], None, {}], ids=str)
def test_a_list_of_paths_is_a_list_of_texts(prune: object) -> None:
    request_ = {"op": "remove", "store_id": "s", "path": "/a", "expect": [1, 2, 3, 4], "trash": "t", "prune": prune}

    with pytest.raises(InvalidRequest):
        decode_request(json.dumps(request_).encode())


@pytest.mark.parametrize("kind", ["remove", "move"])
def test_only_a_replacement_may_expect_nothing(kind: str) -> None:
    request_ = {"op": kind, "store_id": "s", "path": "/a", "expect": None}
    request_ |= {"trash": "t"} if kind == "remove" else {"target": "/b"}

    with pytest.raises(InvalidRequest):
        decode_request(json.dumps(request_).encode())


@pytest.mark.parametrize("change", [{"outcome": "maybe"}, {"identity": [1]}, {"errno": "5"}, {"facts": []}], ids=str)
def test_an_answer_of_another_shape_is_refused(change: dict[str, Any]) -> None:
    fields = json.loads(encode_answer(Answer()))

    with pytest.raises(InvalidRequest, match="the mount answered something unknown"):
        decode_answer(json.dumps(fields | change).encode())
