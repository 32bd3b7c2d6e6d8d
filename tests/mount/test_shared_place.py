"""A mount point that other mount namespaces share: they see the mount; nothing is doubled or left in any of them."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from enclosed import IS_ROOT, LIMIT_S, MEMFS, Enclosed, enclosed

from memfs.core.attachment import Access, Attachment
from memfs.fuse import mountinfo
from memfs.state.attachments import attach
from memfs.state.layout import Layout

HOW = ["--mount"] if IS_ROOT else ["--user", "--map-root-user", "--mount"]
SHARED = """
set -e
mkdir "$1/shared"
mount -t tmpfs none "$1/shared"
mount --make-shared "$1/shared"
mkdir "$1/shared/point"
unshare --mount --propagation=unchanged sleep 600 &
echo $! > "$1/beside"
while [ "$(readlink /proc/$!/ns/mnt)" = "$(readlink /proc/$$/ns/mnt)" ]; do :; done
"""


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Enclosed]:
    """A namespace with a place that another namespace shares, and a state with two read-only stores."""
    attach(
        Layout(tmp_path / "state"),
        [
            Attachment(store_id=f"memstore_{slug}", name=slug, slug=slug, access=Access.READ_ONLY)
            for slug in ("manual", "more")
        ],
    )
    with enclosed([*HOW, "--propagation=private"], SHARED, tmp_path, place=tmp_path) as made:
        yield made
        os.kill(beside(made), signal.SIGKILL)


def beside(host: Enclosed) -> int:
    """Return the process that holds the other namespace."""
    return int((host.place / "beside").read_text())


def here(host: Enclosed) -> list[str]:
    return [one.mount_point.name for one in host.mounts(host.place / "shared/point")]


def there(host: Enclosed) -> list[str]:
    table = mountinfo.parse(Path(f"/proc/{beside(host)}/mountinfo").read_bytes())
    return [one.mount_point.name for one in table if one.mount_point.is_relative_to(host.place / "shared/point")]


def served(host: Enclosed) -> Any:
    point = host.place / "shared/point"
    process: Any = host.start(*MEMFS, "mount", point, "--state", host.place / "state", log=host.place / "log")
    assert process.stdout.readline().startswith("mounted 2 stores"), (host.place / "log").read_text()
    return process


def test_what_is_mounted_once_is_unmounted_everywhere(host: Enclosed) -> None:
    assert ([], []) == (here(host), there(host))

    process = served(host)

    assert ["point", "manual", "more"] == here(host)
    assert ["point"] == there(host)

    process.terminate()

    assert 0 == process.wait(LIMIT_S)
    assert ([], []) == (here(host), there(host))


def test_a_killed_mount_leaves_nothing_in_either_once_the_next_one_ends(host: Enclosed) -> None:
    killed = served(host)
    killed.kill()
    killed.wait(LIMIT_S)

    process = served(host)

    assert ["point", "manual", "more"] == here(host)
    assert ["point"] == there(host)

    done = host.run(*MEMFS, "unmount", host.place / "shared/point")

    assert (0, "") == (done.returncode, done.stderr)
    assert 0 == process.wait(LIMIT_S)
    assert ([], []) == (here(host), there(host))
