"""``.memfs/`` through a real mount, with the tools that people use: as fast as the rest once the kernel knows it."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from memfs.core.tree_requests import Changed, Ping, Refresh

LIMIT_S = 30
DROP_CACHES = Path("/proc/sys/vm/drop_caches")


def run(*words: str | Path) -> str:
    done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_S, check=False, stdin=subprocess.DEVNULL)
    assert (0, "") == (done.returncode, done.stderr)
    return done.stdout


def test_what_was_read_of_it_once_is_neither_looked_up_nor_read_again(mounted: Any) -> None:
    directory = mounted.point / ".memfs"
    for number in range(50):
        (mounted.root / f"{number}.md").write_text("text")

    def look() -> list[str]:
        return [
            run("cat", directory / "README.md", directory / "status.json", directory / "conflicts"),
            run("grep", "-r", '"state"', directory / "info"),
            run("ls", "-lR", directory),
            run("find", directory, "-type", "f"),
        ]

    first = look()
    before = mounted.upcalls()

    assert first == look()

    # A read makes the kernel doubt a file's atime, here as in a store: tools that look at it ask once more.
    asked = {name for name, count in mounted.upcalls().items() if count != before.get(name)}
    assert asked <= {"getattr", "statfs"}
    assert 50 == first[1].count('"state": "pending"')
    assert 53 == len(first[3].splitlines())


def test_tools_copy_it_whole(mounted_either_way: Any, tmp_path: Path) -> None:
    mounted = mounted_either_way
    (mounted.root / "d").mkdir()
    (mounted.root / "d/naïve 'q\".md").write_text("text")

    run("cp", "-r", mounted.point / ".memfs", tmp_path / "copy")

    assert "" == run("diff", "-r", mounted.point / ".memfs", tmp_path / "copy")
    run("tar", "-cf", tmp_path / "it.tar", "-C", mounted.point, ".memfs")
    assert ".memfs/info/notes/d/naïve 'q\".md" in run("tar", "--quoting-style=literal", "-tf", tmp_path / "it.tar")


def test_readers_meet_no_cut_and_no_mixture_while_it_changes(mounted_either_way: Any) -> None:
    """Each text is JSON with an end, however often the worker says that something else is so."""
    mounted = mounted_either_way
    (mounted.root / "a.md").write_text("text")
    script = (
        "import json, sys\n"
        "for _ in range(400):\n"
        "    for path in sys.argv[1:]:\n"
        "        with open(path, 'rb') as file:\n"
        "            json.loads(file.read(40) + file.read())\n"
    )
    paths = [mounted.point / ".memfs/status.json", mounted.point / ".memfs/info/notes/a.md"]
    with subprocess.Popen([sys.executable, "-c", script, *paths], stderr=subprocess.PIPE) as reader:
        number = 0
        while reader.poll() is None:
            number += 1
            (mounted.root / "a.md").write_text("text" * (number % 50))
            mounted.ask(Changed(store_id=mounted.store.store_id, paths=("/a.md",)))
        assert reader.stderr is not None
        assert b"" == reader.stderr.read()
    assert 0 == reader.returncode


def test_the_kernel_gives_all_of_it_back(mounted_either_way: Any, until: Callable[[Callable[[], bool]], None]) -> None:
    mounted = mounted_either_way
    (mounted.root / "d").mkdir()
    (mounted.root / "d/a.md").write_text("text")
    run("grep", "-r", "", mounted.point / ".memfs")
    (mounted.root / "d").rename(mounted.root / "e")
    run("grep", "-r", "", mounted.point / ".memfs")

    mounted.ask(Refresh())
    known = {"root", "store"} if os.access(DROP_CACHES, os.W_OK) else {"root", "store", "top"}
    if "top" not in known:
        DROP_CACHES.write_text("2")

    until(lambda: len(known) == mounted.ask(Ping()).facts["nodes"])
