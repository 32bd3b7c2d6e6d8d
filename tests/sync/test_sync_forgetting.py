"""Displaced bytes are forgotten when their time is over, and at once when the version that held them is redacted."""

import os
import time
from pathlib import Path

import pytest
from fakes import FakeClock
from hosts import Far, Host

from worker.forgetting import KEPT_S, forget_version

pytestmark = pytest.mark.anyio


def texts(directory: Path) -> set[str]:
    return {one.read_text() for one in directory.iterdir()}


async def version_of(far: Far, name: str) -> str:
    return (await far.memories())["/" + name].memory_version_id


async def test_trash_is_kept_for_thirty_days_from_when_it_was_displaced(host: Host, far: Far, clock: FakeClock) -> None:
    """However old the file itself was."""
    host.write("note.md", "text\n")
    host.write("kept.md", "kept\n")
    os.utime(host.store.tree / "note.md", (1.0, 1.0))
    await host.sync()
    await far.remove("note.md")
    await host.sync()
    assert ["text\n"] == host.trash()

    clock.advance(time.time() - clock.time() + KEPT_S - 60.0)
    await host.sync()
    assert ["text\n"] == host.trash()
    clock.advance(120.0)
    await host.sync()
    assert [] == host.trash()


async def test_texts_that_are_no_baseline_any_more_are_not_kept(host: Host, far: Far) -> None:
    host.write("note.md", "one\n")
    await host.sync()
    host.write("note.md", "two\n")
    await host.sync()
    await far.write("note.md", "three\n")
    await host.sync()
    await host.sync()

    assert {"three\n"} == texts(host.store.base)


async def test_what_a_redacted_version_held_leaves_base_and_trash(host: Host, far: Far) -> None:
    host.write("note.md", "secret\n")
    host.write("kept.md", "kept\n")
    await host.sync()
    redacted = await version_of(far, "note.md")
    await far.remove("note.md")
    await host.sync()
    host.write("note.md", "new\n")
    await host.sync()
    assert ["secret\n"] == host.trash()

    await forget_version(host.replica, redacted)

    assert [] == host.trash()
    assert "secret\n" not in texts(host.store.base)
    assert {"new\n", "kept\n"} <= texts(host.store.base)


async def test_a_text_that_a_memory_holds_again_stays_its_baseline(host: Host, far: Far) -> None:
    host.write("note.md", "one\n")
    await host.sync()
    redacted = await version_of(far, "note.md")
    host.write("note.md", "two\n")
    await host.sync()
    host.write("note.md", "one\n")
    await host.sync()

    await forget_version(host.replica, redacted)
    await forget_version(host.replica, redacted)
    await forget_version(host.replica, "memver_unknown")

    assert "one\n" in texts(host.store.base)
    assert {"note.md": "one\n"} == host.tree()


async def test_what_a_version_held_is_known_after_a_restart_and_a_rename(host: Host, far: Far) -> None:
    host.write("note.md", "secret\n")
    await host.sync()
    redacted = await version_of(far, "note.md")
    host.write("note.md", "edited\n")
    await host.sync()
    host.move("note.md", "moved.md")
    await host.sync()
    (host.store.trash / "20261130T100000.000000000Z~note.md").write_text("secret\n")
    host.restart()

    await forget_version(host.replica, redacted)

    assert [] == host.trash()
