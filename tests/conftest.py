"""What holds for every test: a clean log, no settings of this machine, no mount left behind, repeatable examples."""

import logging
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
from leftovers import mounts_below
from postgres import Cluster, cluster

# The short profile finds the same on every machine; `make test-long` asks for the long one (--hypothesis-profile).
hypothesis.settings.register_profile("short", derandomize=True, max_examples=25, deadline=None, database=None)
hypothesis.settings.register_profile("long", max_examples=500, deadline=None, print_blob=True)
hypothesis.settings.load_profile("short")

OF_THE_KERNEL = frozenset({"fs", "mount", "programs"})
"""Tests that count what the kernel asks, or have it forget what it knows of every mount: one after another."""
SETTINGS_OF_THE_MACHINE = ("MEMFS_", "ANTHROPIC_", "XDG_", "NOTIFY_SOCKET")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep together, where several processes share the run, what shares a file or the kernel's caches."""
    rooms = {Path(__file__).with_name(name) for name in OF_THE_KERNEL}
    for item in items:
        is_of_the_kernel = not rooms.isdisjoint(item.path.parents)
        item.add_marker(pytest.mark.xdist_group("kernel" if is_of_the_kernel else str(item.path)))


@pytest.fixture(autouse=True)
def no_unexpected_warnings(caplog: pytest.LogCaptureFixture, request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    expected = [marker.args[0] for marker in request.node.iter_markers("expect_log")]
    for when in ("setup", "call", "teardown"):
        for record in caplog.get_records(when):
            text = record.getMessage()
            if record.levelno >= logging.WARNING and not any(part in text for part in expected):
                pytest.fail(f"unexpected log: {record.name}: {text}")


@pytest.fixture(autouse=True, scope="session")
def no_settings_of_this_machine() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ:
            if name.startswith(SETTINGS_OF_THE_MACHINE):
                patch.delenv(name)
        yield


@pytest.fixture(autouse=True, scope="session")
def no_mount_left_behind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Whatever tests make lies below one directory, so that a mount of another run is not mistaken for ours."""
    below = tmp_path_factory.getbasetemp()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(below))
        patch.setattr(tempfile, "tempdir", str(below))
        yield
    left = mounts_below(below, Path("/proc/self/mountinfo").read_text())
    for mount_point in reversed(left):
        subprocess.run(["fusermount", "-u", "-z", mount_point], check=False, timeout=10)
    if left:
        pytest.fail(f"a test left a mount behind: {', '.join(left)}")


@pytest.fixture(scope="session")
def postgres() -> Iterator[Cluster]:
    """The run's own PostgreSQL, started by the first test that needs it."""
    with cluster() as running:
        yield running
