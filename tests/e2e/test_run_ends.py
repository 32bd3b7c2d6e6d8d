"""How `memfs run` ends: with its command, by signals, and killed; nothing of it is left, nothing written is lost."""

import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from commands import RunningServer
from running_inside import USERS, Inside, inside
from running_up import children_of, eventually

if TYPE_CHECKING:
    import subprocess

NOTES = "cd /mnt/memory/*/ && "


@pytest.fixture(params=USERS)
def within(store_server: RunningServer, tmp_path: Path, request: pytest.FixtureRequest) -> Inside:
    return inside(store_server, tmp_path, request.param)


@pytest.fixture
def one(store_server: RunningServer, tmp_path: Path) -> Inside:
    return inside(store_server, tmp_path, USERS[0])


def processes_of(one: Inside) -> dict[int, str]:
    """Return every process that has this user's home in its environment."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if f"HOME={one.home}\0".encode() in (process / "environ").read_bytes():
                found[int(process.name)] = (process / "cmdline").read_text().replace("\0", " ")
    return found


def said(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def test_killed_it_leaves_no_process_no_mount_and_loses_nothing(within: Inside) -> None:
    script = f"{NOTES} echo first >first.md; sleep 1000 & setsid sleep 1000 & echo begun; wait"
    with within.running("sh", "-c", script) as process:
        assert "begun\n" == said(process)
        assert len(processes_of(within)) >= 7
        process.kill()
        eventually(lambda: not processes_of(within))

    assert str(within.home) not in Path("/proc/self/mountinfo").read_text()
    assert 0 == within.run("true").code
    assert "first\n" == within.remote("/first.md")


def test_what_the_command_leaves_running_ends_with_it(one: Inside) -> None:
    done = one.run("sh", "-c", "setsid sleep 1000 >/dev/null 2>&1 & echo left")

    assert (0, "left\n") == (done.code, done.out)
    assert {} == processes_of(one)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_goes_to_the_command_and_the_end_is_in_good_order(number: signal.Signals, one: Inside) -> None:
    script = (
        f"{NOTES} trap 'echo {number.name} >told.md; exit 9' {number.name[3:]}; echo begun; while :; do sleep .1; done"
    )
    with one.running("bash", "-c", script) as process:
        assert "begun\n" == said(process)
        process.send_signal(number)

        assert 9 == process.wait(60)

    assert f"{number.name}\n" == one.remote("/told.md")


def test_a_command_that_dies_of_the_signal_is_told_as_shells_do(one: Inside) -> None:
    with one.running("sh", "-c", "echo begun; exec sleep 1000") as process:
        assert "begun\n" == said(process)
        process.terminate()

        assert 128 + signal.SIGTERM == process.wait(60)


def test_a_command_that_kills_all_it_can_does_not_reach_memfs(within: Inside) -> None:
    done = within.run("sh", "-c", f"{NOTES} echo kept >kept.md; kill -9 0 -1")

    assert 128 + signal.SIGKILL == done.code
    assert "" == done.err
    assert "kept\n" == within.remote("/kept.md")


def test_a_killed_mount_comes_back_where_the_command_sees_it(within: Inside) -> None:
    script = "echo begun; read go; until cd /mnt/memory/*/ && echo again >a.md; do sleep .1; cd /; done 2>/dev/null"
    with within.running("bash", "-c", script) as process:
        assert "begun\n" == said(process)
        (mount,) = [pid for pid, words in processes_of(within).items() if "memfs.cli mount /mnt/memory" in words]
        os.kill(mount, signal.SIGKILL)
        _, told = process.communicate("go\n", 90)

    assert 0 == process.returncode
    assert "the mount ended with signal SIGKILL" in told
    assert "again\n" == within.remote("/a.md")


def test_a_start_that_fails_leaves_nothing_even_where_the_state_is_lost(one: Inside) -> None:
    """The state is moved away while everything starts: whatever message comes of it, memfs and all it started end."""
    with one.running("echo", "begun") as process:
        eventually((one.state / "worker.lock").exists)
        one.state.rename(one.state.with_name("lost"))
        process.communicate(timeout=90)

    assert 0 != process.returncode
    assert {} == processes_of(one)


def test_a_sandbox_that_somebody_ends_is_named(one: Inside) -> None:
    with one.running("sh", "-c", f"{NOTES} echo kept >kept.md; echo begun; sleep 1000") as process:
        assert "begun\n" == said(process)
        (holder,) = [pid for pid in children_of(process.pid) if "sandbox hold" in processes_of(one).get(pid, "")]
        os.kill(holder, signal.SIGKILL)
        _, told = process.communicate(timeout=60)

    assert 128 + signal.SIGKILL == process.returncode
    assert "the sandbox was ended from outside" in told
    assert "kept\n" == one.remote("/kept.md")
    assert {} == processes_of(one)
