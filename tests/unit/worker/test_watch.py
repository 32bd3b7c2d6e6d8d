"""Events of a real tree become paths to look at; what watchdog only logs becomes a scan."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from worker.watch import Watch

WITHIN_S = 10.0


class Heard:
    """What a watch told, from its own threads."""

    def __init__(self) -> None:
        self.changed: set[bytes] = set()
        self.scans = 0
        self._news = threading.Condition()

    def on_change(self, relative: bytes) -> None:
        with self._news:
            self.changed.add(relative)
            self._news.notify_all()

    def on_scan(self) -> None:
        with self._news:
            self.scans += 1
            self._news.notify_all()

    def until(self, holds: Callable[[], bool]) -> bool:
        with self._news:
            return self._news.wait_for(holds, WITHIN_S)


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
def watch(tmp_path: Path, heard: Heard) -> Iterator[Watch]:
    watch = Watch()
    assert watch.add(tmp_path, heard.on_change, heard.on_scan)
    yield watch
    watch.close()


@pytest.mark.usefixtures("watch")
def test_writing_moving_and_removing_are_told_with_their_paths(tmp_path: Path, heard: Heard) -> None:
    (tmp_path / "a.md").write_text("text")
    assert heard.until(lambda: b"a.md" in heard.changed)
    (tmp_path / "a.md").rename(tmp_path / "b.md")
    assert heard.until(lambda: b"b.md" in heard.changed)
    heard.changed.clear()
    (tmp_path / "b.md").unlink()
    assert heard.until(lambda: b"b.md" in heard.changed)


@pytest.mark.usefixtures("watch")
def test_a_new_directory_is_a_reason_to_scan_and_is_watched(tmp_path: Path, heard: Heard) -> None:
    (tmp_path / "d").mkdir()
    assert heard.until(lambda: heard.scans > 0)
    (tmp_path / "d" / "a.md").write_text("text")
    assert heard.until(lambda: b"d/a.md" in heard.changed)


@pytest.mark.usefixtures("watch")
def test_reading_is_no_event(tmp_path: Path, heard: Heard) -> None:
    (tmp_path / "a.md").write_text("text")
    assert heard.until(lambda: b"a.md" in heard.changed)
    time.sleep(0.1)  # the events of the write itself
    heard.changed.clear()

    (tmp_path / "a.md").read_text()
    (tmp_path / "last.md").write_text("text")
    assert heard.until(lambda: b"last.md" in heard.changed)

    assert {b"last.md"} == heard.changed


@pytest.mark.usefixtures("watch")
def test_an_overflow_that_is_only_logged_is_a_reason_to_scan(heard: Heard, caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("watchdog.observers.inotify_c").warning("Inotify queue overflowed; filesystem events were lost")

    assert 1 == heard.scans
    assert "overflowed" not in caplog.text


def test_a_directory_without_a_watch_is_found_and_the_tree_watched_anew(
    watch: Watch, tmp_path: Path, heard: Heard
) -> None:
    (tmp_path / "d").mkdir()
    assert heard.until(lambda: watch.is_complete(tmp_path, ["/d"]))
    # A link stands for a directory whose watch failed: watchdog does not follow it.
    (tmp_path / "missed").symlink_to(tmp_path / "d")
    assert not watch.is_complete(tmp_path, ["/d", "/missed"])

    assert watch.renew(tmp_path)

    assert watch.is_complete(tmp_path, ["/d"])
    (tmp_path / "d" / "a.md").write_text("text")
    assert heard.until(lambda: b"d/a.md" in heard.changed)


def test_a_directory_that_went_since_it_was_seen_needs_no_watch(watch: Watch, tmp_path: Path) -> None:
    assert watch.is_complete(tmp_path, ["/gone"])


@pytest.mark.usefixtures("watch")
def test_what_an_ended_watch_says_is_a_reason_to_scan(heard: Heard, caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("watchdog.observers.inotify").warning("queue_events() called when the thread is inactive")

    assert 1 == heard.scans
    assert "inactive" not in caplog.text


@pytest.mark.expect_log("cannot be watched")
def test_a_tree_that_the_kernel_does_not_watch_is_said(watch: Watch, tmp_path: Path, heard: Heard) -> None:
    assert not watch.add(tmp_path / "none", heard.on_change, heard.on_scan)
    assert watch.is_complete(tmp_path / "none", ["/d"])


def test_a_tree_that_is_removed_is_quiet(watch: Watch, tmp_path: Path, heard: Heard) -> None:
    watch.remove(tmp_path)
    (tmp_path / "other").mkdir()
    assert watch.add(tmp_path / "other", heard.on_change, heard.on_scan)
    (tmp_path / "a.md").write_text("text")
    (tmp_path / "other" / "b.md").write_text("text")

    assert heard.until(lambda: b"b.md" in heard.changed)
    assert b"a.md" not in heard.changed
