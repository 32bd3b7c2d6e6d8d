"""What the worker puts under a program's feet is seen soon, whole, and never torn."""

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memfs.core.tree_requests import Refresh

Until = Callable[[Callable[[], bool]], None]


@pytest.fixture
def mounted(mounted_either_way: Any) -> Any:
    return mounted_either_way


READ_WHOLE = """
import json, os, sys
path, calls, torn, stop = sys.argv[1], 0, 0, sys.argv[2]
print(0, flush=True)
while not os.path.exists(stop):
    with open(path, 'rb') as file:
        content = file.read()
    calls += 1
    torn += len(content) != 3000 or len(set(content)) != 1
print(json.dumps([calls, torn]), flush=True)
"""

READ_IN_PIECES = """
import json, os, sys
path, calls, torn, stop = sys.argv[1], 0, 0, sys.argv[2]
print(0, flush=True)
while not os.path.exists(stop):
    file, pieces = os.open(path, os.O_RDONLY), []
    while piece := os.read(file, 7000):
        pieces.append(piece)
    os.close(file)
    content = b''.join(pieces)
    calls += 1
    size = 20000 + 1000 * (content[0] % 10)
    torn += len(content) != size or len(set(content)) != 1
print(json.dumps([calls, torn]), flush=True)
"""


STORM = """
import os, sys
directory, stop, me = sys.argv[1:]
print(0, flush=True)
turn = 0
while not os.path.exists(stop):
    turn += 1
    own = f'{directory}/own-{me}-{turn % 5}.md'
    with open(own, 'w') as file:
        file.write(f'{me} {turn}')
    os.rename(own, f'{directory}/own-{me}.md')
    for name in os.listdir(directory):
        try:
            os.stat(f'{directory}/{name}')
            with open(f'{directory}/{name}', 'rb') as file:
                file.read()
        except FileNotFoundError:
            pass
    os.path.exists(f'{directory}/pulled-{turn % 10}.md')
    os.unlink(f'{directory}/own-{me}.md')
print(0, flush=True)
"""


def contents(directory: Path) -> dict[str, bytes]:
    return {one.name: one.read_bytes() for one in directory.iterdir()}


def listed(directory: Path) -> list[str]:
    return sorted(one.name for one in directory.iterdir())


def version(number: int) -> bytes:
    """Return a content whose letter and length tell which version it is."""
    letter = 65 + number % 26
    return bytes([letter]) * (20_000 + 1_000 * (letter % 10))


def test_a_pulled_edit_is_seen_though_the_kernel_had_cached_the_old_one(mounted: Any, until: Until) -> None:
    mounted.pull("/a.md", b"first")
    until((mounted.root / "a.md").exists)
    assert b"first" == (mounted.root / "a.md").read_bytes()

    mounted.pull("/a.md", b"the second, which is longer")

    until(lambda: (mounted.root / "a.md").read_bytes() == b"the second, which is longer")
    assert 27 == (mounted.root / "a.md").stat().st_size


def test_a_pulled_file_appears_in_a_listing_and_where_it_was_known_to_be_absent(mounted: Any, until: Until) -> None:
    (mounted.root / "d").mkdir()
    (mounted.root / "d" / "a.md").touch()
    assert ["a.md"] == listed(mounted.root / "d")
    assert not (mounted.root / "d" / "new.md").exists()

    mounted.pull("/d/new.md", b"new")
    mounted.pull("/d/unasked.md", b"new")

    until(lambda: listed(mounted.root / "d") == ["a.md", "new.md", "unasked.md"])
    until((mounted.root / "d" / "new.md").exists)
    assert b"new" == (mounted.root / "d" / "new.md").read_bytes()


def test_a_pulled_file_brings_its_directories(mounted: Any, until: Until) -> None:
    assert [] == listed(mounted.root)
    assert not (mounted.root / "x").exists()

    mounted.pull("/x/y/a.md", b"deep")

    until(lambda: listed(mounted.root) == ["x"])
    until((mounted.root / "x" / "y" / "a.md").exists)
    assert b"deep" == (mounted.root / "x" / "y" / "a.md").read_bytes()


def test_a_pulled_deletion_is_seen_in_lookup_and_listing(mounted: Any, until: Until) -> None:
    mounted.pull("/a.md", b"first")
    until((mounted.root / "a.md").exists)
    assert ["a.md"] == listed(mounted.root)

    mounted.pull_deletion("/a.md")

    until(lambda: not (mounted.root / "a.md").exists())
    until(lambda: listed(mounted.root) == [])


def test_a_refresh_shows_what_was_edited_behind_the_mount(mounted: Any, until: Until) -> None:
    (mounted.root / "a.md").write_text("first")
    assert "first" == (mounted.root / "a.md").read_text()
    (mounted.store.tree / "a.md").write_text("edited behind")

    mounted.ask(Refresh())

    until(lambda: (mounted.root / "a.md").read_text() == "edited behind")


def test_three_readers_see_no_error_and_no_mixture_while_a_file_is_replaced(
    mounted: Any, program: Callable[..., Any], said: Callable[..., Any], tmp_path: Path
) -> None:
    path, stop = mounted.root / "a.md", tmp_path / "stop"
    path.write_bytes(b"a" * 3_000)
    readers = [program(READ_WHOLE, path, stop) for _ in range(3)]
    for reader in readers:
        said(reader)

    for number in range(1_000):
        temporary = mounted.root / f".tmp-{number % 7}"
        temporary.write_bytes(bytes([97 + number % 26]) * 3_000)
        temporary.rename(path)
    stop.touch()

    seen = [said(reader) for reader in readers]
    assert [0, 0, 0] == [torn for _, torn in seen]
    assert all(calls > 10 for calls, _ in seen)


def test_readers_that_read_in_pieces_get_one_version_while_pulls_replace_it(
    mounted_either_way: Any, program: Callable[..., Any], said: Callable[..., Any], until: Until, tmp_path: Path
) -> None:
    mounted = mounted_either_way
    mounted.pull("/a.md", version(0))
    path, stop = mounted.root / "a.md", tmp_path / "stop"
    until(path.exists)
    readers = [program(READ_IN_PIECES, path, stop) for _ in range(2)]
    for reader in readers:
        said(reader)

    for number in range(1, 201):
        mounted.pull("/a.md", version(number))
    until(lambda: path.read_bytes() == version(200))
    stop.touch()

    seen = [said(reader) for reader in readers]
    assert [0, 0] == [torn for _, torn in seen]
    assert all(calls > 10 for calls, _ in seen)


def test_pulls_that_meet_an_unmount_leave_nothing_in_the_log(mounted: Any) -> None:
    mounted.pull("/a.md", version(0))
    assert version(0) == (mounted.root / "a.md").read_bytes()

    mounted.process.send_signal(signal.SIGTERM)
    for number in range(1, 1_000):
        try:
            mounted.pull("/a.md", version(number))
        except OSError:
            break

    assert 0 == mounted.ended()
    assert "WARNING" not in mounted.told()
    assert "Traceback" not in mounted.told()


def test_after_a_storm_of_pulls_and_programs_the_kernel_shows_what_is_in_the_tree(
    prepared: Callable[..., Any], program: Callable[..., Any], said: Callable[..., Any], until: Until, tmp_path: Path
) -> None:
    """Look-ups, listings and invalidations race in one directory: nothing deadlocks, nothing stale stays cached."""
    mounted = prepared().start()
    directory, stop = mounted.root / "d", tmp_path / "stop"
    directory.mkdir()
    programs = [program(STORM, directory, stop, number) for number in range(3)]
    for one in programs:
        said(one)

    for number in range(1_000):
        mounted.pull(f"/d/pulled-{number % 10}.md", version(number), force=True)
        if number % 3 == 2:
            mounted.pull_deletion(f"/d/pulled-{number % 10}.md", force=True)
    stop.touch()

    assert [0, 0, 0] == [said(one) for one in programs]
    tree = mounted.store.tree / "d"
    until(lambda: listed(directory) == listed(tree))
    until(lambda: contents(directory) == contents(tree))
    assert "Traceback" not in mounted.told()
    assert "WARNING" not in mounted.told()
