"""Every cell of the decision table end to end: a real tree, a remote, and the bytes on both sides afterwards."""

from dataclasses import dataclass, field

import pytest
from hosts import Far, MakeHost

from memfs.core.attachment import Access
from memfs.core.conflicts import conflict_path
from memfs.core.digest import content_sha256
from memfs.core.paths import StorePath

pytestmark = pytest.mark.anyio

NOTE = "d/note.md"
BASE, LOCAL, REMOTE = "base\n", "local\n", "remote\n"
COPY = conflict_path(StorePath("/" + NOTE), content_sha256(LOCAL.encode()))[1:]
RW, RO = Access.READ_WRITE, Access.READ_ONLY


@dataclass(frozen=True)
class Cell:
    """What each side has when the worker looks, and what both must have afterwards."""

    about: str
    baseline: str | None
    local: str | None
    remote: str | None
    tree: dict[str, str]
    far: dict[str, str]
    trash: list[str] = field(default_factory=list)
    access: Access = RW


ONE = {NOTE: REMOTE}
CELLS = [
    Cell("nothing anywhere", None, None, None, {}, {}),
    Cell("nobody changed it", BASE, BASE, BASE, {NOTE: BASE}, {NOTE: BASE}),
    Cell("made alike on both sides", None, LOCAL, LOCAL, {NOTE: LOCAL}, {NOTE: LOCAL}),
    Cell("edited alike on both sides", BASE, LOCAL, LOCAL, {NOTE: LOCAL}, {NOTE: LOCAL}),
    Cell("deleted on both sides", BASE, None, None, {}, {}),
    Cell("edited remotely", BASE, BASE, REMOTE, ONE, ONE),
    Cell("edited locally", BASE, LOCAL, BASE, {NOTE: LOCAL}, {NOTE: LOCAL}),
    Cell("edited on both sides", BASE, LOCAL, REMOTE, {NOTE: REMOTE, COPY: LOCAL}, {NOTE: REMOTE, COPY: LOCAL}),
    Cell("created locally", None, LOCAL, None, {NOTE: LOCAL}, {NOTE: LOCAL}),
    Cell("created on both sides", None, LOCAL, REMOTE, {NOTE: REMOTE, COPY: LOCAL}, {NOTE: REMOTE, COPY: LOCAL}),
    Cell("created remotely", None, None, REMOTE, ONE, ONE),
    Cell("deleted locally", BASE, None, BASE, {}, {}),
    Cell("deleted locally, edited remotely", BASE, None, REMOTE, ONE, ONE),
    Cell("deleted remotely", BASE, BASE, None, {}, {}, [BASE]),
    Cell("edited locally, deleted remotely", BASE, LOCAL, None, {NOTE: LOCAL}, {NOTE: LOCAL}),
    Cell("read_only: nothing anywhere", None, None, None, {}, {}, [], RO),
    Cell("read_only: nobody changed it", BASE, BASE, BASE, {NOTE: BASE}, {NOTE: BASE}, [], RO),
    Cell("read_only: made alike on both sides", None, LOCAL, LOCAL, {NOTE: LOCAL}, {NOTE: LOCAL}, [], RO),
    Cell("read_only: edited alike on both sides", BASE, LOCAL, LOCAL, {NOTE: LOCAL}, {NOTE: LOCAL}, [], RO),
    Cell("read_only: deleted on both sides", BASE, None, None, {}, {}, [], RO),
    Cell("read_only: edited remotely", BASE, BASE, REMOTE, ONE, ONE, [], RO),
    Cell("read_only: edited locally", BASE, LOCAL, BASE, {NOTE: BASE}, {NOTE: BASE}, [LOCAL], RO),
    Cell("read_only: edited on both sides", BASE, LOCAL, REMOTE, ONE, ONE, [LOCAL], RO),
    Cell("read_only: created locally", None, LOCAL, None, {}, {}, [LOCAL], RO),
    Cell("read_only: created on both sides", None, LOCAL, REMOTE, ONE, ONE, [LOCAL], RO),
    Cell("read_only: created remotely", None, None, REMOTE, ONE, ONE, [], RO),
    Cell("read_only: deleted locally", BASE, None, BASE, {NOTE: BASE}, {NOTE: BASE}, [], RO),
    Cell("read_only: deleted locally, edited remotely", BASE, None, REMOTE, ONE, ONE, [], RO),
    Cell("read_only: deleted remotely", BASE, BASE, None, {}, {}, [BASE], RO),
    Cell("read_only: edited locally, deleted remotely", BASE, LOCAL, None, {}, {}, [LOCAL], RO),
]


@pytest.mark.parametrize("cell", [pytest.param(cell, id=cell.about.replace(" ", "-")) for cell in CELLS])
async def test_each_cell_ends_with_the_right_bytes_on_both_sides(cell: Cell, make_host: MakeHost, far: Far) -> None:
    host = make_host(access=cell.access)
    if cell.baseline is not None:
        await far.write(NOTE, cell.baseline)
        assert [] == await host.sync()
    if cell.local is None and cell.baseline is not None:
        host.remove(NOTE)
    elif cell.local not in {None, cell.baseline}:
        host.write(NOTE, cell.local or "")
    if cell.remote is None and cell.baseline is not None:
        await far.remove(NOTE)
    elif cell.remote not in {None, cell.baseline}:
        await far.write(NOTE, cell.remote or "")

    left = await host.sync()

    assert [] == left
    assert cell.tree == host.tree()
    assert cell.far == await far.contents()
    assert cell.trash == host.trash()
    # What was recorded is what is: another worker on the same state finds nothing to do.
    before = {path: one.memory_version_id for path, one in (await far.memories()).items()}
    host.restart()
    assert [] == await host.sync()
    assert before == {path: one.memory_version_id for path, one in (await far.memories()).items()}
    assert cell.tree == host.tree()
