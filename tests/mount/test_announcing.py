"""The process that announces: it may die, stand still or be at work when the mount ends, and delays nobody."""

import errno
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mount.watches import LIMIT_S, Watch, announced_once, announcer_of, serving

from memfs.fuse.announcing import QUEUE, Announcer
from memfs.fuse.unmounting import unmount
from memfs.vfs.values import Announcement, Event

Until = Callable[[Callable[[], bool]], None]

STAY = """
import os, sys
os.chdir(sys.argv[1])
print(1, flush=True)
sys.stdin.readline()
print(os.listdir(), os.getcwd(), flush=True)
"""

MAKE = """
import os, sys
root, me = sys.argv[1:]
print(0, flush=True)
try:
    for number in range(1_000_000):
        path = f'{root}/{me}-{number % 5}'
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
        os.unlink(path)
except OSError as error:
    print(error.errno, flush=True)
"""


@pytest.fixture(params=["auto read_only", "always read_write"])
def mounted(prepared: Callable[..., Any], request: pytest.FixtureRequest) -> Any:
    """A mount of one store, in both modes of opening and with both kinds of access."""
    return serving(prepared, *request.param.split())


@pytest.fixture
def writable(prepared: Callable[..., Any]) -> Any:
    one = prepared().start()
    assert one.is_ready, one.told()
    return one


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


def test_the_announcing_process_has_no_file_of_the_mount_open_and_sees_nothing_else(
    mounted: Any, watching: Callable[..., Watch]
) -> None:
    pid = announced_once(mounted, watching(mounted.root))

    opened = [str(one.readlink()) for one in Path(f"/proc/{pid}/fd").iterdir()]
    mounts = Path(f"/proc/{pid}/mountinfo").read_text().splitlines()

    assert [] == [one for one in opened if not one.startswith(("pipe:", "/dev/null")) and not one.endswith("/abort")]
    assert ["/ fuse.memfs"] == [f"{line.split()[4]} {line.partition(' - ')[2].split()[0]}" for line in mounts]


def test_a_killed_announcer_is_followed_by_another_and_nothing_is_left_out(
    mounted: Any, watching: Callable[..., Watch], until: Until
) -> None:
    """What had been announced, but not yet told so, may be announced again."""
    watch = watching(mounted.root)
    for number in range(3):
        mounted.pull(f"/a-{number}.md", b"text")
        watch.heard_until(f"CLOSE_WRITE a-{number}.md")
        killed = announcer_of(mounted)
        assert killed is not None
        os.kill(killed, signal.SIGKILL)

        mounted.pull(f"/b-{number}.md", b"text")
        watch.heard_until(f"CLOSE_WRITE b-{number}.md")
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
    until(lambda: announcer_of(mounted) is None)
    if not how.startswith("SIG"):
        # The process ends by itself, but not while a namespace of somebody else still holds what it served.
        mounted.process.send_signal(signal.SIGTERM)

    expected = {"SIGKILL": {-signal.SIGKILL}, "SIGTERM": {0}}.get(how, {0, -signal.SIGTERM})
    assert mounted.ended() in expected
    if how != "SIGKILL":
        assert [] == list(mounted.point.iterdir())
        assert "WARNING" not in mounted.told()


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


@pytest.mark.parametrize("_kill", [*range(5), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(5, 60))])
def test_a_killed_mount_ends_at_once_though_programs_hold_the_directory_that_it_tells_the_kernel_of(
    writable: Any,
    program: Callable[..., Any],
    said: Callable[..., Any],
    until: Until,
    _kill: int,
) -> None:
    """Its notice waits for a program that waits for its answer: the announcing process ends that by an abort."""
    programs = [program(MAKE, writable.root, number) for number in range(3)]
    for one in programs:
        said(one)
    writable.pull("/0.md", b"text")
    until(lambda: announcer_of(writable) is not None)
    for number in range(40):
        writable.pull(f"/{number % 7}.md", b"text %d" % number, force=True)

    writable.process.kill()

    assert -signal.SIGKILL == writable.ended()
    assert {errno.ENOTCONN, errno.ECONNABORTED} >= {said(one) for one in programs}


def test_a_limit_of_the_queue_drops_the_oldest_and_one_path_waits_once() -> None:
    announcer = Announcer()
    announcer.announce(Announcement(b"n/again.md", Event.MADE))
    announcer.announce(Announcement(b"n/again.md", Event.EDITED))
    assert {b"n/again.md": Event.MADE} == announcer._waiting

    for number in range(QUEUE):
        announcer.announce(Announcement(b"n/%d" % number, Event.EDITED))
    announcer.stop()

    assert QUEUE == len(announcer._waiting)
    assert b"n/again.md" not in announcer._waiting
