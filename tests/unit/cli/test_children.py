"""Supervised children, as real processes: ready, status, restart by name, stop, and no orphan."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from memfs.cli.children import Child, Supervisor

SERVE = """
from memfs.health import notify
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))
notify(ready=True, status="at work")
while True: time.sleep(0.01)
"""
IGNORE_ONCE = """
from memfs.health import notify
import signal, sys, time
asked = []
signal.signal(signal.SIGTERM, lambda *_: (asked.append(1), notify(status="asked")))
notify(ready=True)
while len(asked) < 2: time.sleep(0.01)
"""
DEAF = """
from memfs.health import notify
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
notify(ready=True)
while True: time.sleep(0.01)
"""


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


@pytest.fixture
def supervisor() -> Iterator[tuple[Supervisor, list[str]]]:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    said: list[str] = []
    yield Supervisor(said.append, lambda: 0.0), said
    for number, handler in before.items():
        signal.signal(number, handler)


def test_a_child_is_ready_when_it_says_so(tmp_path: Path) -> None:
    child = Child("thing", python(SERVE), tmp_path)
    child.start()

    assert child.wait_ready(10.0)
    assert child.status == "at work"
    assert child.stop(5.0) == 3
    child.close()


def test_a_child_that_ends_is_not_ready_and_its_exit_code_is_kept(tmp_path: Path) -> None:
    child = Child("thing", python("import sys; sys.exit(4)"), tmp_path)
    child.start()

    assert not child.wait_ready(10.0)
    assert child.ended() == 4
    child.close()


def test_a_second_signal_is_sent_when_there_is_a_hurry(tmp_path: Path) -> None:
    child = Child("thing", python(IGNORE_ONCE), tmp_path)
    child.start()
    child.wait_ready(10.0)

    def was_asked_once() -> bool:
        child.hear()
        return child.status == "asked"

    assert child.stop(10.0, hurry=was_asked_once) == 0
    child.close()


def test_a_child_that_does_not_end_is_killed(tmp_path: Path) -> None:
    child = Child("thing", python(DEAF), tmp_path)
    child.start()
    child.wait_ready(10.0)

    assert child.stop(0.2) == -signal.SIGKILL
    child.close()


def test_a_child_that_dies_is_named_and_started_again(tmp_path: Path, supervisor: tuple[Supervisor, list[str]]) -> None:
    watcher, said = supervisor
    child = Child("worker", python(SERVE), tmp_path)
    child.start()
    child.wait_ready(10.0)
    first = child.pid
    os.kill(first, signal.SIGKILL)

    def stop_when_back() -> None:
        if child.pid != first and child.ready:
            os.kill(os.getpid(), signal.SIGTERM)

    watcher.watch([child], on_tick=stop_when_back)

    assert said == ["the worker ended with signal SIGKILL; it starts again in 0.0 s"]
    assert child.ended() is None
    child.stop(5.0)
    child.close()


def test_output_goes_to_the_log_that_is_named(tmp_path: Path) -> None:
    child = Child("thing", python("print('hello')"), tmp_path, log=tmp_path / "log")
    child.start()
    child.wait_ready(10.0)

    assert (tmp_path / "log").read_text() == "hello\n"
    child.close()


def test_children_end_when_their_supervisor_is_killed(tmp_path: Path) -> None:
    """SIGKILL gives no chance to clean up: the kernel tells the children."""
    script = textwrap.dedent(f"""
        import sys, time
        from pathlib import Path
        from memfs.cli.children import Child
        child = Child("thing", [sys.executable, "-c", {SERVE!r}], Path({str(tmp_path)!r}))
        child.start()
        assert child.wait_ready(10.0)
        print(child.pid, flush=True)
        time.sleep(60)
    """)
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    assert parent.stdout
    grandchild = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    parent.stdout.close()

    deadline = time.monotonic() + 10
    while is_alive(grandchild) and time.monotonic() < deadline:
        time.sleep(0.01)

    assert not is_alive(grandchild)


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"
