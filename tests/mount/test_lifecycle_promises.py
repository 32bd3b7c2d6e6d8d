"""What a mount promises whoever starts, supervises and ends it: told when it serves, never in the way, never silent."""

import errno
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from enclosed import IS_ROOT, LIMIT_S, MEMFS, Enclosed, enclosed

from memfs.core.attachment import Access, Attachment
from memfs.fuse import mountinfo
from memfs.fuse.unmounting import unmount
from memfs.state.attachments import attach
from memfs.state.layout import Layout

OPEN = """
import os, sys
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
print('0', flush=True)
for line in sys.stdin:
    try:
        os.pwrite(file, b'x', 0)
        print(0, flush=True)
    except OSError as error:
        print(error.errno, flush=True)
"""
# A mount of someone else whose process is gone, as sshfs leaves one behind.
FOREIGN = """
import ctypes, os, sys
device = os.open("/dev/fuse", os.O_RDWR)
options = f"fd={device},rootmode=40000,user_id=0,group_id=0".encode()
libc = ctypes.CDLL(None, use_errno=True)
if libc.mount(b"host:/dir", os.fsencode(sys.argv[1]), b"fuse.sshfs", ctypes.c_ulong(6), options):
    sys.exit(os.strerror(ctypes.get_errno()))
"""
SERVING = Path(__file__).with_name("serving.py")
DUMB = f"""
import runpy, sys
from memfs.fuse import outside
outside.look = lambda *_: outside.Pulse.SILENT
runpy.run_path({str(SERVING)!r}, run_name="__main__")
"""


def bits(directory: Path) -> str:
    return f"{directory.stat().st_mode & 0o777:o}"


def killed(mounted: Any) -> None:
    mounted.process.kill()
    mounted.process.wait(LIMIT_S)


def cleared(point: Path) -> None:
    """Take away what a killed mount left."""
    if mountinfo.at(point) is not None:
        unmount(point)


# ------------------------------------------------------------------------------------------ killed and started again


def test_a_killed_mount_is_back_within_two_seconds_and_its_programs_were_told(
    mounted: Any, program: Callable[..., Any], said: Callable[..., Any]
) -> None:
    for number in range(200):
        (mounted.root / f"{number}.md").write_text("kept\n")
    user = program(OPEN, mounted.root / "open.md")
    said(user)
    waits = []
    for turn in range(3):
        killed(mounted)
        if turn == 0:
            user.stdin.write("write\n")
            user.stdin.flush()
            assert errno.ENOTCONN == said(user)
        begun = time.monotonic()

        mounted.start()

        assert mounted.is_ready, mounted.told()
        waits.append(time.monotonic() - begun)
        assert "kept\n" == (mounted.root / "199.md").read_text()
    assert min(waits) < 2.0


def test_a_program_of_the_killed_mount_is_not_served_by_the_next_one(
    mounted: Any, program: Callable[..., Any], said: Callable[..., Any]
) -> None:
    """Its handle belongs to a connection that is gone: an error at each call, never bytes of another file."""
    user = program(OPEN, mounted.root / "open.md")
    said(user)
    killed(mounted)
    mounted.start()

    for _ in range(3):
        user.stdin.write("write\n")
        user.stdin.flush()
        assert said(user) in {errno.ENOTCONN, errno.ECONNABORTED}
    assert b"" == (mounted.store.tree / "open.md").read_bytes()


# ------------------------------------------------------------------------------------------------ the bare directory


def test_the_bare_mount_point_is_not_writable_also_after_a_kill(prepared: Callable[..., Any]) -> None:
    """Nobody but root writes where nothing is mounted, to miss it once the mount covers it."""
    mounted = prepared()
    mounted.point.chmod(0o777)
    mounted.start()
    assert "755" == bits(mounted.root)

    killed(mounted)
    cleared(mounted.point)
    assert "555" == bits(mounted.point)

    mounted.start()
    assert mounted.is_ready, mounted.told()
    (mounted.root / "a.md").write_text("a\n")
    unmount(mounted.point)

    assert "555" == bits(mounted.point)
    assert [] == list(mounted.point.iterdir())


def test_a_mount_that_is_refused_leaves_the_directory_as_it_was(prepared: Callable[..., Any]) -> None:
    mounted = prepared()
    mounted.point.chmod(0o755)
    (mounted.point / "mine.md").touch()

    mounted.start()

    assert not mounted.is_ready
    assert "755" == bits(mounted.point)


# ------------------------------------------------------------------------------------------------- foreign mounts


@contextmanager
def elsewhere(directory: Path) -> Iterator[Enclosed]:
    """A mount namespace, where what is mounted is gone at the end, with a state and a mount point."""
    attach(
        Layout(directory / "state"),
        [Attachment(store_id="memstore_n", name="N", slug="n", access=Access.READ_WRITE)],
    )
    (directory / "point").mkdir()
    how = [*([] if IS_ROOT else ["--user", "--map-root-user"]), "--mount", "--propagation=private"]
    with enclosed(how, place=directory) as made:
        yield made


def test_a_foreign_mount_is_never_touched_dead_or_alive(tmp_path: Path) -> None:
    point = tmp_path / "point"
    with elsewhere(tmp_path) as host:
        foreign = {
            "tmpfs (tmpfs)": ["mount", "-t", "tmpfs", "tmpfs", point],
            "host:/dir (fuse.sshfs)": [sys.executable, "-I", "-c", FOREIGN, point],
        }
        for name, command in foreign.items():
            made = host.run(*command)
            assert 0 == made.returncode, made.stderr
            before = host.mounts(point)

            started = host.run(*MEMFS, "mount", point, "--state", tmp_path / "state")
            unmounted = host.run(*MEMFS, "unmount", "--lazy", point)

            assert 8 == started.returncode
            assert f"{name} is mounted at {point}" in started.stderr
            assert 8 == unmounted.returncode
            assert f"memfs is not mounted at {point}" in unmounted.stderr
            assert before == host.mounts(point)


# --------------------------------------------------------------------------------------------------- what is told


@pytest.fixture(params=["path", "abstract"])
def supervisor(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[socket.socket, str]]:
    """A socket as systemd gives one, and what $NOTIFY_SOCKET says of it."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.settimeout(LIMIT_S)
        named = f"memfs-{os.getpid()}" if request.param == "abstract" else str(tmp_path / "notify")
        listener.bind(f"\0{named}" if request.param == "abstract" else named)
        yield listener, f"@{named}" if request.param == "abstract" else named


def test_the_supervisor_is_told_once_the_mount_answers_and_when_it_ends(
    supervisor: tuple[socket.socket, str], prepared: Callable[..., Any]
) -> None:
    listener, address = supervisor
    mounted = prepared()
    mounted.process = subprocess.Popen(
        [*MEMFS, "mount", mounted.point, "--state", mounted.layout.root],
        env=os.environ | {"NOTIFY_SOCKET": address},
        stdout=subprocess.PIPE,
    )

    assert [b"READY=1", f"STATUS={mounted.point}".encode()] == listener.recv(4_096).splitlines()
    assert "notes" in [one.name for one in mounted.point.iterdir()]

    mounted.process.terminate()

    stopping, extension, status = listener.recv(4_096).splitlines()
    assert (b"STOPPING=1", b"EXTEND_TIMEOUT_USEC=15000000") == (stopping, extension)
    assert f"STATUS=unmounting {mounted.point}".encode() == status
    assert 0 == mounted.ended()


def test_a_mount_that_does_not_answer_is_not_ready(prepared: Callable[..., Any]) -> None:
    """The look from outside decides, and nothing is left of what was made."""
    mounted = prepared()
    done = subprocess.run(
        [sys.executable, "-I", "-c", DUMB, mounted.layout.root, mounted.point, "auto"],
        capture_output=True,
        timeout=LIMIT_S,
        check=False,
    )

    assert (8, b"") == (done.returncode, done.stdout)
    assert b"does not answer" in done.stderr
    assert not mounted.is_mounted()


@pytest.mark.parametrize("open_upcalls", ["auto", "always"])
def test_each_option_in_effect_is_logged_at_the_start(prepared: Callable[..., Any], open_upcalls: str) -> None:
    mounted = prepared(open_upcalls=open_upcalls).start()

    (line,) = [line for line in mounted.told().splitlines() if "mounted at" in line]
    owner = f"user_id={os.geteuid()},group_id={os.getegid()}"
    opens = "by the kernel" if open_upcalls == "auto" else "by upcalls"
    assert line.startswith(f"INFO:memfs.fuse.mounting:mounted at {mounted.point}: kernel options rw,nosuid,nodev")
    assert f"{owner},default_permissions" in line
    assert f"; uid {os.geteuid()}; gid {os.getegid()}; umask 022; opens {opens}; " in line
    assert line.endswith("read-only by the kernel none; read-only by the mount alone none")
