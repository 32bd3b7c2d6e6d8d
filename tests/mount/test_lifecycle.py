"""A mount from its start to its end: whatever ends it, no process and nothing mounted is left."""

import errno
import itertools
import os
import signal
import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from memfs.core.errors import MemfsError, MountPointBusy, NotMounted
from memfs.fuse import outside
from memfs.fuse.unmounting import unmount

STAY = "import os, sys; os.chdir(sys.argv[1]); print('0', flush=True); sys.stdin.read()"
OPEN = """
import json, os, sys
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
print('0', flush=True)
for line in sys.stdin:
    try:
        os.fsync(file)
        print(0, flush=True)
    except OSError as error:
        print(error.errno, flush=True)
"""


def test_unmounting_ends_the_process_and_removes_its_socket(mounted: Any) -> None:
    unmount(mounted.point)

    assert 0 == mounted.process.wait(0.5)
    assert not mounted.is_mounted()
    assert not mounted.layout.mount_socket.exists()
    assert [] == list(mounted.point.iterdir())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_unmounts_and_ends_well(mounted: Any, number: signal.Signals) -> None:
    mounted.process.send_signal(number)

    assert 0 == mounted.ended()
    assert not mounted.is_mounted()


def test_an_unmount_by_anyone_ends_the_process(mounted: Any) -> None:
    subprocess.run(["fusermount", "-u", mounted.point], check=True, timeout=20)

    assert 0 == mounted.ended()


def test_a_second_mount_follows_the_first_and_shows_what_it_left(mounted: Any) -> None:
    (mounted.root / "a.md").write_text("kept")
    unmount(mounted.point)

    mounted.start()

    assert "kept" == (mounted.root / "a.md").read_text()


def test_a_busy_mount_is_not_unmounted_and_its_holder_is_named(
    mounted: Any, program: Callable[..., Any], said: Callable[..., Any]
) -> None:
    holder = program(STAY, mounted.root)
    said(holder)

    with pytest.raises(MountPointBusy, match=rf"python.* \({holder.pid}\)") as caught:
        unmount(mounted.point)

    assert "--lazy" in caught.value.remedy
    assert mounted.is_mounted()
    assert mounted.process.poll() is None


def test_a_lazy_unmount_ends_the_process_under_its_users(
    mounted: Any, program: Callable[..., Any], said: Callable[..., Any]
) -> None:
    holder = program(OPEN, mounted.root / "a.md")
    said(holder)

    unmount(mounted.point, lazy=True)

    assert 0 == mounted.process.wait(0.5)
    holder.stdin.write("fsync\n")
    holder.stdin.flush()
    assert said(holder) in {errno.ENOTCONN, errno.ECONNABORTED}


@pytest.mark.parametrize("lazy", [False, True])
def test_a_process_that_hangs_is_ended_with_its_mount(mounted: Any, *, lazy: bool) -> None:
    (mounted.root / "a.md").write_text("kept")
    mounted.process.send_signal(signal.SIGSTOP)

    unmount(mounted.point, lazy=lazy, timeout_s=1.0)

    assert -signal.SIGKILL == mounted.process.wait(0.5)
    assert not mounted.is_mounted()
    assert "kept" == (mounted.store.tree / "a.md").read_text()


def test_a_second_signal_detaches_a_busy_mount(
    mounted: Any, program: Callable[..., Any], said: Callable[..., Any]
) -> None:
    said(program(STAY, mounted.root))

    mounted.process.send_signal(signal.SIGTERM)
    mounted.process.send_signal(signal.SIGINT)

    assert 0 == mounted.ended()
    assert not mounted.is_mounted()


def test_a_busy_mount_is_detached_in_the_end_and_the_log_says_under_whom(
    mounted: Any, program: Callable[..., Any], said: Callable[..., Any]
) -> None:
    holder = program(STAY, mounted.root)
    said(holder)

    mounted.process.send_signal(signal.SIGTERM)

    assert 0 == mounted.ended()
    assert f"({holder.pid})" in mounted.told()


BUSY = """
import itertools, os, sys
os.chdir(sys.argv[1])
print('0', flush=True)
for turn in itertools.count():
    try:
        with open(f'new-{turn % 20}.md', 'w') as file:
            file.write('x')
        os.rename(f'new-{turn % 20}.md', f'{turn % 20}.md')
    except OSError as error:
        if error.errno in (103, 107):
            print(error.errno, flush=True)
            break
"""


def test_a_mount_that_is_detached_amid_pulls_and_programs_ends(
    mounted: Any, program: Callable[..., Any], said: Callable[..., Any]
) -> None:
    """A notice waits for a directory that a program holds while it is not answered: the session must outlive both."""
    users = [program(BUSY, mounted.root) for _ in range(4)]
    for user in users:
        said(user)

    def pull() -> None:
        with suppress(OSError, ValueError, MemfsError):
            for turn in itertools.count():
                with suppress(AssertionError):
                    mounted.pull(f"/{turn % 20}.md", b"pulled", force=True)

    pulls = [threading.Thread(target=pull) for _ in range(3)]
    for thread in pulls:
        thread.start()
    for user in users:
        assert user.poll() is None
    mounted.process.send_signal(signal.SIGTERM)
    mounted.process.send_signal(signal.SIGINT)

    assert 0 == mounted.ended()
    assert {errno.ENOTCONN, errno.ECONNABORTED} >= {said(user) for user in users}
    for thread in pulls:
        thread.join()


def test_a_killed_mount_fails_its_users_and_the_next_start_clears_it(
    mounted: Any, program: Callable[..., Any], said: Callable[..., Any]
) -> None:
    (mounted.root / "a.md").write_text("kept")
    user = program(OPEN, mounted.root / "b.md")
    said(user)

    mounted.process.kill()
    mounted.process.wait(20)

    user.stdin.write("fsync\n")
    user.stdin.flush()
    assert errno.ENOTCONN == said(user)
    with pytest.raises(OSError, match="not connected") as caught:
        os.statvfs(mounted.point)
    assert errno.ENOTCONN == caught.value.errno
    assert mounted.is_mounted()

    mounted.start()

    assert mounted.is_ready, mounted.told()
    assert "kept" == (mounted.root / "a.md").read_text()


def test_a_killed_mount_is_unmounted(mounted: Any) -> None:
    mounted.process.kill()
    mounted.process.wait(20)

    unmount(mounted.point)

    assert not mounted.is_mounted()
    with pytest.raises(NotMounted):
        unmount(mounted.point)


def test_an_aborted_connection_ends_the_process_with_a_message_and_leaves_no_mount(
    mounted: Any, program: Callable[..., Any], said: Callable[..., Any]
) -> None:
    said(program(STAY, mounted.root))

    refused = subprocess.run(["umount", "--force", mounted.point], check=False, capture_output=True, timeout=20)

    assert b"busy" in refused.stderr

    assert 8 == mounted.ended()
    assert "aborted" in mounted.told()
    assert not mounted.is_mounted()


def test_a_process_that_ends_late_leaves_the_next_mount_alone(prepared: Callable[..., Any]) -> None:
    """The kernel gives the numbers of a mount that is gone to the next one, here at the same place."""
    first = prepared().start()
    second = prepared(point=first.point)
    first.process.send_signal(signal.SIGSTOP)
    outside.unmount(first.point, lazy=True)
    second.start()
    assert second.is_ready, second.told()

    first.process.send_signal(signal.SIGCONT)

    assert 0 == first.ended(), first.told()
    assert {".memfs", "notes"} == {one.name for one in second.point.iterdir()}


def test_a_mount_that_hangs_is_told_from_a_dead_one(mounted: Any) -> None:
    mounted.process.send_signal(signal.SIGSTOP)

    assert outside.Pulse.SILENT is outside.look(mounted.point, 0.3)

    mounted.process.send_signal(signal.SIGCONT)

    assert outside.Pulse.ALIVE is outside.look(mounted.point, 20)
