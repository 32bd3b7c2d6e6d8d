"""Many programs at once, and many files: nothing of what was written is lost, torn, skipped or told twice.

Each runs small in every run of the tests, and in its full size in the long ones.
"""

import json
import os
import shutil
import sqlite3
import subprocess
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

Program = Callable[..., "subprocess.Popen[str]"]
Until = Callable[[Callable[[], bool]], None]
LONG = [pytest.mark.long, pytest.mark.timeout(600)]

APPEND = """
import os, sys
directory, me, lines, files = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
opened = [os.open(f'{directory}/{n}.log', os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644) for n in range(files)]
print(0, flush=True)
sys.stdin.readline()
for turn in range(lines):
    line = f'{me} {turn}\\n'.encode()
    assert len(line) == os.write(opened[turn % files], line)
print(0, flush=True)
"""

READ = """
import json, os, sys
path, stop, calls, torn = sys.argv[1], sys.argv[2], 0, 0
print(0, flush=True)
while not os.path.exists(stop):
    with open(path, 'rb') as file:
        content = file.read()
    calls += 1
    torn += len(content) != 3_000 or len(set(content)) != 1
print(json.dumps([calls, torn]), flush=True)
"""

REPLACE = """
import os, sys
directory, times = sys.argv[1], int(sys.argv[2])
for number in range(times):
    temporary = f'{directory}/.tmp-{number % 7}'
    with open(temporary, 'wb') as file:
        file.write(bytes([97 + number % 26]) * 3_000)
    os.rename(temporary, f'{directory}/a.md')
print(0, flush=True)
"""

INSERT = """
import sqlite3, sys
database = sqlite3.connect(sys.argv[1], timeout=30, isolation_level=None)
for number in range(30):
    database.execute('begin immediate')
    database.execute('insert into lines values (?)', (number,))
    database.execute('commit')
print(0, flush=True)
"""

COME_AND_GO = """
import os, sys
directory, stop, turn = sys.argv[1], sys.argv[2], 0
print(0, flush=True)
while not os.path.exists(stop):
    turn += 1
    name = f'{directory}/passing-{turn % 40}.md'
    with open(name, 'w') as file:
        file.write('passing')
    os.rename(name, f'{directory}/passed-{turn % 30}.md')
    if turn % 3 == 0:
        os.unlink(f'{directory}/passed-{turn % 30}.md')
print(turn, flush=True)
"""


@pytest.fixture
def mounted(mounted_either_way: Any) -> Any:
    return mounted_either_way


def ask(process: "subprocess.Popen[str]") -> Any:
    assert process.stdout is not None
    return json.loads(process.stdout.readline())


def go(processes: Sequence["subprocess.Popen[str]"]) -> None:
    """Have programs that wait for it begin at once."""
    for one in processes:
        assert one.stdin is not None
        one.stdin.write("go\n")
        one.stdin.flush()


@pytest.mark.parametrize("lines", [500, pytest.param(5_000, marks=LONG)])
@pytest.mark.parametrize("where", ["logs", ".git"])
def test_lines_that_many_processes_append_are_all_there(mounted: Any, program: Program, lines: int, where: str) -> None:
    """As memories they go to files that have room for them; below a local-only name all go to one."""
    directory = mounted.root / where
    directory.mkdir()
    files = 1 if where == ".git" else max(1, 8 * lines * len("7 4999\n") // 90_000 + 1)
    writers = [program(APPEND, directory, me, lines, files) for me in range(8)]
    assert [0] * 8 == [ask(one) for one in writers]

    go(writers)

    assert [0] * 8 == [ask(one) for one in writers]
    found = Counter(line for one in directory.iterdir() for line in one.read_text().splitlines())
    assert Counter(f"{me} {turn}" for me in range(8) for turn in range(lines)) == found
    for log in directory.iterdir():
        for me in range(8):
            turns = [int(line.split()[1]) for line in log.read_text().splitlines() if line.startswith(f"{me} ")]
            assert sorted(turns) == turns


@pytest.mark.long
@pytest.mark.timeout(600)
def test_readers_see_no_error_and_no_mixture_in_ten_thousand_replacements(
    mounted: Any, program: Program, tmp_path: Path
) -> None:
    (mounted.root / "a.md").write_bytes(b"a" * 3_000)
    stop = tmp_path / "stop"
    readers = [program(READ, mounted.root / "a.md", stop) for _ in range(3)]
    assert [0, 0, 0] == [ask(one) for one in readers]

    assert 0 == ask(program(REPLACE, mounted.root, 10_000))
    stop.touch()

    seen = [ask(one) for one in readers]
    assert [0, 0, 0] == [torn for _, torn in seen]
    assert all(calls > 200 for calls, _ in seen)


@pytest.mark.parametrize("files", [500, pytest.param(5_000, marks=LONG)])
def test_a_tree_is_removed_while_files_of_it_are_pulled_in(mounted: Any, until: Until, files: int) -> None:
    """What ``rm`` met is gone, what was pulled behind it is there, and the mount shows what the tree has."""
    directory = mounted.root / "doomed"
    for number in range(files):
        if number % 100 == 0:
            (mounted.store.tree / f"doomed/{number // 100}").mkdir(parents=True)
        (mounted.store.tree / f"doomed/{number // 100}/{number}.md").write_text(f"{number}\n")
    subprocess.run(["find", directory, "-type", "f", "-exec", "cat", "{}", "+"], stdout=subprocess.DEVNULL, check=True)

    removing = subprocess.Popen(["rm", "-rf", directory], stderr=subprocess.PIPE, text=True)
    pulled = 0
    while removing.poll() is None:
        mounted.pull(f"/doomed/{pulled % (files // 100)}/pulled-{pulled}.md", b"pulled", force=True)
        mounted.pull(f"/safe/{pulled}.md", b"pulled", force=True)
        pulled += 1
    _, said = removing.communicate(timeout=60)

    assert removing.returncode == 0 or "Directory not empty" in said, said
    left = [one.name for one in (mounted.store.tree / "doomed").rglob("*.md")]
    assert [] == [name for name in left if not name.startswith("pulled-")]
    assert pulled == len(list((mounted.store.tree / "safe").iterdir()))
    until(lambda: listed(mounted.root) == listed(mounted.store.tree))
    shutil.rmtree(directory, ignore_errors=True)
    until(lambda: not directory.exists())


@pytest.mark.parametrize("entries", [2_000, pytest.param(9_900, marks=LONG)])
def test_a_large_directory_is_listed_whole_while_names_come_and_go(
    mounted: Any, program: Program, tmp_path: Path, entries: int
) -> None:
    directory, stop = mounted.root / "d", tmp_path / "stop"
    (mounted.store.tree / "d").mkdir()
    for number in range(entries):
        (mounted.store.tree / f"d/{number:05}.md").touch()
    changing = program(COME_AND_GO, directory, stop)
    assert 0 == ask(changing)

    try:
        for turn in range(20):
            mounted.pull(f"/d/pulled-{turn % 7}.md", b"pulled", force=True)
            names = os.listdir(directory)  # noqa: PTH208  (the system calls of one listing, nothing else)
            assert [f"{number:05}.md" for number in range(entries)] == sorted(
                one for one in names if one[0] in "0123456789"
            )
            assert len(set(names)) == len(names)
    finally:
        stop.touch()
    assert ask(changing) > 20


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_a_database_below_a_local_only_name_keeps_what_processes_commit(
    mounted: Any, program: Program, journal: str
) -> None:
    """SQLite relies on locks of parts of a file, in WAL mode also on memory that processes share by mapping a file."""
    path = mounted.root / ".git/lines.db"
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as database:
        assert (journal,) == database.execute(f"pragma journal_mode={journal}").fetchone()
        database.execute("create table lines(number)")

        writers = [program(INSERT, path) for _ in range(3)]
        assert [0, 0, 0] == [ask(one) for one in writers]

        assert (90,) == database.execute("select count(*) from lines").fetchone()
        assert ("ok",) == database.execute("pragma integrity_check").fetchone()


def listed(root: Path) -> list[str]:
    return sorted(str(one.relative_to(root)) for one in root.rglob("*"))
