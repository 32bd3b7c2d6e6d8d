"""`--no-fuse`, end to end: the same tree at the same paths by links, its weaker promises kept, nothing lost."""

import json
import os
import signal
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import Memfs
from running_up import Up, eventually, is_mounted, running_up

NOBODY = 65_534


@pytest.fixture
def notes(memfs: Memfs, tmp_path: Path) -> str:
    """A store of this test's own, by a name nobody else has."""
    name = f"Notes {tmp_path.name}"
    assert memfs.run("stores", "create", name).code == 0
    return name


def directory_of(up: Up) -> Path:
    (only,) = (one for one in up.mount.iterdir() if one.name != ".memfs")
    return only


def stores(up: Up) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(up.status().out)["stores"]
    return found


def trash(up: Up) -> set[str]:
    return {path.read_text() for path in up.state.glob("stores/*/trash/*")}


def test_edits_go_out_and_come_in_as_on_a_mount(memfs: Memfs, notes: str, tmp_path: Path) -> None:
    with (
        running_up(memfs, tmp_path / "a", "--store", notes, "--no-fuse") as a,
        running_up(memfs, tmp_path / "b", "--store", notes) as b,
    ):
        assert not is_mounted(a.mount)
        assert directory_of(a).is_symlink()
        (directory_of(a) / "deep").mkdir()
        (directory_of(a) / "deep" / "plan.md").write_text("Monday\n")
        eventually(lambda: (directory_of(b) / "deep" / "plan.md").read_text() == "Monday\n")
        (directory_of(b) / "deep" / "plan.md").write_text("Friday\n")
        eventually(lambda: (directory_of(a) / "deep" / "plan.md").read_text() == "Friday\n")
        (directory_of(b) / "deep" / "plan.md").unlink()
        eventually(lambda: not (directory_of(a) / "deep" / "plan.md").exists())
        code = a.stop()

    assert code == 0
    assert "directory mode: " in a.told()
    assert "everything is synced" in a.told()
    assert [] == list(a.mount.iterdir())


def test_status_and_the_texts_tell_the_mode(memfs: Memfs, notes: str, tmp_path: Path) -> None:
    with running_up(memfs, tmp_path, "--store", f"{notes}:ro", "--no-fuse") as up:
        shown = up.mount / ".memfs"
        assert "directory mode" in up.memfs.run("status", "--state", up.state).out
        assert "permissions" == stores(up)[0]["read_only_by"]
        assert ["README.md", "conflicts", "status.json"] == sorted(path.name for path in shown.iterdir())
        assert f"Path: {directory_of(up)}" in (shown / "README.md").read_text()
        assert "info/" not in (shown / "README.md").read_text()
        memfs.run("memories", "put", notes, "/a.md", stdin=b"one\n")
        eventually(lambda: json.loads((shown / "status.json").read_text())["stores"][0]["memories"] == 1)
        assert 0o444 == stat.S_IMODE((shown / "status.json").stat().st_mode)


def test_what_is_written_into_a_read_only_store_is_put_back_and_kept(memfs: Memfs, notes: str, tmp_path: Path) -> None:
    """Root is not stopped by permission bits."""
    memfs.run("memories", "put", notes, "/rules/one.md", stdin=b"one\n")

    with running_up(memfs, tmp_path, "--store", f"{notes}:ro", "--no-fuse") as up:
        rules = directory_of(up) / "rules" / "one.md"
        eventually(lambda: rules.read_text() == "one\n")
        rules.write_text("mine\n")
        eventually(lambda: rules.read_text() == "one\n" and "mine\n" in trash(up))
        rules.unlink()
        eventually(lambda: rules.read_text() == "one\n")
        (directory_of(up) / "own.md").write_text("own\n")
        eventually(lambda: "own\n" in trash(up) and not (directory_of(up) / "own.md").exists())
        memfs.run("memories", "put", notes, "/rules/one.md", stdin=b"two\n")
        memfs.run("memories", "put", notes, "/new/two.md", stdin=b"new\n")
        eventually(
            lambda: (directory_of(up) / "new" / "two.md").read_text() == "new\n" and rules.read_text() == "two\n"
        )
        bits = {path: stat.S_IMODE(path.stat().st_mode) & 0o222 for path in directory_of(up).rglob("*")}
        assert set(bits.values()) == {0}, bits

    assert memfs.run("memories", "get", notes, "/rules/one.md").out == "two\n"
    tree = next(up.state.glob("stores/*/tree"))
    assert 0o200 == stat.S_IMODE((tree / "rules" / "one.md").stat().st_mode) & 0o200


def test_a_store_that_was_read_only_by_links_can_be_written_when_mounted(
    memfs: Memfs, notes: str, tmp_path: Path
) -> None:
    """The process was killed, so that it gave no bits back."""
    memfs.run("memories", "put", notes, "/one.md", stdin=b"one\n")
    with running_up(memfs, tmp_path, "--store", f"{notes}:ro", "--no-fuse") as up:
        eventually((directory_of(up) / "one.md").exists)
        os.kill(up.children()["mount"], signal.SIGKILL)
        os.kill(up.process.pid, signal.SIGKILL)
        up.process.wait(30)
    refused = [
        memfs.run(*words, "--state", up.state)
        for words in (("mount", up.mount), ("up", "--store", notes, "--mount", up.mount))
    ]
    assert [8, 8] == [one.code for one in refused]
    assert all(f"End that first: memfs unmount {up.mount}\n" in one.err for one in refused), refused
    assert up.memfs.run("unmount", up.mount).code == 0
    assert [] == list(up.mount.iterdir())

    with running_up(memfs, tmp_path, "--store", notes) as again:
        mode = stat.S_IMODE((directory_of(again) / "one.md").stat().st_mode)
        (directory_of(again) / "one.md").write_text("two\n")
        eventually(lambda: memfs.run("memories", "get", notes, "/one.md").out == "two\n")

    assert mode & 0o200


def test_a_killed_process_is_taken_over_by_the_next(memfs: Memfs, notes: str, tmp_path: Path) -> None:
    with running_up(memfs, tmp_path, "--store", notes, "--no-fuse") as up:
        before = up.children()["mount"]
        os.kill(before, signal.SIGKILL)
        (directory_of(up) / "kept.md").write_text("kept\n")
        eventually(lambda: up.children().get("mount", before) != before)
        eventually(lambda: memfs.run("memories", "get", notes, "/kept.md").out == "kept\n")
        assert (directory_of(up) / "kept.md").read_text() == "kept\n"


def test_a_link_that_is_taken_away_comes_back_and_one_that_is_replaced_is_named(
    memfs: Memfs, notes: str, tmp_path: Path
) -> None:
    """As `rm -rf notes && mkdir notes` does, which takes the link, not what it leads to."""
    with running_up(memfs, tmp_path, "--store", notes, "--no-fuse") as up:
        link = directory_of(up)
        (link / "kept.md").write_text("kept\n")
        link.unlink()
        eventually(link.is_symlink)
        kept = (link / "kept.md").read_text()
        link.unlink()
        link.mkdir()
        (link / "lost.md").write_text("in no store\n")
        eventually(lambda: f"{link} is no longer the link to its store" in up.told())
        aside = (link / "lost.md").rename(tmp_path / "aside.md")
        link.rmdir()
        eventually(link.is_symlink)

    assert ("kept\n", "in no store\n") == (kept, aside.read_text())


def test_unmount_ends_it(memfs: Memfs, notes: str, tmp_path: Path) -> None:
    with running_up(memfs, tmp_path, "--store", notes, "--no-fuse") as up:
        unmounted = up.memfs.run("unmount", up.mount)
        code = up.process.wait(60)

    assert (unmounted.code, unmounted.err, code) == (0, "", 0)
    assert [] == list(up.mount.iterdir())


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda mount, _: (mount / "mine.txt").write_text("mine"), "is not empty: 'mine.txt' is in it"),
        (lambda mount, _: mount.rmdir(), "does not exist"),
        (
            lambda mount, other: (mount / "notes").symlink_to(other / "stores" / "memstore_1" / "tree"),
            "shows the stores of the state",
        ),
    ],
)
def test_a_directory_of_somebody_else_is_refused_and_left_alone(
    memfs: Memfs, tmp_path: Path, spoil: Callable[[Path, Path], object], says: str
) -> None:
    mount, state = tmp_path / "mount", tmp_path / "state"
    mount.mkdir()
    spoil(mount, tmp_path / "other")
    before = sorted(mount.iterdir()) if mount.exists() else None

    refused = memfs.run("mount", mount, "--state", state, "--no-fuse")

    assert refused.code == 8
    assert says in refused.err
    assert before == (sorted(mount.iterdir()) if mount.exists() else None)


def test_a_mount_is_not_covered_by_links(memfs: Memfs, notes: str, tmp_path: Path) -> None:
    with running_up(memfs, tmp_path, "--store", notes) as up:
        refused = memfs.run("mount", up.mount, "--state", tmp_path / "other", "--no-fuse")
        same_state = memfs.run("mount", tmp_path / "up", "--state", up.state, "--no-fuse")

    assert (8, True) == (refused.code, "is mounted at" in refused.err)
    assert same_state.code in {8, 9}
