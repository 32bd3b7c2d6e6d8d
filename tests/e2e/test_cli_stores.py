"""`memfs stores` against a real server, in processes of its own."""

import json
import os
import pty
import subprocess
from pathlib import Path
from typing import Any

import pytest
from commands import MEMFS, RUN_TIMEOUT_S, Memfs, RunningServer


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """A store's name that no other test of the session uses."""
    return f"store of {request.node.name}"


def created(memfs: Memfs, name: str, *words: str) -> dict[str, Any]:
    printed = memfs.run("stores", "create", name, "--json", *words)
    assert (0, "") == (printed.code, printed.err)
    return dict(json.loads(printed.out))


def test_a_created_store_is_listed_and_shown_by_name_and_by_id(memfs: Memfs, name: str) -> None:
    made = created(memfs, name, "--description", "what we learn", "--metadata", "team=a=b", "--metadata", "tier=")

    assert (name, "what we learn", {"team": "a=b", "tier": ""}) == (
        made["name"], made["description"], made["metadata"],
    )  # fmt: skip
    assert made in json.loads(memfs.run("stores", "list", "--json").out)
    assert made == json.loads(memfs.run("stores", "show", name, "--json").out)
    assert made == json.loads(memfs.run("stores", "show", made["id"], "--json").out)


def test_a_table_in_a_pipe_has_one_whole_line_per_store_and_no_control_characters(memfs: Memfs, name: str) -> None:
    long = "word " * 60 + "\x1b[31m[bold]é"
    made = created(memfs, name, "--description", long)

    (line,) = [line for line in memfs.run("stores", "list").out.splitlines() if made["id"] in line]

    assert name in line
    assert "word word" in line
    assert "\\x1b[31m[bold]é" in line


def test_an_archived_store_is_listed_only_when_asked_for(memfs: Memfs, name: str) -> None:
    made = created(memfs, name)

    archived = json.loads(memfs.run("stores", "archive", name, "--json").out)

    assert archived["archived_at"] is not None
    assert made["id"] not in memfs.run("stores", "list").out
    assert made["id"] in memfs.run("stores", "list", "--include-archived").out


def test_without_a_terminal_a_deletion_needs_yes(memfs: Memfs, name: str) -> None:
    made = created(memfs, name)

    refused = memfs.run("stores", "delete", name)
    assert (2, "") == (refused.code, refused.out)
    assert "Add --yes" in refused.err
    done = memfs.run("stores", "delete", name, "--yes", "--json")

    assert {"id": made["id"], "type": "memory_store_deleted"} == json.loads(done.out)
    assert 4 == memfs.run("stores", "show", made["id"]).code


@pytest.mark.parametrize(("answer", "code", "remains"), [("n", 1, 0), ("y", 0, 4)], ids=["no", "yes"])
def test_on_a_terminal_a_deletion_asks(memfs: Memfs, name: str, answer: str, code: int, remains: int) -> None:
    created(memfs, name)
    ours, theirs = pty.openpty()
    try:
        os.write(ours, f"{answer}\n".encode())
        words = [MEMFS, "stores", "delete", name]
        done = subprocess.run(
            words, stdin=theirs, capture_output=True, env=memfs.environ, timeout=RUN_TIMEOUT_S, check=False
        )
    finally:
        os.close(ours)
        os.close(theirs)

    assert code == done.returncode
    assert remains == memfs.run("stores", "show", name).code


def test_an_unknown_store_is_one_line_with_what_to_do(memfs: Memfs) -> None:
    printed = memfs.run("stores", "show", "nowhere")

    assert (4, "") == (printed.code, printed.out)
    assert (
        "memfs: there is no store 'nowhere'. See `memfs stores list`, or make it with `memfs stores create NAME`\n"
        == printed.err
    )


def test_a_name_of_two_stores_is_refused_with_their_ids(memfs: Memfs, name: str) -> None:
    ids = {created(memfs, name)["id"] for _ in range(2)}

    printed = memfs.run("stores", "delete", name, "--yes")

    assert 2 == printed.code
    assert all(one in printed.err for one in ids)


@pytest.mark.parametrize("pair", ["novalue", "=x"])
def test_metadata_that_is_no_pair_is_a_usage_error(memfs: Memfs, name: str, pair: str) -> None:
    assert 2 == memfs.run("stores", "create", name, "--metadata", pair).code


def test_a_wrong_key_is_told_without_showing_any_key(memfs: Memfs, store_server: RunningServer) -> None:
    printed = memfs.run("stores", "list", MEMFS_API_KEY="sk-wrong")

    assert (5, "") == (printed.code, printed.out)
    assert 1 == printed.err.count("\n")
    assert f"{store_server.url} refuses the API key" in printed.err
    assert "sk-wrong" not in printed.err


def test_a_server_that_is_down_is_told_with_its_url(memfs: Memfs) -> None:
    printed = memfs.run("stores", "list", "--base-url", "http://127.0.0.1:1")

    assert (7, "") == (printed.code, printed.out)
    assert printed.err.startswith("memfs: http://127.0.0.1:1 cannot be reached")
    assert 1 == printed.err.count("\n")


def test_url_and_key_file_may_be_flags(store_server: RunningServer, tmp_path: Path) -> None:
    memfs = Memfs.at_home(tmp_path)
    where = ["--base-url", store_server.url, "--api-key-file", store_server.key_file]

    assert 0 == memfs.run("stores", "list", *where).code
    assert 3 == memfs.run("stores", "list", "--base-url", store_server.url).code
