"""`memfs demo` comes out as expected, and leaves nothing behind, also when it is interrupted."""

import signal
import subprocess
import tempfile
from pathlib import Path

from commands import MEMFS, Memfs
from running_up import children_of, eventually


def test_the_demo_shows_every_step_and_leaves_nothing(tmp_path: Path) -> None:
    printed = Memfs.at_home(tmp_path, TMPDIR=str(tmp_path)).run("demo")

    assert printed.code == 0, printed.out
    for shown in ("Read-only file system", "on B after", ".conflict-", "Successfully renamed", "created", "IUsed"):
        assert shown in printed.out
    assert not list(tmp_path.glob("memfs-*"))
    assert str(tmp_path) not in Path("/proc/self/mountinfo").read_text()


def test_an_interrupted_demo_leaves_nothing(tmp_path: Path) -> None:
    memfs = Memfs.at_home(tmp_path, TMPDIR=str(tmp_path))
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen([MEMFS, "demo"], env=dict(memfs.environ), stdout=output, start_new_session=True)
        eventually(lambda: str(tmp_path) in Path("/proc/self/mountinfo").read_text(), 60)
        below = descendants(process.pid)
        process.send_signal(signal.SIGINT)
        code = process.wait(60)

    assert code == 130
    assert below
    assert not [pid for pid in below if Path(f"/proc/{pid}").exists()]
    assert not list(tmp_path.glob("memfs-*"))
    assert str(tmp_path) not in Path("/proc/self/mountinfo").read_text()


def descendants(pid: int) -> list[int]:
    direct = children_of(pid)
    return [*direct, *(one for child in direct for one in descendants(child))]
