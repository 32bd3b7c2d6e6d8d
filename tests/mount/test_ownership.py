"""Who mounts, who owns and who may: root for others, an ordinary user by fusermount, root of a user namespace."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from enclosed import IS_ROOT, LIMIT_S, MEMFS, USER, Enclosed, enclosed, host_of_users

from memfs.core.attachment import Access, Attachment
from memfs.state.attachments import attach
from memfs.state.layout import Layout

Paths = tuple[Path, Path]
MINE = USER if IS_ROOT else os.geteuid()
MY_GROUP = USER if IS_ROOT else os.getegid()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A directory with a state: the writable store ``n`` and the read-only store ``r``."""
    home = tmp_path / "home"
    home.mkdir(mode=0o755)
    layout = Layout(home / "state")
    attach(
        layout,
        [
            Attachment(store_id="memstore_n", name="N", slug="n", access=Access.READ_WRITE),
            Attachment(store_id="memstore_r", name="R", slug="r", access=Access.READ_ONLY),
        ],
    )
    (layout.store("memstore_r").tree / "guide.md").write_text("guide\n")
    (home / "point").mkdir()
    return home


def give_away(home: Path) -> None:
    for path in [home / "point", home / "state", *(home / "state").rglob("*")]:
        os.chown(path, MINE, MY_GROUP)


@contextmanager
def mounting(host: Enclosed, home: Path, *words: object, user: bool = False) -> Iterator[Any]:
    """Run `memfs mount` until it serves; ``user``: an ordinary user does, whose state and mount point these are."""
    if user:
        give_away(home)
    point, state = host.place / "point", host.place / "state"
    process = host.start(*MEMFS, "mount", point, "--state", state, *words, user=user, log=home / "log")
    assert process.stdout is not None
    assert process.stdout.readline().startswith("mounted 2 stores"), (home / "log").read_text()
    yield process
    process.terminate()
    assert 0 == process.wait(LIMIT_S)
    assert [] == host.mounts(host.place / "point")


def owner_and_mode(host: Enclosed, path: Path) -> str:
    told = host.run("stat", "-c", "%u:%g %a", path, user=True)
    return told.stdout.strip() or told.stderr


def test_a_mount_belongs_to_whom_it_is_told(home: Path) -> None:
    """Root mounts for an agent's user: everything is that user's, new files and directories lack the umask's bits."""
    words = ["--allow-other", f"--uid={USER}", f"--gid={USER}"] if IS_ROOT else []
    with host_of_users(home) as host, mounting(host, home, "--umask", "027", *words):
        store = host.place / "point/n"
        assert 0 == host.run("sh", "-c", 'mkdir "$0/d" && echo x >"$0/d/a.md"', store, user=True).returncode

        assert f"{MINE}:{MY_GROUP} 750" == owner_and_mode(host, store)
        assert f"{MINE}:{MY_GROUP} 750" == owner_and_mode(host, store / "d")
        assert f"{MINE}:{MY_GROUP} 640" == owner_and_mode(host, store / "d/a.md")
        assert f"{MINE}:{MY_GROUP} 550" == owner_and_mode(host, host.place / "point/r")
        assert f"{MINE}:{MY_GROUP} 550" == owner_and_mode(host, host.place / "point")
        assert "x\n" == (home / "state/stores/memstore_n/tree/d/a.md").read_text()
    told = (home / "log").read_text()
    assert f"uid {MINE}; gid {MY_GROUP}; umask 027" in told
    assert ("allow_other" in told) is IS_ROOT


def test_what_belongs_to_root_is_not_for_others_to_change(home: Path) -> None:
    words = ["--allow-other"] if IS_ROOT else ["--umask", "222"]
    with host_of_users(home) as host, mounting(host, home, *words):
        done = host.run("sh", "-c", 'echo x >"$0/a.md"', host.place / "point/n", user=True)

    assert "Permission denied" in done.stderr
    assert not (home / "state/stores/memstore_n/tree/a.md").exists()


def test_an_ordinary_user_mounts_by_fusermount(home: Path) -> None:
    with host_of_users(home) as host:
        store = host.place / "point/n"
        for turn in range(2):
            with mounting(host, home, user=True) as process:
                assert 0 == host.run("sh", "-c", f'echo {turn} >"$0/{turn}.md"', store, user=True).returncode
                assert f"{MINE}:{MY_GROUP} 644" == owner_and_mode(host, store / "0.md")
                refused = host.run("sh", "-c", 'echo x >"$0/x.md"', host.place / "point/r", user=True)
                status = host.run(*MEMFS, "status", "--state", host.place / "state", user=True)
                unmounted = host.run(*MEMFS, "unmount", host.place / "point", user=True)

                assert "denied" in refused.stderr or "Read-only" in refused.stderr
                assert "read_only (policy)" in status.stdout, status.stderr
                assert (0, "") == (unmounted.returncode, unmounted.stderr)
                assert 0 == process.wait(LIMIT_S)
            bare = host.run("sh", "-c", 'echo x >"$0/x.md"', host.place / "point", user=True)
            assert "Permission denied" in bare.stderr
    assert ["0.md", "1.md"] == sorted(os.listdir(home / "state/stores/memstore_n/tree"))  # noqa: PTH208  (names)


@pytest.mark.parametrize("line", ["# nothing", "user_allow_other"])
def test_an_ordinary_user_lets_others_in_where_the_host_allows_it(home: Path, line: str) -> None:
    with host_of_users(home, fuse_conf=line) as host:
        if "user_allow_other" in host.run("cat", "/etc/fuse.conf").stdout.splitlines():
            with mounting(host, home, "--allow-other", user=True):
                others = host.run("cat", host.place / "point/r/guide.md")
            assert (0, "guide\n") == (others.returncode, others.stdout)
        else:
            give_away(home)
            words = ["mount", host.place / "point", "--state", host.place / "state", "--allow-other"]
            refused = host.run(*MEMFS, *words, user=True)
            assert 8 == refused.returncode
            assert "user_allow_other" in refused.stderr


def test_root_of_a_user_namespace_mounts_in_it(home: Path) -> None:
    """Its own kernel-held read-only mounts included: it may mount in its namespace."""
    with (
        enclosed(["--user", "--map-root-user", "--mount"], place=home) as host,
        mounting(host, home),
    ):
        written = host.run("sh", "-c", 'echo x >"$0/a.md" && stat -c %u:%a "$0/a.md"', home / "point/n")
        refused = host.run("sh", "-c", 'echo x >"$0/x.md"', home / "point/r")
        status = host.run(*MEMFS, "status", "--state", home / "state")
        held = [one.mount_point.name for one in host.mounts(home / "point") if one.is_read_only]

    assert "0:644\n" == written.stdout, written.stderr
    assert "Read-only file system" in refused.stderr
    assert "read_only (kernel)" in status.stdout
    assert ["r"] == held
    assert "x\n" == (home / "state/stores/memstore_n/tree/a.md").read_text()
