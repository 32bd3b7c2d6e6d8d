"""`memfs run` on hosts that are unlike the usual one: made so in a mount namespace, so that this one stays as it is."""

import json
import os
from pathlib import Path

import pytest
from commands import Printed, RunningServer
from running_inside import USERS, Inside, inside

AS_ROOT = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-Urm"]


@pytest.fixture
def one(store_server: RunningServer, tmp_path: Path) -> Inside:
    return inside(store_server, tmp_path, USERS[-1])


def run_where(one: Inside, made: str, *command: str) -> Printed:
    """Run a command inside, on a host that the shell script ``made`` has changed."""
    words = [*AS_ROOT, "bash", "-ec", f'{made}\nexec "$@"', "bash", *one.words(*command)]
    return one.do(words)


def test_what_was_beside_memory_is_still_there_and_what_was_in_it_is_not(one: Inside) -> None:
    made = """
mount -t tmpfs outside /mnt && mkdir /mnt/memory /mnt/disk && echo text >/mnt/disk/file && echo top >/mnt/top
ln -s disk /mnt/link && mount -t tmpfs outside /mnt/memory && touch /mnt/memory/foreign
mkdir /mnt/disk/below && mount -t tmpfs outside /mnt/disk/below && echo deep >/mnt/disk/below/file
"""
    done = run_where(one, made, "sh", "-c", "cd /mnt; cat link/file top disk/below/file; ls memory; touch disk/new top")

    assert (0, "") == (done.code, done.err)
    *texts, slug = done.out.split()
    assert ["text", "top", "deep"] == texts
    assert slug.startswith("notes-")


def test_a_host_without_mnt_has_one_inside(one: Inside) -> None:
    made = """
new=$(mktemp -d) && mount -t tmpfs root "$new"
for path in /*; do
    if [ -L "$path" ]; then cp -P "$path" "$new"; elif [ "$path" != /mnt ] && [ -d "$path" ]; then
        mkdir "$new$path" && mount --rbind "$path" "$new$path"; fi
done
mkdir "$new/old" && cd "$new" && pivot_root . old && umount -l /old && rmdir /old && cd "$HOME" && [ ! -e /mnt ]
"""
    done = run_where(
        one, made, "sh", "-c", "ls /mnt; cd /mnt/memory/*/ && echo text >a.md; touch /usr/x /x; ls -d /old"
    )

    assert "memory\n" == done.out, done.err
    assert "text\n" == one.remote("/a.md")


@pytest.mark.parametrize(
    ("made", "code", "told"),
    [
        ("echo 0 >/proc/sys/user/max_user_namespaces", 8, "user.max_user_namespaces is 0. As root: sysctl -w user."),
        ("echo 0 >/proc/sys/user/max_mnt_namespaces", 8, "user.max_mnt_namespaces is 0"),
        (
            "mount -t tmpfs none /dev; touch /dev/null",
            8,
            "/dev/fuse cannot be opened: No such",
        ),
        ("mount -t tmpfs none /proc/bus", 8, "gives no new /proc"),
    ],
)
def test_a_host_that_does_not_allow_it_says_why(made: str, code: int, told: str, one: Inside) -> None:
    # Settings of a namespace of the test's own: those of the host stay as they are.
    words = ["unshare", "-Urm", "bash", "-ec", f'{made}\nexec "$@"', "bash", *one.words("echo", "begun")]
    done = one.do(words)

    assert (code, "") == (done.code, done.out)
    assert told in done.err
    assert 1 == done.err.count("\n")


def test_another_mount_of_memfs_is_not_seen_inside(one: Inside, tmp_path: Path) -> None:
    point, state = tmp_path / "point", tmp_path / "other"
    point.mkdir()
    made = f"""
memfs() {{ '{one.words()[0]}' "$@"; }}
memfs sync --once --state '{state}' --store '{one.store}' >/dev/null
memfs mount '{point}' --state '{state}' >/dev/null 2>&1 & until mountpoint -q '{point}'; do sleep .1; done
"""
    done = run_where(one, made, "python3", "-c", f"import os, json; print(json.dumps(os.listdir({str(point)!r})))")

    assert [] == json.loads(done.out), done.err
