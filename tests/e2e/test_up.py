"""`memfs up`, end to end: real server, real worker, real mount, real signals."""

import errno
import json
import os
import signal
import socket
import subprocess
from pathlib import Path

import pytest
from commands import MEMFS, Memfs, RunningServer, serving
from running_up import Up, children_of, eventually, is_mounted, running_up


@pytest.fixture
def notes(memfs: Memfs, tmp_path: Path) -> str:
    """A store of this test's own, by a name nobody else has."""
    name = f"Notes {tmp_path.name}"
    assert memfs.run("stores", "create", name).code == 0
    return name


def embedded(home: Path) -> tuple[str | Path, ...]:
    """Return the words for a server of its own with one store, on a port that the kernel chooses."""
    return ("--serve", "--listen", "127.0.0.1:0", "--data", home / "data", "--store", "Notes")


def directory_of(up: Up) -> Path:
    (only,) = (one for one in up.mount.iterdir() if one.name != ".memfs")
    return only


def test_one_command_serves_mounts_and_syncs(tmp_path: Path) -> None:
    memfs = Memfs.at_home(tmp_path)
    data = tmp_path / "data"

    with running_up(
        memfs, tmp_path, "--serve", "--listen", "127.0.0.1:0", "--data", data, "--store", "Team Notes"
    ) as up:
        (up.mount / "team-notes" / "acme.md").write_text("prefers e-mail\n")
        eventually(lambda: json.loads(up.status().out)["stores"][0]["memories"] == 1)
        code = up.stop()

    assert code == 0
    assert "made the store 'Team Notes'" in up.told()
    assert "everything is synced" in up.told()
    assert not is_mounted(up.mount)
    with serving(data) as server:
        again = Memfs.at_home(tmp_path, MEMFS_BASE_URL=server.url, MEMFS_API_KEY=server.key)
        assert again.run("memories", "get", "Team Notes", "/acme.md").out == "prefers e-mail\n"


def test_an_edit_on_one_host_appears_on_the_other(memfs: Memfs, notes: str, tmp_path: Path) -> None:
    with (
        running_up(memfs, tmp_path / "a", "--store", notes) as a,
        running_up(memfs, tmp_path / "b", "--store", notes) as b,
    ):
        (directory_of(a) / "plan.md").write_text("Monday\n")
        eventually(lambda: (directory_of(b) / "plan.md").read_text() == "Monday\n")
        (directory_of(b) / "plan.md").write_text("Friday\n")
        eventually(lambda: (directory_of(a) / "plan.md").read_text() == "Friday\n")
        (directory_of(b) / "plan.md").unlink()
        eventually(lambda: not (directory_of(a) / "plan.md").exists())


def test_conflicting_edits_are_both_kept_on_both_hosts(memfs: Memfs, notes: str, tmp_path: Path) -> None:
    def texts(up: Up) -> set[str]:
        return {path.read_text() for path in directory_of(up).glob("plan*.md")}

    with (
        running_up(memfs, tmp_path / "a", "--store", notes) as a,
        running_up(memfs, tmp_path / "b", "--store", notes) as b,
    ):
        (directory_of(a) / "plan.md").write_text("Monday\n")
        (directory_of(b) / "plan.md").write_text("Friday\n")
        eventually(lambda: texts(a) == texts(b) == {"Monday\n", "Friday\n"})


def test_a_read_only_store_refuses_root_and_still_receives_edits(memfs: Memfs, notes: str, tmp_path: Path) -> None:
    memfs.run("memories", "put", notes, "/rules.md", stdin=b"one\n")

    with running_up(memfs, tmp_path, "--store", f"{notes}:ro") as up:
        rules = directory_of(up) / "rules.md"
        eventually(lambda: rules.read_text() == "one\n")
        for change in (lambda: rules.write_text("mine"), rules.unlink, lambda: rules.rename(rules.with_name("x"))):
            with pytest.raises(OSError, match="Read-only file system"):
                change()
        memfs.run("memories", "put", notes, "/rules.md", stdin=b"two\n")
        eventually(lambda: rules.read_text() == "two\n")


def test_what_cannot_be_pushed_is_told_at_the_end_and_pushed_at_the_next_start(tmp_path: Path) -> None:
    data, home = tmp_path / "data", Memfs.at_home(tmp_path)
    with serving(data) as server:
        memfs = Memfs.at_home(tmp_path, MEMFS_API_KEY=server.key)
        address = server.url.removeprefix("http://")
        memfs.run("stores", "create", "Notes", "--base-url", server.url)
        up = running_up(memfs, tmp_path, "--base-url", server.url, "--store", "Notes", "-c", quick_drain(tmp_path))
        running = up.__enter__()
    (running.mount / "notes" / "late.md").write_text("kept\n")
    code = running.stop()
    up.__exit__(None, None, None)

    assert code == 0
    assert "not yet synced" in running.told()
    with running_up(home, tmp_path, "--serve", "--listen", address, "--data", data, "--store", "Notes") as again:
        eventually(lambda: json.loads(again.status().out)["stores"][0]["pending"] == [])
        again.stop()
    with serving(data) as server:
        found = memfs.run("memories", "get", "Notes", "/late.md", "--base-url", server.url)
    assert found.out == "kept\n"


def quick_drain(home: Path) -> Path:
    path = home / "quick.toml"
    path.write_text("[worker]\ndrain_timeout_s = 1\n")
    return path


@pytest.mark.parametrize("name", ["worker", "mount", "serve"])
def test_a_child_that_is_killed_is_named_and_comes_back(name: str, tmp_path: Path) -> None:
    memfs = Memfs.at_home(tmp_path)

    with running_up(memfs, tmp_path, *embedded(tmp_path)) as up:
        first = up.children()[name]
        os.kill(first, signal.SIGKILL)
        eventually(lambda: up.children().get(name, first) != first)
        eventually(lambda: is_answered(up))
        (up.mount / "notes" / "after.md").write_text("still here\n")
        eventually(lambda: json.loads(up.status().out)["stores"][0]["memories"] == 1)
        code = up.stop()

    assert code == 0
    assert f"the {'server' if name == 'serve' else name} ended with signal SIGKILL" in up.told()
    assert not is_mounted(up.mount)


def is_answered(up: Up) -> bool:
    try:
        return "notes" in {path.name for path in up.mount.iterdir()}
    except OSError:
        return False  # The old mount is dead and the new one not there yet.


def test_the_mount_works_while_the_server_is_down_and_status_says_so(memfs: Memfs, notes: str, tmp_path: Path) -> None:
    memfs.run("memories", "put", notes, "/known.md", stdin=b"known\n")
    with running_up(memfs, tmp_path, "--store", notes) as up:
        eventually((directory_of(up) / "known.md").exists)
    nobody = Memfs({**memfs.environ, "MEMFS_BASE_URL": "http://127.0.0.1:9"})

    with running_up(nobody, tmp_path, "--store", notes, "-c", quick_drain(tmp_path)) as up:
        assert (directory_of(up) / "known.md").read_text() == "known\n"
        (directory_of(up) / "new.md").write_text("offline\n")
        eventually(
            lambda: (json.loads(up.status().out)["stores"][0]["error"] or {}).get("code") == "remote_unavailable"
        )
        eventually(lambda: json.loads(up.status().out)["stores"][0]["pending"] == ["/new.md"])

    with running_up(memfs, tmp_path, "--store", notes) as up:
        eventually(lambda: memfs.run("memories", "get", notes, "/new.md").out == "offline\n")


def refused(memfs: Memfs, *words: str | Path) -> tuple[int, str]:
    """Return exit code and message of a command that must fail, with one line and no traceback."""
    printed = memfs.run(*words)
    lines = printed.err.strip().splitlines()

    assert len(lines) == 1, printed.err
    assert lines[0].startswith("memfs: ")
    return printed.code, lines[0]


def test_an_unknown_store_is_refused_before_anything_starts(memfs: Memfs, tmp_path: Path) -> None:
    (tmp_path / "mount").mkdir()
    code, message = refused(memfs, "up", "--store", "No Such", "--mount", tmp_path / "mount", "--state", tmp_path / "s")

    assert code == 4
    assert "No Such" in message
    assert "memfs stores" in message


def test_a_wrong_key_is_refused_before_anything_starts(memfs: Memfs, notes: str, tmp_path: Path) -> None:
    (tmp_path / "mount").mkdir()
    wrong = Memfs({**memfs.environ, "MEMFS_API_KEY": "memfs-key-wrong"})
    code, message = refused(wrong, "up", "--store", notes, "--mount", tmp_path / "mount", "--state", tmp_path / "s")

    assert code == 5
    assert "memfs-key-wrong" not in message


def test_a_ninth_store_is_refused(memfs: Memfs, tmp_path: Path) -> None:
    named = [word for number in range(9) for word in ("--store", f"s{number}")]
    code, message = refused(memfs, "up", *named, "--mount", tmp_path, "--state", tmp_path / "s")

    assert code == 2
    assert "at most 8" in message


def test_an_invalid_configuration_names_file_line_and_key(memfs: Memfs, tmp_path: Path) -> None:
    path = tmp_path / "memfs.toml"
    path.write_text("[mount]\npont = '/x'\n")
    code, message = refused(memfs, "up", "-c", path)

    assert code == 3
    assert f"{path}:2: key 'mount.pont' is unknown; did you mean 'point'?" in message


@pytest.mark.parametrize("command", ["mount", "up"])
def test_a_mount_point_that_is_missing_is_refused(memfs: Memfs, notes: str, tmp_path: Path, command: str) -> None:
    nowhere = tmp_path / "nowhere"
    words = [command, nowhere] if command == "mount" else [command, "--store", notes, "--mount", nowhere]
    code, message = refused(memfs, *words, "--state", tmp_path / "s")

    assert code == 8
    assert str(nowhere) in message


def test_two_ways_to_name_the_remote_exclude_each_other(memfs: Memfs, tmp_path: Path) -> None:
    code, message = refused(memfs, "up", "--serve", "--base-url", "http://x", "--store", "a", "--mount", tmp_path)

    assert code == 2
    assert "--serve" in message


def test_a_port_in_use_ends_the_command(store_server: RunningServer, tmp_path: Path) -> None:
    (tmp_path / "mount").mkdir()
    address = store_server.url.removeprefix("http://")
    code, message = refused(
        Memfs.at_home(tmp_path), "up", "--serve", "--listen", address, "--store", "a", "--mount", tmp_path / "mount"
    )

    assert code == 9
    assert address.rpartition(":")[2] in message


def test_a_killed_up_takes_everything_down_and_loses_nothing(tmp_path: Path) -> None:
    """SIGKILL leaves no time to stop the children: the kernel tells them, and each ends as it should."""
    memfs = Memfs.at_home(tmp_path)
    with running_up(memfs, tmp_path, *embedded(tmp_path)) as up:
        below = list(up.children().values())
        (up.mount / "notes" / "last.md").write_text("written just before\n")
        up.process.kill()
        up.process.wait()
        eventually(lambda: not is_mounted(up.mount))
        eventually(lambda: not [pid for pid in below if Path(f"/proc/{pid}").exists()])

    with running_up(memfs, tmp_path, *embedded(tmp_path)) as again:
        assert (again.mount / "notes" / "last.md").read_text() == "written just before\n"
        eventually(lambda: json.loads(again.status().out)["stores"][0]["memories"] == 1)


def test_a_worker_that_could_not_drain_promises_nothing(tmp_path: Path) -> None:
    with running_up(Memfs.at_home(tmp_path), tmp_path, *embedded(tmp_path)) as up:
        os.kill(up.children()["worker"], signal.SIGKILL)
        eventually(lambda: "worker ended" in up.told())
        up.stop()

    assert "everything is synced" not in up.told()
    assert "did not drain" in up.told()


def test_unmounting_ends_it_all(tmp_path: Path) -> None:
    memfs = Memfs.at_home(tmp_path)
    with running_up(memfs, tmp_path, *embedded(tmp_path)) as up:
        (up.mount / "notes" / "last.md").write_text("text\n")
        unmounted = memfs.run("unmount", up.mount)
        code = up.process.wait(60)

    assert unmounted.code == 0
    assert code == 0
    assert "everything is synced" in up.told()
    assert not is_mounted(up.mount)


def words_of(pid: int) -> list[bytes]:
    return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")


def test_an_interrupted_start_sends_no_key_anywhere(tmp_path: Path) -> None:
    """The embedded server never gets ready; what the environment names as the remote must hear nothing of its key."""
    (tmp_path / "mount").mkdir()
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "api-key").write_text("memfs-key-of-the-embedded-server\n")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        elsewhere = f"http://127.0.0.1:{listener.getsockname()[1]}"
        memfs = Memfs.at_home(tmp_path, MEMFS_BASE_URL=elsewhere)
        process = subprocess.Popen(
            [MEMFS, "up", *embedded(tmp_path), "--mount", tmp_path / "mount", "--state", tmp_path / "state"],
            env=dict(memfs.environ), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        eventually(lambda: any(b"serve" in words_of(pid) for pid in children_of(process.pid)))
        process.send_signal(signal.SIGINT)

        assert process.wait(60) == 0
        with pytest.raises(BlockingIOError):
            listener.accept()


def test_a_store_that_is_archived_meanwhile_refuses_at_the_call(memfs: Memfs, notes: str, tmp_path: Path) -> None:
    with running_up(memfs, tmp_path, "--store", notes, "-c", quick_drain(tmp_path)) as up:
        (directory_of(up) / "known.md").write_text("known\n")
        eventually(lambda: memfs.run("memories", "get", notes, "/known.md").code == 0)
        worker = up.children()["worker"]
        os.kill(worker, signal.SIGSTOP)
        memfs.run("stores", "archive", notes)
        (directory_of(up) / "late.md").write_text("too late\n")
        os.kill(worker, signal.SIGCONT)
        eventually(lambda: is_refused(directory_of(up) / "more.md"))
        kept = (directory_of(up) / "late.md").read_text()
        up.stop()

    assert kept == "too late\n"
    assert "1 not yet synced" in up.told()
    assert "archived" in up.told()


def is_refused(path: Path) -> bool:
    try:
        path.touch()
    except OSError as error:
        return error.errno in {errno.EROFS, errno.EACCES}
    path.unlink()
    return False


def test_sync_goes_on_with_the_stores_that_are_attached(memfs: Memfs, notes: str, tmp_path: Path) -> None:
    memfs.run("memories", "put", notes, "/a.md", stdin=b"one\n")
    state = ("--state", tmp_path / "state")
    first = memfs.run("sync", "--once", "--store", f"{notes}:ro", *state)
    memfs.run("memories", "put", notes, "/a.md", stdin=b"two\n")
    second = memfs.run("sync", "--once", *state)

    (told,) = json.loads(memfs.run("status", "--json", *state).out)["stores"]
    assert (first.code, second.code) == (0, 0)
    assert told["access"] == "read_only"
    assert [path.read_text() for path in (tmp_path / "state").glob("stores/*/tree/a.md")] == ["two\n"]


def test_status_promises_nothing_while_nobody_watches(memfs: Memfs, notes: str, tmp_path: Path) -> None:
    state = ("--state", tmp_path / "state")
    memfs.run("sync", "--once", "--store", notes, *state)
    (tree,) = (tmp_path / "state").glob("stores/*/tree")
    (tree / "new.md").write_text("nobody has seen this\n")

    (told,) = json.loads(memfs.run("status", "--json", *state).out)["stores"]
    assert told["state"] == "unwatched"
    assert "no worker runs" in memfs.run("status", *state).out
