"""Programs that watch the mount by inotify hear of what the worker puts there, and read it when they hear of it.

Everything is watched by the real `inotifywait`. In read_only stores too, which the kernel itself may hold read-only.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mount.watches import Watch, announcer_of, serving

from memfs.core.tree_requests import Move, Outcome, Replace

Until = Callable[[Callable[[], bool]], None]


@pytest.fixture(params=["auto read_write", "auto read_only", "always read_write", "always read_only"])
def each(prepared: Callable[..., Any], request: pytest.FixtureRequest) -> Any:
    """A mount of one store, in both modes of opening with both kinds of access."""
    return serving(prepared, *request.param.split())


@pytest.fixture(params=["auto read_only", "always read_write"])
def mounted(prepared: Callable[..., Any], request: pytest.FixtureRequest) -> Any:
    """A mount of one store, in both modes of opening and with both kinds of access."""
    return serving(prepared, *request.param.split())


@pytest.fixture
def writable(prepared: Callable[..., Any]) -> Any:
    one = prepared().start()
    assert one.is_ready, one.told()
    return one


def test_a_remote_edit_and_a_remote_creation_wake_a_watcher_who_reads_the_new_bytes(
    each: Any, watching: Callable[..., Watch]
) -> None:
    watch = watching(each.root)

    for number in range(20):
        content = f"version {number}\n".encode()
        each.pull("/edited.md", content)
        assert "CLOSE_WRITE edited.md" == watch.heard()
        assert content == (each.root / "edited.md").read_bytes()

        each.pull(f"/created-{number}.md", content)
        assert f"CLOSE_WRITE created-{number}.md" == watch.heard()
        assert content == (each.root / f"created-{number}.md").read_bytes()


def test_whoever_watches_for_other_events_hears_of_them_too(each: Any, watching: Callable[..., Watch]) -> None:
    watch = watching(each.root, "create,modify,close_write,attrib,delete,moved_from,moved_to")

    each.pull("/a.md", b"one")
    made = watch.heard_until("CLOSE_WRITE a.md")
    each.pull("/a.md", b"two")
    edited = watch.heard_until("CLOSE_WRITE a.md")

    assert ["CREATE a.md", "CLOSE_WRITE a.md"] == made
    assert ["MODIFY a.md", "CLOSE_WRITE a.md"] == edited


def test_a_recursive_watcher_hears_of_new_directories_and_of_what_comes_into_them(
    each: Any, watching: Callable[..., Watch]
) -> None:
    watch = watching(each.root, "create,close_write", "-r")

    each.pull("/x/y/first.md", b"first")
    assert "CREATE,ISDIR x" == watch.heard()
    # As on any disk, who watches what is new may come too late for what is in it already: so it looks there.
    assert b"first" == (each.root / "x" / "y" / "first.md").read_bytes()
    until_watched = iter(range(1_000))
    while not any("x/y/" in event for event in heard_of(each, watch, next(until_watched))):
        pass

    each.pull("/x/y/last.md", b"last")
    watch.heard_until("CREATE x/y/last.md")
    assert "CLOSE_WRITE x/y/last.md" == watch.heard()


def heard_of(mounted: Any, watch: Watch, number: int) -> list[str]:
    """Pull one more file into the new directory, then one that is heard of in any case; return what was heard."""
    mounted.pull(f"/x/y/{number}.md", b"text")
    mounted.pull(f"/barrier-{number}.md", b"")
    return watch.heard_until(f"CLOSE_WRITE barrier-{number}.md")


def test_a_remote_rename_is_announced_under_the_new_name(mounted: Any, watching: Callable[..., Watch]) -> None:
    watch = watching(mounted.root)
    mounted.pull("/a.md", b"text")
    assert "CLOSE_WRITE a.md" == watch.heard()

    expect = mounted.identity("/a.md")
    answer = mounted.ask(Move(store_id="memstore_notes", path="/a.md", target="/b.md", expect=expect))

    assert Outcome.APPLIED is answer.outcome
    assert "CLOSE_WRITE b.md" == watch.heard()
    assert b"text" == (mounted.root / "b.md").read_bytes()


def test_a_pull_that_was_refused_is_not_announced(writable: Any, watching: Callable[..., Watch]) -> None:
    (writable.root / "a.md").write_bytes(b"just written")
    watch = watching(writable.root)
    (writable.store.staging / "next").write_bytes(b"pulled")
    wanted = Replace(store_id="memstore_notes", path="/a.md", staged="next", expect=writable.identity("/a.md"))

    assert Outcome.BUSY is writable.ask(wanted).outcome

    writable.pull("/b.md", b"another")
    assert "CLOSE_WRITE b.md" == watch.heard()
    assert b"just written" == (writable.root / "a.md").read_bytes()


def test_announcing_changes_nothing_and_keeps_no_later_pull_out(each: Any, watching: Callable[..., Watch]) -> None:
    """The identity that the worker was answered stays, so it sees no local edit; and nobody counts as writing."""
    watch = watching(each.root)
    tree = each.store.tree / "a.md"
    each.pull("/a.md", b"first")
    watch.heard()
    shown = (each.root / "a.md").stat()

    for number in range(10):
        (each.store.staging / "next").write_bytes(b"pulled %d" % number)
        before = each.identity("/a.md")
        answer = each.ask(Replace(store_id="memstore_notes", path="/a.md", staged="next", expect=before))
        atime_ns = tree.stat().st_atime_ns

        assert Outcome.APPLIED is answer.outcome
        assert "CLOSE_WRITE a.md" == watch.heard()
        assert answer.identity == each.identity("/a.md")
        assert atime_ns == tree.stat().st_atime_ns
        assert b"pulled %d" % number == tree.read_bytes()
    found = (each.root / "a.md").stat()
    assert (shown.st_mode, shown.st_uid, shown.st_gid) == (found.st_mode, found.st_uid, found.st_gid)
    assert answer.identity.mtime_ns == found.st_mtime_ns


def test_a_first_download_is_announced_as_a_whole_where_somebody_looked_before(
    writable: Any, watching: Callable[..., Watch]
) -> None:
    watch = watching(writable.root)

    for number in range(500):
        writable.pull(f"/{number}.md", b"text")

    expected = {f"CLOSE_WRITE {number}.md" for number in range(500)}
    assert expected == {watch.heard() for _ in range(500)}


def test_nothing_is_announced_where_nobody_can_be_watching(writable: Any, until: Until) -> None:
    """The kernel knows no directory below the mount's root: a first download is not slowed for nothing."""
    until(lambda: announcer_of(writable) is not None)
    for number in range(50):
        writable.pull(f"/d/{number}.md", b"text")

    upcalls = writable.upcalls()

    assert upcalls["announcements"] <= 2  # What the process asks to find out whether it is known.
    assert "create" not in upcalls


def test_programs_that_look_make_and_list_meanwhile_see_no_error(
    mounted_either_way: Any, watching: Callable[..., Watch], program: Callable[..., Any], said: Callable[..., Any],
    tmp_path: Path,
) -> None:  # fmt: skip
    mounted, stop = mounted_either_way, tmp_path / "stop"
    watch = watching(mounted.root, "create,close_write")
    busy = [program(LOOK, mounted.root, stop) for _ in range(2)]
    for one in busy:
        said(one)

    for number in range(150):
        mounted.pull(f"/d-{number}/a.md", b"whole")
        mounted.pull(f"/f-{number}.md", b"whole")
    events = watch.heard_until("CLOSE_WRITE f-149.md")
    stop.touch()

    assert [0, 0] == [said(one) for one in busy]
    assert {f"CREATE,ISDIR d-{number}" for number in range(150)} <= set(events)
    assert {f"CLOSE_WRITE f-{number}.md" for number in range(150)} <= set(events)
    assert "WARNING" not in mounted.told()


LOOK = """
import os, sys
root, stop = sys.argv[1:]
print(0, flush=True)
wrong, seen = 0, set()
while not os.path.exists(stop):
    names = os.listdir(root)
    wrong += not seen <= set(names)
    seen = set(names)
    for name in sorted(seen)[-20:]:
        path = f'{root}/{name}/a.md' if name.startswith('d') else f'{root}/{name}'
        try:
            with open(path, 'rb') as file:
                wrong += file.read() != b'whole'
        except FileNotFoundError:
            wrong += 1
print(wrong, flush=True)
"""
