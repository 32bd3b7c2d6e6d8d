"""`memfs versions` against a real server, in processes of its own; what a terminal is shown, on a pseudo-terminal."""

import json
import os
import pty
import re
import subprocess
from collections.abc import Mapping
from typing import Any

import pytest
from commands import MEMFS, RUN_TIMEOUT_S, Memfs, RunningServer

GREEN, RED, CYAN = "\x1b[32m", "\x1b[31m", "\x1b[36m"


@pytest.fixture
def store(memfs: Memfs, request: pytest.FixtureRequest) -> str:
    """A store of this test, by name."""
    name = f"versions of {request.node.name}"
    assert 0 == memfs.run("stores", "create", name).code
    return name


def put(memfs: Memfs, store: str, path: str, text: bytes) -> str:
    """Write a memory and return the id of its new version."""
    made = memfs.run("memories", "put", store, path, "--json", stdin=text)
    assert 0 == made.code, made.err
    return str(json.loads(made.out)["memory_version_id"])


def history(memfs: Memfs, store: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(memfs.run("versions", "list", store, "--json").out)
    return found


def without_dates(diff: str) -> list[str]:
    return [re.sub(r"\t.*", "", line) if line.startswith(("--- ", "+++ ")) else line for line in diff.split("\n")]


def on_terminal(environ: Mapping[str, str], *words: str, typed: bytes = b"") -> tuple[int, str]:
    """Run the command on a terminal of its own; return its exit code and all that the terminal was shown."""
    ours, theirs = pty.openpty()
    plain = {name: value for name, value in environ.items() if name not in {"NO_COLOR", "FORCE_COLOR", "COLUMNS"}}
    process = subprocess.Popen(
        [MEMFS, *words], stdin=theirs, stdout=theirs, stderr=theirs, env={**plain, "TERM": "xterm-256color"}
    )
    os.close(theirs)
    os.write(ours, typed)
    shown = b""
    try:
        while part := os.read(ours, 65_536):
            shown += part
    except OSError:
        pass  # Linux says EIO when the last program has left the terminal.
    finally:
        os.close(ours)
    return process.wait(RUN_TIMEOUT_S), shown.decode()


def test_show_prints_the_exact_bytes_of_a_version_and_its_fields_as_json(memfs: Memfs, store: str) -> None:
    text = "crlf\r\n\ufeffbom, nul \0, é".encode()
    version = put(memfs, store, "/a.md", text)
    put(memfs, store, "/a.md", b"changed")

    assert text == memfs.run("versions", "show", store, version).raw
    shown = json.loads(memfs.run("versions", "show", store, version, "--json").out)
    assert (version, "created", text.decode()) == (shown["id"], shown["operation"], shown["content"])


def test_diff_of_one_version_is_against_the_one_before_it(memfs: Memfs, store: str) -> None:
    first = put(memfs, store, "/a.md", b"one\ntwo\nthree\n")
    put(memfs, store, "/other.md", b"of another memory\n")
    second = put(memfs, store, "/a.md", b"one\n2\nthree\nfour")

    printed = memfs.run("versions", "diff", store, second)

    assert [
        "--- /a.md", "+++ /a.md", "@@ -1,3 +1,4 @@", " one", "-two", "+2", " three", "+four",
        "\\ No newline at end of file", "",
    ] == without_dates(printed.out)  # fmt: skip
    assert all(version in printed.out for version in (first, second))
    assert printed.out == memfs.run("versions", "diff", store, first, second).out


def test_diff_of_two_versions_goes_from_the_first_to_the_second_named(memfs: Memfs, store: str) -> None:
    one, two = put(memfs, store, "/a.md", b"a\r\nb\n"), put(memfs, store, "/b.md", b"a\nb\n")

    printed = memfs.run("versions", "diff", store, two, one)

    assert ["--- /b.md", "+++ /a.md", "@@ -1,2 +1,2 @@", "-a", "+a\r", " b", ""] == without_dates(printed.raw.decode())


def test_diff_shows_a_birth_a_rename_and_a_deletion(memfs: Memfs, store: str) -> None:
    first = put(memfs, store, "/a.md", b"one\n")
    memfs.run("memories", "mv", store, "/a.md", "/b.md")
    memfs.run("memories", "rm", store, "/b.md")
    deleted, moved, _ = (version["id"] for version in history(memfs, store))

    told = [without_dates(memfs.run("versions", "diff", store, version).out) for version in (first, moved, deleted)]

    assert ["--- /dev/null", "+++ /a.md", "@@ -0,0 +1 @@", "+one", ""] == told[0]
    assert ["rename from /a.md", "rename to /b.md", ""] == told[1]
    assert ["--- /b.md", "+++ /dev/null", "@@ -1 +0,0 @@", "-one", ""] == told[2]


def test_diff_as_json_names_both_versions(memfs: Memfs, store: str) -> None:
    first, second = put(memfs, store, "/a.md", b"one\n"), put(memfs, store, "/a.md", b"two\n")

    told = json.loads(memfs.run("versions", "diff", store, second, "--json").out)
    birth = json.loads(memfs.run("versions", "diff", store, first, "--json").out)

    assert (first, second) == (told["from"]["id"], told["to"]["id"])
    assert ["-one", "+two"] == told["diff"].splitlines()[-2:]
    assert "content" not in told["from"]
    assert (None, first) == (birth["from"], birth["to"]["id"])


def test_diff_has_colours_on_a_terminal_and_no_control_characters_of_the_text(memfs: Memfs, store: str) -> None:
    put(memfs, store, "/a.md", b"one\n")
    version = put(memfs, store, "/a.md", b"two\tafter a tab \x1b[2J\r\n")

    code, shown = on_terminal(memfs.environ, "versions", "diff", store, version)

    assert 0 == code
    assert f"{RED}-one" in shown
    assert f"{GREEN}+two" in shown
    assert "\\x1b[2J\\r" in shown
    assert f"{CYAN}@@" in shown
    assert "\x1b[2J" not in shown
    assert b"+two\tafter a tab \x1b[2J\r\n" in memfs.run("versions", "diff", store, version).raw


def test_restore_puts_the_old_content_on_top_as_a_new_version(memfs: Memfs, store: str) -> None:
    old = put(memfs, store, "/a.md", b"one\r\n")
    put(memfs, store, "/a.md", b"two")
    memfs.run("memories", "mv", store, "/a.md", "/b.md")

    restored = memfs.run("versions", "restore", store, old)
    again = memfs.run("versions", "restore", store, old)

    assert restored.out.startswith("restored /b.md (5 bytes, memver_")
    assert again.out.startswith("unchanged /b.md (5 bytes, memver_")
    assert b"one\r\n" == memfs.run("memories", "get", store, "/b.md").raw
    assert 4 == len(history(memfs, store))


def test_restore_makes_a_deleted_memory_again_at_its_path_or_another(memfs: Memfs, store: str) -> None:
    version = put(memfs, store, "/a.md", b"one")
    memfs.run("memories", "rm", store, "/a.md")

    restored = memfs.run("versions", "restore", store, version)
    taken = memfs.run("versions", "restore", store, version)
    elsewhere = memfs.run("versions", "restore", store, version, "--path", "/d/b.md", "--json")

    assert restored.out.startswith("made again /a.md (3 bytes, memver_")
    assert (6, "") == (taken.code, taken.out)
    assert "/d/b.md" == json.loads(elsewhere.out)["path"]
    assert [b"one", b"one"] == [memfs.run("memories", "get", store, path).raw for path in ("/a.md", "/d/b.md")]


def test_restore_refuses_what_it_cannot_do_and_changes_nothing(memfs: Memfs, store: str) -> None:
    first = put(memfs, store, "/a.md", b"one")
    put(memfs, store, "/a.md", b"two")
    put(memfs, store, "/gone.md", b"x")
    memfs.run("memories", "rm", store, "/gone.md")
    deletion = history(memfs, store)[0]["id"]

    moving = memfs.run("versions", "restore", store, first, "--path", "/b.md")
    assert 0 == memfs.run("versions", "redact", store, first, "--yes").code
    redacted = memfs.run("versions", "restore", store, first)
    deleted = memfs.run("versions", "restore", store, deletion)
    unknown = memfs.run("versions", "restore", store, "memver_none")

    assert [2, 4, 4, 4] == [one.code for one in (moving, redacted, deleted, unknown)]
    assert "--path" in moving.err
    assert "is redacted" in redacted.err
    assert "records a deletion" in deleted.err
    assert b"two" == memfs.run("memories", "get", store, "/a.md").raw
    assert 4 == len(history(memfs, store))


def test_redact_of_what_a_memory_still_holds_is_refused_input(memfs: Memfs, store: str) -> None:
    """The API answers 400, not 409: repeating helps no more than with any other wrong request."""
    head = put(memfs, store, "/a.md", b"one\n")

    refused = memfs.run("versions", "redact", store, head, "--yes")

    assert refused.code == 10
    assert "Change or delete the memory first" in refused.err


def test_redact_clears_a_version_for_good(memfs: Memfs, store: str) -> None:
    first = put(memfs, store, "/a.md", b"the secret")
    head = put(memfs, store, "/a.md", b"two")

    done = memfs.run("versions", "redact", store, first, "--yes")
    again = json.loads(memfs.run("versions", "redact", store, first, "--yes", "--json").out)

    assert f"redacted {first}\n" == done.out
    assert (None, None) == (again["path"], again["content_sha256"])
    assert again["redacted_at"] == history(memfs, store)[1]["redacted_at"]
    assert "(redacted)" in memfs.run("versions", "list", store).out
    refused = [memfs.run("versions", command, store, first) for command in ("show", "restore", "diff")]
    assert [(4, "")] * 3 == [(one.code, one.out) for one in refused]
    assert 4 == memfs.run("versions", "diff", store, head).code
    assert b"two" == memfs.run("versions", "show", store, head).raw


def test_redact_refuses_what_a_memory_holds_now(memfs: Memfs, store: str) -> None:
    head = put(memfs, store, "/a.md", b"one")

    refused = memfs.run("versions", "redact", store, head, "--yes")

    assert (10, "") == (refused.code, refused.out)
    assert "Change or delete the memory first" in refused.err
    assert b"one" == memfs.run("versions", "show", store, head).raw


def test_redact_asks_on_a_terminal_and_does_nothing_where_nobody_can_be_asked(memfs: Memfs, store: str) -> None:
    first = put(memfs, store, "/a.md", b"one")
    put(memfs, store, "/a.md", b"two")

    unasked = memfs.run("versions", "redact", store, first)
    no, question = on_terminal(memfs.environ, "versions", "redact", store, first, typed=b"n\n")
    kept = memfs.run("versions", "show", store, first).raw
    yes, _ = on_terminal(memfs.environ, "versions", "redact", store, first, typed=b"y\n")

    assert (2, "") == (unasked.code, unasked.out)
    assert "Add --yes" in unasked.err
    assert (1, b"one", 0) == (no, kept, yes)
    assert "/a.md" in question
    assert first in question
    assert history(memfs, store)[1]["redacted_at"]


def test_settings_are_given_as_to_every_other_command(memfs: Memfs, store: str, store_server: RunningServer) -> None:
    version = put(memfs, store, "/a.md", b"one")
    elsewhere = Memfs({**memfs.environ, "MEMFS_BASE_URL": "http://127.0.0.1:9", "MEMFS_API_KEY": "none"})
    where = ("--base-url", store_server.url, "--api-key-file", str(store_server.key_file))

    assert 7 == elsewhere.run("versions", "diff", store, version).code
    for command, code in ((["diff"], 0), (["restore"], 0), (["redact", "--yes"], 10)):
        assert code == elsewhere.run("versions", *command, store, version, *where).code
