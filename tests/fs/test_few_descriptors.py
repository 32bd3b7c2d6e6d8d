"""Where descriptors run out, a call is refused; it never acts on a directory whose descriptor another one took over."""

import errno
from pathlib import Path

from fs.compared import STORES
from fs.files import refuses
from fs.worlds import InProcess


def test_a_rename_whose_directories_cannot_both_be_open_is_refused(quick: Path) -> None:
    world = InProcess(quick, STORES)
    files, descriptors = world.files, world.kernel.filesystem._mounted.descriptors
    for name in ("d", "e"):
        files.mkdir(f"notes/{name}")
        files.write(f"notes/{name}/a.md", name.encode())
    files.mkdir("notes/f")
    descriptors._capacity = 1
    descriptors.close_recent()

    with refuses(errno.EMFILE):
        files.rename("notes/d/a.md", "notes/f/b.md")

    descriptors._capacity = 8
    files.rename("notes/d/a.md", "notes/f/b.md")
    assert files.read("notes/f/b.md") == b"d"
    assert files.read("notes/e/a.md") == b"e"
    world.close()
