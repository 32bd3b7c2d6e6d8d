"""Programs that make or move whole trees: git, archivers, copies. The server gets the files, and nothing of how."""

import os
import subprocess
from pathlib import Path

import pytest
from programs.saves import run
from running_up import eventually
from synced import Synced

TEXTS = {
    "README.md": "read me\n",
    "empty.md": "",
    "a/b/c/deep.md": "deep\n",
    "a/with space & ümlaut.md": "ü\n",
    "long.md": "0123456789abcdef\n" * 5_000,
}
OLD_NS = 1_000_000_000_123_456_789


@pytest.fixture
def source(outside: Path) -> Path:
    """A tree on the local disk whose bits and times are no defaults."""
    root = outside / "source"
    for path, text in TEXTS.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o640)
    (root / "README.md").chmod(0o755)
    for path in [*sorted(root.rglob("*"), reverse=True), root]:
        os.utime(path, ns=(OLD_NS, OLD_NS))
    return root


@pytest.fixture
def home(store: Synced, request: pytest.FixtureRequest) -> Path:
    """A directory of the test's own in the store."""
    path = store.root / request.function.__name__.removeprefix("test_")[:60]
    path.mkdir()
    return path


def arrived(store: Synced, home: Path) -> list[tuple[str, str]]:
    """Return, sorted, what was ever done to the server's memories; it must have what is in the directory now."""
    store.settle()
    assert texts(home) == store.contents(home.name)
    return sorted(store.history(home.name))


def texts(root: Path) -> dict[str, str]:
    """Return the files below a directory with their contents, but what git keeps for itself."""
    files = (one for one in root.rglob("*") if one.is_file() and ".git" not in one.parts)
    return {str(one.relative_to(root)): one.read_bytes().decode() for one in files}


def facts(root: Path) -> dict[str, tuple[int, int]]:
    """Return bits and time of each entry below a directory."""
    found = {str(one.relative_to(root)): one.stat() for one in root.rglob("*")}
    return {path: (one.st_mode, one.st_mtime_ns) for path, one in found.items()}


def git(where: Path, *words: str | Path) -> str:
    settings = {"user.name": "A", "user.email": "a@example.org", "gc.auto": "0", "maintenance.auto": "false"}
    given = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    return run("git", *given, *words, cwd=where)


def test_a_copy_with_its_attributes_is_each_file_once(store: Synced, home: Path, source: Path) -> None:
    run("cp", "-a", f"{source}/.", home)

    assert facts(source) == facts(home)
    assert TEXTS == texts(home)
    assert sorted(("created", path) for path in TEXTS) == arrived(store, home)


def test_an_archive_unpacks_as_it_was_packed(store: Synced, home: Path, source: Path, outside: Path) -> None:
    run("tar", "-C", source, "-cf", outside / "in.tar", ".")
    run("tar", "-C", home, "-xpf", outside / "in.tar")
    run("tar", "-C", home, "-cf", outside / "out.tar", ".")
    (outside / "again").mkdir()
    run("tar", "-C", outside / "again", "-xpf", outside / "out.tar")

    assert {path: mode for path, (mode, _) in facts(source).items()} == {
        path: mode for path, (mode, _) in facts(outside / "again").items()
    }
    assert TEXTS == texts(home) == texts(outside / "again")
    assert sorted(("created", path) for path in TEXTS) == arrived(store, home)


def test_a_zip_unpacks_and_packs(store: Synced, home: Path, source: Path, outside: Path) -> None:
    run("zip", "-q", "-r", outside / "in.zip", ".", cwd=source)
    run("unzip", "-q", outside / "in.zip", "-d", home)
    run("zip", "-q", "-r", outside / "out.zip", ".", cwd=home)

    assert TEXTS == texts(home)
    assert "No errors" in run("unzip", "-t", outside / "out.zip")
    assert sorted(("created", path) for path in TEXTS) == arrived(store, home)


def test_a_second_rsync_transfers_nothing(store: Synced, home: Path, source: Path) -> None:
    words = ("rsync", "-a", "--itemize-changes", f"{source}/", f"{home}/")
    first = run(*words)
    second = run(*words)

    assert len(TEXTS) == sum(line.startswith(">f") for line in first.splitlines())
    assert "" == second
    assert "" == run("rsync", "-a", "--checksum", "--itemize-changes", f"{home}/", f"{source}/")
    assert facts(source) == facts(home)
    assert sorted(("created", path) for path in TEXTS) == arrived(store, home)


def test_an_rsync_of_an_edit_is_one_edit(store: Synced, home: Path, source: Path) -> None:
    run("rsync", "-a", f"{source}/", f"{home}/")
    store.settle()
    (source / "README.md").write_text("read me again\n")
    (source / "a/b/c/deep.md").unlink()

    run("rsync", "-a", "--delete", f"{source}/", f"{home}/")
    store.settle()

    made = [("created", path) for path in TEXTS]
    assert sorted([*made, ("modified", "README.md"), ("deleted", "a/b/c/deep.md")]) == arrived(store, home)


def test_find_and_du_see_what_is_there(store: Synced, home: Path, source: Path) -> None:
    run("cp", "-a", f"{source}/.", home)

    def seen(root: Path, *words: str) -> list[str]:
        return sorted(run(*words, cwd=root).splitlines())

    for words in (
        ("find", ".", "-type", "f", "-size", "+1k"),
        ("find", ".", "-type", "d", "-links", "+2"),
        ("find", ".", "-newermt", "2001-09-08", "!", "-newermt", "2001-09-10"),
        ("find", ".", "-perm", "0755", "-empty"),
        ("find", ".", "-name", "*.md", "-exec", "grep", "-l", "e", "{}", "+"),
        ("find", ".", "-depth", "-print"),
        ("du", "--apparent-size", "-b", "-a", "a/b/c/deep.md", "long.md"),
        ("grep", "-r", "deep", "."),
        ("ls", "-R"),
    ):
        assert seen(source, *words) == seen(home, *words), words
    blocks = int(run("du", "-s", "--block-size=512", home).split()[0])
    assert blocks * 512 >= sum(len(text.encode()) for text in TEXTS.values())
    assert sorted(("created", path) for path in TEXTS) == arrived(store, home)


def test_df_tells_how_many_memories_a_store_has_and_may_have(home: Path) -> None:
    def figures() -> list[int]:
        return [int(one) for one in run("df", "--output=itotal,iused", home).split()[-2:]]

    before = figures()
    (home / "one.md").touch()
    (home / "local.md~").touch()

    assert [10_000, before[1] + 1] == figures()


def test_a_repository_lives_in_a_store(store: Synced, home: Path) -> None:
    """Its own files stay on this host; the working tree is memories, a checkout edits them."""
    git(home, "init", "-q", "-b", "main")
    (home / "plan.md").write_text("Monday\n")
    (home / "d").mkdir()
    for number in range(30):
        (home / f"d/{number:02}.md").write_text(f"{number}\n" * 50)
    git(home, "add", "-A")
    git(home, "commit", "-q", "-m", "first")
    names = [f"d/{number:02}.md" for number in range(30)] + ["plan.md"]
    assert [("created", name) for name in names] == arrived(store, home)
    memory = store.memories(home.name)["plan.md"].id
    git(home, "checkout", "-q", "-b", "other")
    (home / "plan.md").write_text("Friday\n")
    git(home, "commit", "-q", "-a", "-m", "second")
    git(home, "mv", "d/00.md", "d/zero.md")
    git(home, "commit", "-q", "-m", "third")
    git(home, "gc", "-q")
    git(home, "fsck", "--strict")

    assert "" == git(home, "status", "--porcelain")
    edited = [("modified", "d/zero.md"), ("modified", "plan.md")]
    assert sorted([*(("created", name) for name in names), *edited]) == arrived(store, home)
    git(home, "checkout", "-q", "main")
    assert "Monday\n" == (home / "plan.md").read_text()
    assert "" == git(home, "status", "--porcelain")
    assert "first\n" == git(home, "log", "--format=%s")
    arrived(store, home)
    assert memory == store.memories(home.name)["plan.md"].id


def test_a_repository_is_cloned_into_a_store_and_within_it(store: Synced, home: Path, source: Path) -> None:
    git(source, "init", "-q", "-b", "main")
    git(source, "add", "-A")
    git(source, "commit", "-q", "-m", "first")

    git(home, "clone", "-q", source, "one")
    git(home, "clone", "-q", "one", "two")
    (home / "two/README.md").write_text("read me twice\n")
    git(home / "two", "commit", "-q", "-a", "-m", "second")
    git(home / "one", "fetch", "-q", "../two", "main")
    git(home / "one", "merge", "-q", "FETCH_HEAD")

    for clone in ("one", "two"):
        git(home / clone, "fsck", "--strict")
        assert "" == git(home / clone, "status", "--porcelain")
        assert TEXTS | {"README.md": "read me twice\n"} == texts(home / clone)
    paths = [f"{clone}/{path}" for clone in ("one", "two") for path in TEXTS]
    assert sorted(("created", path) for path in paths) == [one for one in arrived(store, home) if one[0] == "created"]


def test_inotifywait_tells_what_programs_of_this_host_do(store: Synced, home: Path) -> None:
    watching = subprocess.Popen(
        ["inotifywait", "-m", "-q", "--format", "%e %f", home],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert watching.stdout is not None
        eventually(lambda: "inotify wd:" in watches(watching.pid))
        (home / "a.md").write_text("a\n")
        (home / "a.md").rename(home / "b.md")
        run("sed", "-i", "s/a/b/", home / "b.md")
        (home / "b.md").unlink()
        lines: list[str] = []
        while lines[-1:] != ["DELETE b.md"]:
            lines.append(watching.stdout.readline().rstrip())
    finally:
        watching.kill()
        watching.communicate(timeout=10)

    told = [line for line in lines if "sed" not in line]
    for wanted in ("CREATE a.md", "MODIFY a.md", "CLOSE_WRITE,CLOSE a.md", "MOVED_FROM a.md", "MOVED_TO b.md"):
        assert wanted in told
    assert 2 == told.count("MOVED_TO b.md")
    arrived(store, home)


def watches(pid: int) -> str:
    """Return what the kernel tells of a process's descriptors; an inotify watch has a line there."""
    return "".join(one.read_text() for one in Path(f"/proc/{pid}/fdinfo").iterdir())
