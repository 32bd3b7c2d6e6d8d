"""`memfs stores export`, `import` and `copy` against a real server, in processes of their own."""

import asyncio
import io
import json
import os
import pty
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from commands import MEMFS, RUN_TIMEOUT_S, Memfs, Printed, RunningServer

from memfs.remote.http import HttpRemote

ODD_FILES = {
    "a.md": b"plain\n",
    "crlf.md": b"one\r\ntwo\r\n",
    "nul.md": b"a\0b",
    "bom.md": b"\xef\xbb\xbfwith a mark",
    "separators.md": "a\u2028b\u2029c\u0085d".encode(),
    "empty": b"",
    "full.md": "é".encode() * 51_200,
    "deep/" * 19 + "down.md": b"deep",
    "dir/ and spaces .md": b"spaces",
    "dir/ümläut-日本語-🐟.md": "fish 🐟".encode(),
    "dir/back\\slash '\"$(x) *?[a].md": b"quoted",
    "dir/-rf": b"dash",
    "dir/%2e%2e": b"percent",
    "n" * 255: b"long",
    ".hidden": b"hidden",
}


@pytest.fixture
def name(request: pytest.FixtureRequest, memfs: Memfs) -> str:
    """A new store's name that no other test of the session uses."""
    chosen = f"transfer of {request.node.name}"
    assert 0 == memfs.run("stores", "create", chosen, "--description", "words", "--metadata", "team=blue").code
    return chosen


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A directory with what is odd and allowed."""
    return made(tmp_path / "files", ODD_FILES)


def made(root: Path, files: dict[str, bytes]) -> Path:
    for relative, content in files.items():
        path = root / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return root


def found(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def document(printed: Printed) -> dict[str, Any]:
    return dict(json.loads(printed.out))


def memories(memfs: Memfs, store: str) -> dict[str, str]:
    listed = json.loads(memfs.run("memories", "list", store, "--json").out)
    return {item["path"]: item["content_sha256"] for item in listed}


@pytest.fixture(params=["directory", "archive"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return tmp_path / ("out" if request.param == "directory" else "out.tar")


def unpacked(target: Path) -> dict[str, bytes]:
    if target.is_dir():
        return found(target)
    with tarfile.open(target) as archive:
        return {member.name: read(archive, member) for member in archive.getmembers()}


def read(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(member)
    assert file is not None
    return file.read()


def test_files_come_back_byte_for_byte(memfs: Memfs, name: str, files: Path, target: Path) -> None:
    done = memfs.run("stores", "import", name, files)
    assert (0, "") == (done.code, done.err)
    assert f": {len(ODD_FILES)} created, 0 updated, 0 unchanged\n" in done.out

    exported = memfs.run("stores", "export", name, target)

    assert (0, "") == (exported.code, exported.err)
    assert ODD_FILES == unpacked(target)
    again = memfs.run("stores", "import", name, target, "--json")
    assert sorted("/" + path for path in ODD_FILES) == document(again)["unchanged"]
    assert [] == document(again)["created"] + document(again)["updated"]


def test_what_is_equal_is_left_alone_and_the_rest_is_brought_up(
    memfs: Memfs, name: str, files: Path, target: Path
) -> None:
    memfs.run("stores", "import", name, files)
    memfs.run("stores", "export", name, target)
    before = {path: path.stat().st_mtime_ns for path in (target, *target.rglob("*"))}

    again = memfs.run("stores", "export", name, target)

    assert f": 0 created, 0 updated, {len(ODD_FILES)} unchanged\n" in again.out
    assert before == {path: path.stat().st_mtime_ns for path in (target, *target.rglob("*"))}
    (files / "a.md").write_text("changed\n")
    refused = memfs.run("stores", "import", name, files)
    assert (10, "refused /a.md: the memory there has other content") == (refused.code, refused.err.splitlines()[0])
    updated = memfs.run("stores", "import", name, files, "--overwrite", "--json")
    assert (0, ["/a.md"]) == (updated.code, document(updated)["updated"])
    old = memfs.run("stores", "export", name, target)
    assert 10 == old.code
    assert "nothing was exported: 1 file is refused" in old.err
    assert b"plain\n" == unpacked(target)["a.md"]
    assert 0 == memfs.run("stores", "export", name, target, "--overwrite").code
    assert ODD_FILES | {"a.md": b"changed\n"} == unpacked(target)


def test_an_archive_is_the_same_each_time(memfs: Memfs, name: str, files: Path, tmp_path: Path) -> None:
    memfs.run("stores", "import", name, files)
    for archive in ("1.tar", "2.tar"):
        assert 0 == memfs.run("stores", "export", name, tmp_path / archive).code

    assert (tmp_path / "1.tar").read_bytes() == (tmp_path / "2.tar").read_bytes()
    with tarfile.open(tmp_path / "1.tar") as archive:
        members = archive.getmembers()
    listed = json.loads(memfs.run("memories", "list", name, "--json").out)
    assert [item["path"][1:] for item in sorted(listed, key=lambda item: item["path"])] == [one.name for one in members]
    assert {0o644} == {member.mode for member in members}


def test_a_dry_run_says_what_would_be_done_and_does_nothing(memfs: Memfs, name: str, files: Path, target: Path) -> None:
    would = memfs.run("stores", "import", name, files, "--dry-run")
    assert 0 == would.code
    assert "would create /a.md\n" in would.out
    assert {} == memories(memfs, name)
    memfs.run("stores", "import", name, files)

    exported = memfs.run("stores", "export", name, target, "--dry-run", "--json")
    copied = memfs.run("stores", "copy", name, f"{name} 2", "--dry-run", "--json")

    assert (0, len(ODD_FILES)) == (exported.code, len(document(exported)["created"]))
    assert not target.exists()
    assert (0, len(ODD_FILES)) == (copied.code, len(document(copied)["created"]))
    assert document(copied)["target"] == {"name": f"{name} 2", "store_id": None}
    assert 4 == memfs.run("stores", "show", f"{name} 2").code


@pytest.mark.parametrize(
    ("file", "make", "line"),
    [
        ("link", lambda path: path.symlink_to("good.md"), "refused link: a symbolic link or a special file"),
        ("pipe", os.mkfifo, "refused pipe: a symbolic link or a special file"),
        ("binary", lambda path: path.write_bytes(b"PNG\xff"), "refused binary: /binary is not UTF-8 text (byte 3)"),
        (
            "large",
            lambda path: path.write_bytes(bytes(102_401)),
            "refused large: 102401 bytes; a memory holds at most 102400",
        ),
        ("e\u0301", Path.touch, "refused e\u0301: the path '/e\\u0301' is not in Unicode NFC"),
        ("a\nb", Path.touch, "refused a\\nb: the path '/a\\nb' has the forbidden character U+000A"),
        ("\udcff", Path.touch, "refused \\xff: the name b'\\xff' is not UTF-8"),
        ("d/" * 20 + "x", Path.touch, f"refused {'d/' * 20}x: the path '/{'d/' * 20}x' has 21 segments; at most 20"),
    ],
    ids=["link", "pipe", "binary", "large", "NFD", "newline", "not UTF-8", "deep"],
)
def test_one_file_that_breaks_a_rule_is_named_and_nothing_is_imported(
    memfs: Memfs, name: str, tmp_path: Path, file: str, make: Callable[[Path], object], line: str
) -> None:
    root = made(tmp_path / "files", {"good.md": b"good"})
    (root / file).parent.mkdir(parents=True, exist_ok=True)
    make(root / file)

    refused = memfs.run("stores", "import", name, root)

    assert 10 == refused.code
    assert refused.err.startswith(line)
    assert "nothing was imported: 1 file is refused" in refused.err
    assert {} == memories(memfs, name)
    rest = memfs.run("stores", "import", name, root, "--skip-refused", "--json")
    assert (1, ["/good.md"]) == (rest.code, document(rest)["created"])
    assert 1 == len(document(rest)["refused"])
    assert ["/good.md"] == list(memories(memfs, name))


def test_local_only_names_are_skipped_and_said(memfs: Memfs, name: str, tmp_path: Path) -> None:
    root = made(
        tmp_path / "files", {"a.md": b"a", ".git/config": b"\xff", "a.md~": b"", ".anthropic-memory-store": b""}
    )

    done = memfs.run("stores", "import", name, root)

    assert 0 == done.code
    assert [
        f"skipped {file}: a local-only name" for file in (".anthropic-memory-store", ".git/", "a.md~")
    ] == sorted(done.err.splitlines())  # fmt: skip
    assert ["/a.md"] == list(memories(memfs, name))


def test_a_hostile_archive_imports_nothing_and_touches_nothing(memfs: Memfs, name: str, tmp_path: Path) -> None:
    archive = tmp_path / "hostile.tar"
    with tarfile.open(archive, "w") as tar:
        for file in ("good.md", "../escape.md", "/absolute.md", "a/../../b.md"):
            tar.addfile(tarfile.TarInfo(file), io.BytesIO())
        for file, kind in (("s", tarfile.SYMTYPE), ("h", tarfile.LNKTYPE), ("dev", tarfile.CHRTYPE)):
            member = tarfile.TarInfo(file)
            member.type, member.linkname = kind, "/etc/passwd"
            tar.addfile(member)
    home = tmp_path / "home"
    home.mkdir()

    refused = memfs.run("stores", "import", name, archive, HOME=str(home))

    assert 10 == refused.code
    assert ["../escape.md", "/absolute.md", "a/../../b.md", "s", "h", "dev"] == [
        line.partition(":")[0].removeprefix("refused ") for line in refused.err.splitlines()[:-1]
    ]
    assert {} == memories(memfs, name)
    rest = memfs.run("stores", "import", name, archive, "--skip-refused")
    assert (1, ["/good.md"]) == (rest.code, list(memories(memfs, name)))
    assert {"hostile.tar", "home"} == {path.name for path in tmp_path.iterdir()}
    archive.write_bytes(archive.read_bytes()[:700])
    cut = memfs.run("stores", "import", name, archive)
    assert 10 == cut.code
    assert "is no tar file, or damaged" in cut.err


def test_somebody_elses_directory_is_refused_unless_told(memfs: Memfs, name: str, files: Path, tmp_path: Path) -> None:
    memfs.run("stores", "import", name, files)
    target = made(tmp_path / "out", {"mine.md": b"mine", ".git/config": b"x"})

    refused = memfs.run("stores", "export", name, target)

    assert (10, "refused /mine.md: a file that is no memory of the store") == (
        refused.code, refused.err.splitlines()[0],
    )  # fmt: skip
    assert {"mine.md": b"mine", ".git/config": b"x"} == found(target)
    assert 0 == memfs.run("stores", "export", name, target, "--overwrite").code
    assert ODD_FILES | {"mine.md": b"mine", ".git/config": b"x"} == found(target)


async def first_memories(server: RunningServer, store_id: str, count: int) -> None:
    """Return when the store has so many memories."""
    remote = HttpRemote(server.url, server.key)
    try:
        for _ in range(10_000):
            found = [item async for item in remote.list_memories(store_id)]
            if len(found) >= count:
                return
    finally:
        await remote.aclose()
    pytest.fail("the import does not get on")


def test_an_import_that_was_killed_is_resumed(
    memfs: Memfs, name: str, tmp_path: Path, store_server: RunningServer
) -> None:
    root = made(tmp_path / "files", {f"{number:03}.md": b"text %d" % number for number in range(800)})
    store_id = document(memfs.run("stores", "show", name, "--json"))["id"]
    words = [MEMFS, "stores", "import", name, root]
    with subprocess.Popen(words, env=memfs.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        asyncio.run(first_memories(store_server, store_id, 20))
        process.kill()
    before = memories(memfs, name)

    resumed = memfs.run("stores", "import", name, root, "--json")

    assert 0 == resumed.code
    # What was on its way when it was killed may have arrived later.
    assert set(before) <= set(document(resumed)["unchanged"])
    assert 800 == len(document(resumed)["unchanged"]) + len(document(resumed)["created"])
    assert 800 == len(memories(memfs, name))
    assert 800 == len(json.loads(memfs.run("versions", "list", name, "--json").out))


def test_a_copy_has_the_same_words_and_memories(memfs: Memfs, name: str, files: Path) -> None:
    memfs.run("stores", "import", name, files)

    done = memfs.run("stores", "copy", name, f"{name} 2", "--json")

    assert (0, "") == (done.code, done.err)
    assert sorted("/" + path for path in ODD_FILES) == document(done)["created"]
    copy = document(memfs.run("stores", "show", document(done)["target"]["store_id"], "--json"))
    assert (f"{name} 2", "words", {"team": "blue"}) == (copy["name"], copy["description"], copy["metadata"])
    assert memories(memfs, name) == memories(memfs, copy["id"])
    again = memfs.run("stores", "copy", name, f"{name} 2")
    assert f": 0 created, 0 updated, {len(ODD_FILES)} unchanged\n" in again.out
    memfs.run("memories", "put", f"{name} 2", "/mine.md", stdin=b"mine")
    assert 6 == memfs.run("stores", "copy", name, f"{name} 2").code


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("import", "STORE", "nowhere"), 2, "'nowhere' is no directory and no file"),
        (("import", "STORE", "file.md"), 10, "file.md is no tar file"),
        (("export", "STORE", "x.tar.gz"), 2, "only plain tar files are written"),
        (("export", "STORE", "file.md"), 10, "file.md: Not a directory"),
        (("export", "no such store", "out"), 4, "there is no store"),
        (("copy", "no such store", "copy"), 4, "there is no store"),
    ],
    ids=["no origin", "no archive", "compressed", "no directory", "no store", "no source"],
)
def test_what_cannot_be_is_one_line(
    memfs: Memfs, name: str, tmp_path: Path, words: tuple[str, ...], code: int, message: str, monkeypatch: Any
) -> None:
    made(tmp_path, {"file.md": b"text"})
    monkeypatch.chdir(tmp_path)

    refused = memfs.run("stores", *(name if word == "STORE" else word for word in words))

    assert code == refused.code
    assert message in refused.err
    assert ("", 1) == (refused.out, len(refused.err.splitlines()))


def test_a_terminal_sees_a_bar_and_standard_output_the_final_line(memfs: Memfs, name: str, files: Path) -> None:
    ours, theirs = pty.openpty()
    words = [MEMFS, "stores", "import", name, files]
    environ = {**memfs.environ, "TERM": "xterm"}
    try:
        done = subprocess.run(
            words, stdout=subprocess.PIPE, stderr=theirs, env=environ, timeout=RUN_TIMEOUT_S, check=False
        )
        shown = os.read(ours, 65_536)
    finally:
        os.close(ours)
        os.close(theirs)

    assert 0 == done.returncode
    assert b"importing" in shown
    assert 1 == len(done.stdout.splitlines())
