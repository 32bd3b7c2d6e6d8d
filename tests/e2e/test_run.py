"""`memfs run`: a command with its stores, end to end, as root and as an ordinary user without fusermount."""

import os
import signal
import socket
from pathlib import Path

import pytest
from commands import RunningServer
from running_inside import USERS, Inside, inside


@pytest.fixture(params=USERS)
def within(store_server: RunningServer, tmp_path: Path, request: pytest.FixtureRequest) -> Inside:
    return inside(store_server, tmp_path, request.param)


@pytest.fixture
def one(store_server: RunningServer, tmp_path: Path) -> Inside:
    return inside(store_server, tmp_path, USERS[0])


NOTES = "cd /mnt/memory/*/ && "


def test_what_the_command_writes_is_on_the_remote_when_it_has_ended(within: Inside) -> None:
    done = within.run("sh", "-c", f"{NOTES} echo kept >a.md && mkdir d && echo deep >d/b.md && cat a.md")

    assert (0, "kept\n", "") == (done.code, done.out, done.err)
    assert ("kept\n", "deep\n") == (within.remote("/a.md"), within.remote("/d/b.md"))


def test_the_commands_exit_code_and_signal_are_those_of_memfs(one: Inside) -> None:
    assert 7 == one.run("sh", "-c", "exit 7").code
    assert 128 + signal.SIGSEGV == one.run("sh", "-c", "kill -SEGV $$").code
    missing = one.run("no-such-program")
    assert 127 == missing.code
    assert "memfs: no-such-program: command not found\n" == missing.err
    assert 126 == one.run("/etc/hostname").code


def test_a_read_only_store_takes_no_change(within: Inside) -> None:
    within.memfs.run("memories", "put", within.store, "/rules.md", stdin=b"one\n")

    done = within.run("sh", "-c", f"{NOTES} cat rules.md; echo mine >rules.md", stores=(f"{within.store}:ro",))

    assert "one\n" == done.out
    assert 0 != done.code
    assert "ermission denied" in done.err or "Read-only" in done.err
    assert "one\n" == within.remote("/rules.md")


def test_the_command_is_its_caller_where_its_caller_was(within: Inside) -> None:
    (within.home / "project").mkdir()

    done = within.run("sh", "-c", "id -u; pwd; echo $PWD", cwd=within.home / "project")

    here = str(within.home / "project")
    uid = os.geteuid() if within.user == "root" else 47_110 if os.geteuid() == 0 else os.geteuid()
    assert [str(uid), here, here] == done.out.split()


def test_of_memory_only_the_named_stores_are_there(within: Inside) -> None:
    done = within.run("sh", "-c", "ls /mnt/memory; ls /mnt; mkdir /mnt/memory/other; touch /mnt/other")

    assert done.out, done.err
    slug, *beside = done.out.split()
    assert slug.startswith("notes-")
    assert sorted({"memory", *os.listdir("/mnt")}) == sorted(beside)  # noqa: PTH208  (names only)
    assert ["denied", "system"] == [line.split()[-1] for line in done.err.splitlines()]  # EACCES, EROFS


def test_the_environment_holds_no_credential_of_memfs(one: Inside) -> None:
    key = one.memfs.environ["MEMFS_API_KEY"]

    with_its_key = one.run("env", ANTHROPIC_API_KEY=key, MEMFS_DATABASE_URL="postgresql://u:secret@h/d", KEPT="kept")
    with_another = one.run("env", ANTHROPIC_API_KEY="the-models")

    assert "KEPT=kept" in with_its_key.out
    assert key not in with_its_key.out
    assert "MEMFS_" not in with_its_key.out
    assert "ANTHROPIC_API_KEY=the-models" in with_another.out


def test_memory_says_where_it_is(one: Inside) -> None:
    done = one.run("cat", "/mnt/memory/.memfs/README.md")

    assert 0 == done.code, done.err
    assert "/mnt/memory" in done.out


def test_without_network_only_its_own_loopback_is_reached(one: Inside) -> None:
    look = """
import socket, sys
own = socket.create_server(("127.0.0.1", 0))
socket.create_connection(own.getsockname(), 5).close()
print(sorted(name for _, name in socket.if_nameindex()))
for address in [("127.0.0.1", int(sys.argv[1])), ("192.0.2.1", 80)]:
    try:
        socket.create_connection(address, 5)
        print("reached")
    except OSError as error:
        print(error.errno)
"""
    port = one.memfs.environ["MEMFS_BASE_URL"].rpartition(":")[2]
    with socket.create_server(("127.0.0.1", 0)) as outside:
        shown = one.run("python3", "-c", look, str(outside.getsockname()[1]))
        alone = one.run("python3", "-c", look, port, options=("--network", "none"))

    assert "reached" == shown.out.split("\n")[1]
    assert ["['lo']", "111", "101"] == alone.out.split("\n")[:3]  # ECONNREFUSED, ENETUNREACH


def test_what_is_left_is_named_and_is_exit_code_1(one: Inside) -> None:
    (one.home / "quick.toml").write_text("[worker]\ndrain_timeout_s = 1\n")
    quick = ("-c", one.home / "quick.toml")
    assert 0 == one.run("true").code

    nowhere = {"MEMFS_BASE_URL": "http://127.0.0.1:9"}
    done = one.run("sh", "-c", f"{NOTES} echo late >late.md", options=quick, **nowhere)
    failed = one.run("sh", "-c", "exit 5", options=quick, **nowhere)

    assert 1 == done.code
    assert "not yet synced (/late.md)" in done.err
    assert 5 == failed.code
    assert 0 == one.run("true").code
    assert "late\n" == one.remote("/late.md")


def test_a_state_that_a_mount_serves_is_refused(one: Inside) -> None:
    with one.running("sh", "-c", "echo begun; cat") as first:
        assert first.stdout is not None
        assert "begun\n" == first.stdout.readline()
        second = one.run("true")
        _, told = first.communicate("", 60)

    assert (0, "") == (first.returncode, told)
    assert 9 == second.code
    assert "already mounts the state" in second.err


def test_an_unknown_store_is_refused_before_the_command_begins(one: Inside) -> None:
    done = one.run("echo", "begun", stores=("Nowhere",))

    assert (4, "") == (done.code, done.out)
    assert "Nowhere" in done.err
