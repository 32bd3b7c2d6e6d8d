"""``.memfs/``: what is mounted and how it stands, read like any file, never changed, always current."""

import errno
import json
import os
import sqlite3
import stat
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

import pytest
from fs.files import READ_ONLY_ERRNOS, Files, refuses
from fs.getdents import entries
from fs.kernel import Kernel
from fs.through_mount import MountFiles
from fs.worlds import STORES, World, until

from memfs.core.errors import RemoteUnavailable
from memfs.core.paths import StorePath
from memfs.core.plan import Side
from memfs.core.tree_requests import Answer, Changed, Reload
from memfs.state.baseline import Agreed
from memfs.state.problems import Conflict, Problem
from memfs.state.store_state import StoreState

S1, S2 = "1" * 64, "2" * 64


def store_of(path: str) -> tuple[str, str]:
    slug, _, rest = path.partition("/")
    return f"memstore_{slug}", f"/{rest}"


@contextmanager
def recording(world: World, slug: str) -> Iterator[StoreState]:
    """Record something as the worker does."""
    with StoreState(world.layout.store(f"memstore_{slug}")) as state, state.transaction():
        yield state


def tell(world: World, slug: str, *paths: str) -> None:
    """Let the mount know what was recorded, as the worker does, and wait until the kernel knows it."""
    assert Answer() == world.ask(Changed(store_id=f"memstore_{slug}", paths=paths))
    world.settle()


def synced(world: World, path: str, version: str = "memver_1", content_sha256: str = S1) -> None:
    """Record that both sides have the file as it is now."""
    store_id, store_path = store_of(path)
    row = Agreed(
        path=StorePath(store_path), memory_id=f"mem_{store_path}", version_id=version, content_sha256=content_sha256,
        size_bytes=5, updated_at="2026-11-30T10:00:00Z", identity=world.observe(path), hashed_at=time.time(),
    )  # fmt: skip
    with recording(world, store_id.removeprefix("memstore_")) as state:
        state.baseline.put(row)
    tell(world, store_id.removeprefix("memstore_"), store_path)


def shown(files: Files, path: str) -> dict[str, Any]:
    content = files.read(f".memfs/info/{path}")
    assert files.stat(f".memfs/info/{path}").size == len(content)
    told: dict[str, Any] = json.loads(content)
    return told


def status_of(files: Files, slug: str) -> dict[str, Any]:
    content = files.read(".memfs/status.json")
    assert files.stat(".memfs/status.json").size == len(content)
    told: list[dict[str, Any]] = json.loads(content)["stores"]
    [found] = [one for one in told if one["slug"] == slug]
    return found


# -------------------------------------------------------------------------------------------------------- what is there


def test_the_root_lists_it_beside_the_stores(files: Files) -> None:
    assert [".memfs", "full", "manual", "notes", "old", "other"] == files.listdir("")
    assert ["README.md", "conflicts", "info", "status.json"] == files.listdir(".memfs")
    assert ["full", "manual", "notes", "old", "other"] == files.listdir(".memfs/info")


def test_the_readme_tells_what_is_mounted(files: Files) -> None:
    text = files.read(".memfs/README.md")

    assert files.stat(".memfs/README.md").size == len(text)
    for one in STORES:
        assert f"\n## {one.slug}\n\nPath: /mnt/memory/{one.slug}\nAccess: read_".encode() in text


def test_info_mirrors_the_tree(world: World, files: Files, home: str) -> None:
    files.mkdir(f"{home}/d")
    for name in ("a.md", "d/b.md", "naïve 'q\" \\ 日本.md", ".hidden", "x.tmp", "local~"):
        files.write(f"{home}/{name}", b"text")
    world.settle()

    assert files.listdir(home) == files.listdir(f".memfs/info/{home}")
    assert files.listdir(f"{home}/d") == files.listdir(f".memfs/info/{home}/d")
    assert stat.S_ISDIR(files.stat(f".memfs/info/{home}/d").mode)
    assert stat.S_ISREG(files.stat(f".memfs/info/{home}/a.md").mode)
    assert not files.exists(f".memfs/info/{home}/none")
    assert not files.exists(".memfs/info/none")
    assert not files.exists(".memfs/none")


def test_a_full_store_is_listed_whole(files: Files) -> None:
    assert 10_000 == len(files.listdir(".memfs/info/full"))


def test_what_is_shown_has_the_bits_of_the_tree_without_those_to_write(world: World, files: Files, home: str) -> None:
    files.write(f"{home}/private.md", b"text")
    files.chmod(f"{home}/private.md", 0o600)
    files.mkdir(f"{home}/shut", 0o700)
    world.settle()

    assert stat.S_IFREG | 0o400 == files.stat(f".memfs/info/{home}/private.md").mode
    assert stat.S_IFDIR | 0o500 == files.stat(f".memfs/info/{home}/shut").mode
    assert stat.S_IFREG | 0o444 == files.stat(".memfs/README.md").mode
    assert stat.S_IFDIR | 0o555 == files.stat(".memfs").mode

    files.chmod(f"{home}/private.md", 0o644)
    files.chmod(f"{home}/shut", 0o755)
    world.settle()

    assert stat.S_IFREG | 0o444 == files.stat(f".memfs/info/{home}/private.md").mode
    assert stat.S_IFDIR | 0o555 == files.stat(f".memfs/info/{home}/shut").mode


@pytest.mark.parametrize("directory", [".memfs", ".memfs/info", ".memfs/info/manual", ".memfs/info/manual/d"])
def test_every_change_in_it_is_refused(directory: str, files: Files, home: str) -> None:
    one = files.listdir(directory)[0]
    files.write(f"{home}/a.md", b"text")

    with refuses(*READ_ONLY_ERRNOS):
        files.create(f"{directory}/new")
    with refuses(*READ_ONLY_ERRNOS):
        files.create(f"{directory}/local~")
    with refuses(*READ_ONLY_ERRNOS):
        files.mkdir(f"{directory}/new")
    with refuses(*READ_ONLY_ERRNOS, errno.EISDIR):
        files.unlink(f"{directory}/{one}")
    with refuses(*READ_ONLY_ERRNOS):
        files.rename(f"{directory}/{one}", f"{directory}/other")
    with refuses(*READ_ONLY_ERRNOS):
        files.rename(f"{directory}/{one}", f"{home}/other")
    with refuses(*READ_ONLY_ERRNOS):
        files.rename(f"{home}/a.md", f"{directory}/new")
    with refuses(*READ_ONLY_ERRNOS):
        files.symlink("x", f"{directory}/link")
    with refuses(*READ_ONLY_ERRNOS, errno.EPERM):
        files.link(f"{home}/a.md", f"{directory}/link")
    for path in (directory, f"{directory}/{one}"):
        with refuses(errno.EROFS):
            files.chmod(path, 0o777)
        with refuses(errno.EROFS):
            files.utime(path, 0, 0)
        with refuses(errno.EROFS):
            files.chown(path, os.geteuid(), os.getegid())


@pytest.mark.parametrize("path", ["README.md", "status.json", "conflicts", "info/manual/guide.md"])
def test_every_change_of_a_file_in_it_is_refused(path: str, files: Files) -> None:
    before = files.read(f".memfs/{path}")

    with refuses(*READ_ONLY_ERRNOS):
        files.write(f".memfs/{path}", b"text")
    with refuses(*READ_ONLY_ERRNOS):
        files.append(f".memfs/{path}", b"text")
    with refuses(*READ_ONLY_ERRNOS):
        files.truncate(f".memfs/{path}", 0)

    assert before == files.read(f".memfs/{path}")


@pytest.mark.parametrize("path", [".memfs", ".memfs/info", ".memfs/info/manual"])
def test_no_directory_of_it_can_be_removed(path: str, files: Files) -> None:
    with refuses(*READ_ONLY_ERRNOS, errno.ENOTEMPTY):
        files.rmdir(path)


def test_inodes_are_the_same_at_every_look_and_belong_to_one_file(world: World, files: Files, home: str) -> None:
    for name in ("a.md", "b.md"):
        files.write(f"{home}/{name}", b"text")
    world.settle()
    places = [
        ".memfs",
        ".memfs/README.md",
        ".memfs/status.json",
        ".memfs/conflicts",
        ".memfs/info",
        ".memfs/info/notes",
    ]
    places += [f".memfs/info/{home}", f".memfs/info/{home}/a.md", f".memfs/info/{home}/b.md", f"{home}/a.md", home]

    before = [files.stat(place).inode for place in places]
    if isinstance(files, Kernel):
        files.drop_caches()

    assert before[4:] == [files.stat(place).inode for place in places[4:]]
    assert len(places) == len(set(before))


def test_a_listing_tells_the_inodes_that_stat_tells(world: World, files: Files, home: str) -> None:
    files.write(f"{home}/a.md", b"text")
    files.mkdir(f"{home}/d")
    world.settle()

    for directory in ("", ".memfs", ".memfs/info", f".memfs/info/{home}"):
        stated = {name: files.stat(f"{directory}/{name}".lstrip("/")).inode for name in files.listdir(directory)}
        assert stated == listed_inodes(files, directory)


def listed_inodes(files: Files, directory: str) -> dict[str, int]:
    if isinstance(files, MountFiles):
        descriptor = os.open(files._at(directory), os.O_RDONLY)
        try:
            found = {os.fsdecode(one.name): one.inode for one in entries(descriptor, 4096)}
        finally:
            os.close(descriptor)
    else:
        assert isinstance(files, Kernel)
        found = {os.fsdecode(one.name): one.inode for one in files.filesystem.readdir(files._walk(directory), 0)}
    return {name: inode for name, inode in found.items() if name not in {".", ".."}}


# --------------------------------------------------------------------------------------------- what is told of a memory


def test_a_synced_memory_is_told_with_its_version(world: World, files: Files, home: str) -> None:
    files.write(f"{home}/a.md", b"text\n")
    synced(world, f"{home}/a.md")
    path = f"/{home.partition('/')[2]}/a.md"

    assert {
        "path": path,
        "state": "synced",
        "reason": None,
        "id": f"mem_{path}",
        "version": "memver_1",
        "sha256": S1,
        "size": 5,
        "updated_at": "2026-11-30T10:00:00Z",
    } == shown(files, f"{home}/a.md")


def test_a_new_file_is_pending_or_held_or_local_only_at_once(world: World, files: Files, home: str) -> None:
    assert [] == files.listdir(f".memfs/info/{home}")
    for name in ("a.md", "x.tmp", "a.md~"):
        assert not files.exists(f".memfs/info/{home}/{name}")
        files.write(f"{home}/{name}", b"text")
    world.settle()

    assert ["a.md", "a.md~", "x.tmp"] == files.listdir(f".memfs/info/{home}")
    told = {name: shown(files, f"{home}/{name}") for name in ("a.md", "x.tmp", "a.md~")}
    assert {"a.md": "pending", "x.tmp": "held", "a.md~": "local-only"} == {name: told[name]["state"] for name in told}
    assert {None} == {told[name][fact] for name in told for fact in ("id", "version", "sha256", "size", "updated_at")}


@pytest.mark.parametrize("how", ["write", "append", "truncate", "in place", "replace"])
def test_a_program_that_changes_a_memory_makes_it_pending(how: str, world: World, files: Files, home: str) -> None:
    files.write(f"{home}/a.md", b"text\n")
    synced(world, f"{home}/a.md")
    assert "synced" == shown(files, f"{home}/a.md")["state"]

    match how:
        case "write":
            files.write(f"{home}/a.md", b"else\n")
        case "append":
            files.append(f"{home}/a.md", b"more\n")
        case "truncate":
            files.truncate(f"{home}/a.md", 2)
        case "in place":
            with files.open(f"{home}/a.md", os.O_RDWR) as file:
                file.write(b"T")
        case _:
            files.write(f"{home}/new", b"else\n")
            files.rename(f"{home}/new", f"{home}/a.md")
    world.settle()

    told = shown(files, f"{home}/a.md")
    assert ("pending", "memver_1") == (told["state"], told["version"])

    synced(world, f"{home}/a.md", "memver_2", S2)
    assert ("synced", "memver_2", S2) == tuple(
        shown(files, f"{home}/a.md")[fact] for fact in ("state", "version", "sha256")
    )


def test_bits_leave_a_memory_synced(world: World, files: Files, home: str) -> None:
    files.write(f"{home}/a.md", b"text\n")
    synced(world, f"{home}/a.md")

    files.chmod(f"{home}/a.md", 0o600)
    world.settle()

    assert "synced" == shown(files, f"{home}/a.md")["state"]


def test_what_is_removed_or_renamed_is_shown_no_more(world: World, files: Files, home: str) -> None:
    for name in ("gone.md", "moved.md"):
        files.write(f"{home}/{name}", b"text\n")
        synced(world, f"{home}/{name}")
        assert "synced" == shown(files, f"{home}/{name}")["state"]
    assert not files.exists(f".memfs/info/{home}/new.md")

    files.unlink(f"{home}/gone.md")
    files.rename(f"{home}/moved.md", f"{home}/new.md")
    world.settle()

    assert ["new.md"] == files.listdir(f".memfs/info/{home}")
    assert not files.exists(f".memfs/info/{home}/gone.md")
    assert not files.exists(f".memfs/info/{home}/moved.md")
    assert "pending" == shown(files, f"{home}/new.md")["state"]


def test_a_directory_that_is_renamed_takes_all_below_along(world: World, files: Files, home: str) -> None:
    files.mkdir(f"{home}/d")
    files.mkdir(f"{home}/d/e")
    files.write(f"{home}/d/e/a.md", b"text\n")
    synced(world, f"{home}/d/e/a.md")
    assert "synced" == shown(files, f"{home}/d/e/a.md")["state"]

    files.rename(f"{home}/d", f"{home}/new")
    world.settle()

    assert not files.exists(f".memfs/info/{home}/d/e/a.md")
    assert ["new"] == files.listdir(f".memfs/info/{home}")
    told = shown(files, f"{home}/new/e/a.md")
    assert ("pending", None) == (told["state"], told["id"])

    files.unlink(f"{home}/new/e/a.md")
    files.rmdir(f"{home}/new/e")
    world.settle()
    assert [] == files.listdir(f".memfs/info/{home}/new")
    assert not files.exists(f".memfs/info/{home}/new/e")


def test_what_a_pull_brings_is_shown_and_what_it_takes_is_not(world: World, files: Files, home: str) -> None:
    assert not files.exists(f".memfs/info/{home}/far")
    world.pull(f"{home}/far/away/a.md", b"text")
    world.settle()
    assert "pending" == shown(files, f"{home}/far/away/a.md")["state"]

    synced(world, f"{home}/far/away/a.md")
    assert "synced" == shown(files, f"{home}/far/away/a.md")["state"]

    world.pull(f"{home}/far/away/a.md", b"newer")
    world.settle()
    assert "pending" == shown(files, f"{home}/far/away/a.md")["state"]

    inside = f"/{home.partition('/')[2]}"
    world.remove(f"{home}/far/away/a.md", (f"{inside}/far/away", f"{inside}/far"))
    world.settle()
    assert not files.exists(f".memfs/info/{home}/far/away/a.md")
    assert [] == files.listdir(f".memfs/info/{home}")


def test_what_the_worker_says_of_a_path_is_told(world: World, files: Files, home: str) -> None:
    inside = f"/{home.partition('/')[2]}"
    for name in ("waits", "held.tmp", "refused", "plan.md", "plan.conflict-11111111.md", "a b'\"\\.md"):
        files.write(f"{home}/{name}", b"text\n")
        assert shown(files, f"{home}/{name}")["state"] in {"pending", "held"}
        if name != "refused":
            synced(world, f"{home}/{name}")
    reason = f'{inside}/refused is no "text"\nat all'
    copy = Conflict(
        path=f"{inside}/plan.md", copy_path=f"{inside}/plan.conflict-11111111.md", local_sha256=S1, remote_sha256=S2,
        since=1.0,
    )  # fmt: skip
    problem = Problem(path=f"{inside}/refused", side=Side.LOCAL, code="invalid_content", message=reason, since=1.0)
    with recording(world, "notes") as state:
        state.set_pending({f"{inside}/waits": "pending", f"{inside}/held.tmp": "held"})
        state.problems.put(problem)
        state.conflicts.put(copy)
        names = state.take_changed()
    tell(world, "notes", *names, problem.path, copy.path, copy.copy_path)

    states = {name: shown(files, f"{home}/{name}")["state"] for name in files.listdir(home)}
    assert {
        "waits": "pending",
        "held.tmp": "held",
        "refused": "refused",
        "plan.md": "conflict",
        "plan.conflict-11111111.md": "conflict",
        "a b'\"\\.md": "synced",
    } == states
    assert reason == shown(files, f"{home}/refused")["reason"]
    assert f"notes{copy.copy_path}\tnotes{copy.path}\n" in files.read(".memfs/conflicts").decode()

    with recording(world, "notes") as state:
        state.set_pending({})
        state.problems.drop(problem.path, Side.LOCAL)
        state.conflicts.drop(copy.copy_path)
        state.baseline.drop(StorePath(copy.copy_path))
    tell(world, "notes", f"{inside}/waits", problem.path, copy.path, copy.copy_path)

    assert "synced" == shown(files, f"{home}/plan.md")["state"]
    assert "synced" == shown(files, f"{home}/waits")["state"]
    assert b"" == files.read(".memfs/conflicts")


def test_a_name_that_is_no_text_is_told_escaped(world: World, files: Files, home: str) -> None:
    name = os.fsencode(home) + b"/\xff\\n.md"
    descriptor = os.open(os.fsencode(world.tree(home)) + b"/\xff\\n.md", os.O_CREAT | os.O_WRONLY, 0o644)
    os.close(descriptor)
    where = b".memfs/info/" + name
    inside = f"/{home.partition('/')[2]}/\\xff\\n.md"
    assert ("pending", inside) == tuple(json.loads(files.read(where))[fact] for fact in ("state", "path"))

    with recording(world, "notes") as state:
        state.problems.put(Problem(path=inside, side=Side.LOCAL, code="invalid_path", message="no UTF-8", since=1.0))
    tell(world, "notes", inside)

    assert ("refused", "no UTF-8") == tuple(json.loads(files.read(where))[fact] for fact in ("state", "reason"))


# -------------------------------------------------------------------------------------------------------- how it stands


def test_the_status_tells_how_each_store_stands(world: World, files: Files) -> None:
    with recording(world, "manual") as state:
        state.set_synced(1_796_000_000.0)
        state.problems.put(Problem(path="/x", side=Side.REMOTE, code="not_found", message="m", since=1.0))
        state.set_error(RemoteUnavailable("https://user:secret@far.example does not answer"))
        state.set_pending({"/a.md": "pending", "/b.md": "pending"})
    tell(world, "manual")

    told = status_of(files, "manual")
    assert told.pop("read_only_by") in {"kernel", "policy"}
    assert {
        "slug": "manual",
        "id": "memstore_manual",
        "name": "manual",
        "access": "read_only",
        "archived": False,
        "state": "remote_unavailable",
        "memories": 0,
        "pending": 2,
        "refused": 1,
        "conflicts": 0,
        "last_sync_at": "2026-11-30T00:53:20Z",
        "error": {"code": "remote_unavailable", "message": "https://far.example does not answer"},
        "problems": [{"path": "/x", "code": "not_found", "message": "m"}],
    } == told

    with recording(world, "manual") as state:
        state.problems.drop("/x", Side.REMOTE)
        state.set_error(None)
        state.set_pending({})
    tell(world, "manual")

    assert ("unwatched", 0, None, []) == tuple(
        status_of(files, "manual")[fact] for fact in ("state", "pending", "error", "problems")
    )


def test_stores_are_told_in_the_order_of_the_mount(files: Files) -> None:
    told = json.loads(files.read(".memfs/status.json"))["stores"]

    assert [one.slug for one in STORES] == [one["slug"] for one in told]
    assert "read_only" == status_of(files, "old")["access"]
    assert status_of(files, "old")["archived"]


def test_a_local_change_makes_the_status_look_whether_a_worker_runs(world: World, files: Files, home: str) -> None:
    with recording(world, "notes") as state:
        state.set_synced(1.0)
        state.set_pending({})
    with world.layout.worker_lock.open("w") as lock, suppress(OSError):
        os.lockf(lock.fileno(), os.F_LOCK, 0)
        tell(world, "notes")
        assert "synced" == status_of(files, "notes")["state"]

    files.write(f"{home}/a.md", b"text")
    world.settle()

    assert "unwatched" == status_of(files, "notes")["state"]


def test_whoever_reads_an_old_text_reads_it_to_its_end(world: World, files: Files, home: str) -> None:
    files.write(f"{home}/a.md", b"text\n")
    synced(world, f"{home}/a.md", "memver_old")
    where = f".memfs/info/{home}/a.md"
    old = files.read(where)
    with files.open(where, os.O_RDONLY) as file, files.open(".memfs/status.json", os.O_RDONLY) as status:
        begun = file.read(10)
        stood = status.read()
        synced(world, f"{home}/a.md", "memver_much_newer_and_longer", S2)

        new = files.read(where)
        assert "memver_much_newer_and_longer" == json.loads(new)["version"]
        assert len(new) == files.stat(where).size
        assert old == begun + file.read(offset=10)
        assert len(old) == file.stat().size
        assert stood == status.read()


def test_who_follows_the_status_by_name_meets_another_file_each_time(world: World, files: Files) -> None:
    before = files.stat(".memfs/status.json").inode
    assert before == files.stat(".memfs/status.json").inode

    tell(world, "notes")

    assert before != files.stat(".memfs/status.json").inode


# ----------------------------------------------------------------------------------------------- when it cannot be told


@pytest.fixture
def unreadable(world: World, files: Files, home: str) -> Iterator[sqlite3.Connection]:
    """Somebody locks the database of ``notes`` for himself."""
    files.write(f"{home}/a.md", b"text\n")
    synced(world, f"{home}/a.md")
    with closing(sqlite3.connect(world.layout.store("memstore_notes").database, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        other.execute("INSERT INTO directories (path) VALUES ('/nowhere')")
        yield other


@pytest.mark.usefixtures("unreadable")
def test_while_a_database_is_locked_all_else_is_told(files: Files, home: str) -> None:
    assert {"state": "unknown", "path": f"/{home.partition('/')[2]}/a.md"}.items() <= shown(
        files, f"{home}/a.md"
    ).items()
    assert "state_unavailable" == status_of(files, "notes")["state"]
    assert "state_unavailable" != status_of(files, "other")["state"]
    assert b"state.db" not in files.read(".memfs/status.json")
    files.read(".memfs/conflicts")
    files.read(".memfs/README.md")
    assert b"text\n" == files.read(f"{home}/a.md")


def test_what_could_not_be_told_is_told_as_soon_as_it_can(
    unreadable: sqlite3.Connection, world: World, files: Files, home: str
) -> None:
    assert "unknown" == shown(files, f"{home}/a.md")["state"]
    assert "state_unavailable" == status_of(files, "notes")["state"]

    unreadable.execute("ROLLBACK")
    unreadable.close()
    world.settle()

    assert "synced" == shown(files, f"{home}/a.md")["state"]
    assert "state_unavailable" != status_of(files, "notes")["state"]


def test_a_database_that_is_gone_is_survived(world: World, files: Files) -> None:
    """A worker that finds its state damaged is started anew without it."""
    store = world.layout.store("memstore_other")
    aside = store.root / "aside"
    aside.mkdir()
    with recording(world, "other") as state:
        state.set_synced(1.0)
    tell(world, "other")
    for one in store.root.glob("state.db*"):
        one.rename(aside / one.name)
    try:
        files.write("other/a.md", b"text")
        world.settle()

        assert "never_synced" == status_of(files, "other")["state"]
        assert "pending" == shown(files, "other/a.md")["state"]
    finally:
        for one in aside.iterdir():
            one.rename(store.root / one.name)
        files.unlink("other/a.md")
    tell(world, "other")

    assert "unwatched" == status_of(files, "other")["state"]


def test_after_a_reload_everything_is_told_anew(world: World, files: Files, home: str) -> None:
    files.write(f"{home}/a.md", b"text\n")
    synced(world, f"{home}/a.md")
    assert "synced" == shown(files, f"{home}/a.md")["state"]
    with recording(world, "notes") as state:
        state.set_pending({f"/{home.partition('/')[2]}/a.md": "pending"})

    world.ask(Reload())
    world.settle()

    assert "pending" == shown(files, f"{home}/a.md")["state"]
    with recording(world, "notes") as state:
        state.set_pending({})
    until(lambda: world.ask(Reload()) == Answer() and shown(files, f"{home}/a.md")["state"] == "synced")
