"""Programs that watch the mount by inotify hear of what the worker puts there, and read it when they hear of it.

Everything is watched by the real `inotifywait`. In read_only stores too, which the kernel itself may hold read-only.
"""

import os
import select
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memfs.core.attachment import Access, Attachment
from memfs.core.tree_requests import Move, Outcome, Replace
from memfs.fuse import announcing_process
from memfs.fuse.unmounting import unmount
from memfs.state.attachments import attach

Until = Callable[[Callable[[], bool]], None]
LIMIT_S = 20.0


class Watch:
    """A running `inotifywait`; each event is ``EVENTS PATH``, the path below what is watched."""

    def __init__(self, directory: Path, events: str, *words: str) -> None:
        self._directory = directory
        command = ["inotifywait", "-m", "-e", events, "--format", "%e %w%f", *words, directory]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/")
        self._pending = b""
        self._await_start()

    def heard(self) -> str:
        """Return the next event, which must come within the limit."""
        assert self.process.stdout is not None
        while b"\n" not in self._pending:
            readable, _, _ = select.select([self.process.stdout], [], [], LIMIT_S)
            assert readable, "nothing was heard"
            self._pending += os.read(self.process.stdout.fileno(), 4_096)
        line, _, self._pending = self._pending.partition(b"\n")
        events, _, path = line.decode().partition(" ")
        return f"{events.removesuffix(',CLOSE')} {Path(path).relative_to(self._directory)}"

    def heard_until(self, last: str) -> list[str]:
        """Return the events up to and with ``last``."""
        events = [self.heard()]
        while events[-1] != last:
            events.append(self.heard())
        return events

    def end(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=LIMIT_S)

    def _await_start(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            if b"established" in line:
                return


@pytest.fixture
def watching() -> Iterator[Callable[..., Watch]]:
    """Watch directories; ended in the end."""
    watches: list[Watch] = []

    def watch(directory: Path, events: str = "close_write", *words: str) -> Watch:
        watches.append(Watch(directory, events, *words))
        return watches[-1]

    yield watch
    for one in watches:
        one.end()


@pytest.fixture(params=["auto read_write", "auto read_only", "always read_write", "always read_only"])
def each(prepared: Callable[..., Any], request: pytest.FixtureRequest) -> Any:
    """A mount of one store, in both modes of opening with both kinds of access."""
    return serving(prepared, *request.param.split())


@pytest.fixture(params=["auto read_only", "always read_write"])
def mounted(prepared: Callable[..., Any], request: pytest.FixtureRequest) -> Any:
    """A mount of one store, in both modes of opening and with both kinds of access."""
    return serving(prepared, *request.param.split())


def serving(prepared: Callable[..., Any], open_upcalls: str, access: str) -> Any:
    one = prepared(open_upcalls=open_upcalls)
    attach(one.layout, [Attachment(store_id="memstore_notes", name="Notes", slug="notes", access=Access(access))])
    one.start()
    assert one.is_ready, one.told()
    return one


@pytest.fixture
def writable(prepared: Callable[..., Any]) -> Any:
    one = prepared().start()
    assert one.is_ready, one.told()
    return one


def announcers() -> dict[int, list[str]]:
    """Return the words of every process that announces, whoever started it."""
    found = {}
    for process in Path("/proc").iterdir():
        if process.name.isdecimal():
            try:
                words = (process / "cmdline").read_bytes().decode().split("\0")
            except OSError:
                continue
            if announcing_process.__file__ in words:
                found[int(process.name)] = words
    return found


def announcer_of(mounted: Any) -> int | None:
    """Return the process that announces for this mount."""
    return next((pid for pid, words in announcers().items() if str(mounted.point) in words), None)


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


def test_a_directory_that_somebody_uses_already_is_announced_all_the_same(
    mounted: Any, watching: Callable[..., Watch], until: Until, program: Callable[..., Any], said: Callable[..., Any]
) -> None:
    watch = watching(mounted.root, "create")
    announcer = announced_once(mounted, watch)
    os.kill(announcer, signal.SIGSTOP)
    mounted.pull("/d/a.md", b"text")
    until((mounted.root / "d" / "a.md").exists)
    inside = program(STAY, mounted.root / "d")
    said(inside)

    os.kill(announcer, signal.SIGCONT)

    assert "CREATE,ISDIR d" == watch.heard()
    inside.stdin.write("\n")
    inside.stdin.flush()
    assert f"['a.md'] {mounted.root / 'd'}\n" == inside.stdout.readline()


STAY = """
import os, sys
os.chdir(sys.argv[1])
print(1, flush=True)
sys.stdin.readline()
print(os.listdir(), os.getcwd(), flush=True)
"""


def announced_once(mounted: Any, watch: Watch) -> int:
    """Have something announced, so that the process is there and at work; return its id."""
    mounted.pull("/first.md", b"first")
    watch.heard()
    pid = announcer_of(mounted)
    assert pid is not None
    return pid


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


def test_the_announcing_process_has_nothing_open_but_its_pipes_and_sees_nothing_but_the_mount(
    mounted: Any, watching: Callable[..., Watch]
) -> None:
    pid = announced_once(mounted, watching(mounted.root))

    opened = sorted(Path(f"/proc/{pid}/fd").iterdir())
    kinds = [str(one.readlink()).partition(":")[0] for one in opened]
    mounts = Path(f"/proc/{pid}/mountinfo").read_text().splitlines()

    assert ["pipe", "pipe", "/dev/null"] == kinds
    assert ["0", "1", "2"] == [one.name for one in opened]
    assert ["/ fuse.memfs"] == [f"{line.split()[4]} {line.partition(' - ')[2].split()[0]}" for line in mounts]


def test_a_killed_announcer_is_followed_by_another_and_nothing_is_left_out(
    mounted: Any, watching: Callable[..., Watch], until: Until
) -> None:
    watch = watching(mounted.root)
    for number in range(3):
        mounted.pull(f"/a-{number}.md", b"text")
        assert f"CLOSE_WRITE a-{number}.md" == watch.heard()
        os.kill(announcer_of(mounted) or 0, signal.SIGKILL)

        mounted.pull(f"/b-{number}.md", b"text")
        assert f"CLOSE_WRITE b-{number}.md" == watch.heard()
        until(lambda: announcer_of(mounted) is not None)
    assert "WARNING" not in mounted.told()


def test_an_announcer_that_stands_still_delays_nobody(
    mounted: Any, watching: Callable[..., Watch], until: Until
) -> None:
    pid = announced_once(mounted, watching(mounted.root))
    os.kill(pid, signal.SIGSTOP)

    for number in range(200):
        mounted.pull(f"/{number}.md", b"text")
    until((mounted.root / "199.md").exists)
    unmount(mounted.point)

    assert 0 == mounted.ended()
    assert not mounted.is_mounted()
    assert announcer_of(mounted) is None


@pytest.mark.parametrize("how", ["SIGTERM", "SIGKILL", "umount", "umount --lazy"])
def test_no_announcer_outlives_its_mount_though_it_is_at_work(
    mounted: Any, watching: Callable[..., Watch], until: Until, how: str
) -> None:
    watch = watching(mounted.root)
    announced_once(mounted, watch)
    for number in range(200):
        mounted.pull(f"/{number}.md", b"text")
    watch.end()

    if how.startswith("SIG"):
        mounted.process.send_signal(signal.Signals[how])
    else:
        lazily = ["-z"] if "lazy" in how else []
        if os.geteuid() == 0 and not lazily and (mounted.root / "0.md").stat().st_mode & 0o222 == 0:
            subprocess.run(["umount", mounted.root], check=True, timeout=LIMIT_S)
        subprocess.run(["fusermount", "-u", *lazily, mounted.point], check=True, timeout=LIMIT_S)

    assert (-signal.SIGKILL if how == "SIGKILL" else 0) == mounted.ended()
    until(lambda: announcer_of(mounted) is None)
    if how != "SIGKILL":
        assert [] == list(mounted.point.iterdir())
        assert "WARNING" not in mounted.told()


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


def test_a_limit_of_the_queue_drops_the_oldest_and_one_path_waits_once() -> None:
    from memfs.fuse.announcing import QUEUE, Announcer  # noqa: PLC0415  (this test alone looks inside)
    from memfs.vfs.values import Announcement, Event  # noqa: PLC0415  (the same)

    announcer = Announcer()
    announcer.announce(Announcement(b"n/again.md", Event.MADE))
    announcer.announce(Announcement(b"n/again.md", Event.EDITED))
    assert {b"n/again.md": Event.MADE} == announcer._waiting

    for number in range(QUEUE):
        announcer.announce(Announcement(b"n/%d" % number, Event.EDITED))
    announcer.stop()

    assert QUEUE == len(announcer._waiting)
    assert b"n/again.md" not in announcer._waiting


def test_mounting_elsewhere_ends_no_announcing(writable: Any, watching: Callable[..., Watch]) -> None:
    watch = watching(writable.root)
    pid = announced_once(writable, watch)
    elsewhere = writable.layout.root / "elsewhere"
    elsewhere.mkdir()
    if os.geteuid() == 0:
        subprocess.run(["mount", "-t", "tmpfs", "none", elsewhere], check=True, timeout=LIMIT_S)
        subprocess.run(["umount", elsewhere], check=True, timeout=LIMIT_S)

    writable.pull("/a.md", b"text")

    assert "CLOSE_WRITE a.md" == watch.heard()
    assert pid == announcer_of(writable)
