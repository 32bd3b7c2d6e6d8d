"""Read-only, twice: the mount refuses every change itself and, where it may, has the kernel refuse it before it asks.

Only root may have the kernel do so (`by_kernel`): for anybody else the same holds by the mount's policy alone.
"""

import errno
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from memfs.core.attachment import Access, Attachment
from memfs.core.errors import MountPointBusy
from memfs.core.tree_requests import Answer, Ping, Refresh, Reload
from memfs.fuse import mountinfo, outside
from memfs.fuse.unmounting import unmount
from memfs.state.attachments import attach

Until = Callable[[Callable[[], bool]], None]
STAY = "import os, sys; os.chdir(sys.argv[1]); print('0', flush=True); sys.stdin.read()"


def by_kernel(*slugs: str) -> list[str]:
    return sorted(slugs) if os.geteuid() == 0 else []


def attached(mounted: Any, *read_only: str, writable: Iterable[str] = ("notes",)) -> None:
    """Attach stores named by their slugs."""
    access = dict.fromkeys(writable, Access.READ_WRITE) | dict.fromkeys(read_only, Access.READ_ONLY)
    attach(
        mounted.layout,
        [Attachment(store_id=f"memstore_{slug}", name=slug, slug=slug, access=how) for slug, how in access.items()],
    )


def held(mounted: Any) -> list[str]:
    """Return what the kernel holds read-only, as the mount tells it."""
    names: list[str] = mounted.ask(Ping()).facts["kernel_read_only"]
    return names


def shown(mounted: Any) -> dict[str, str | None]:
    """Return by whom each store is read-only, as programs in the mount read it."""
    stores = json.loads((mounted.point / ".memfs/status.json").read_text())["stores"]
    return {one["slug"]: one["read_only_by"] for one in stores}


def parts(point: Path) -> list[str]:
    """Return what is mounted in a mount, each as often as it is."""
    return [one.mount_point.name for one in mountinfo.read() if point in one.mount_point.parents]


@pytest.fixture
def manual(prepared: Callable[..., Any]) -> Any:
    """A mount with the writable store ``notes`` and the read-only store ``manual``."""
    mounted = prepared()
    attached(mounted, "manual")
    (mounted.layout.store("memstore_manual").tree / "guide.md").write_text("guide\n")
    mounted.start()
    assert mounted.is_ready, mounted.told()
    return mounted


def refused(act: Callable[[], object]) -> str:
    """Return the name of the error that it ends with."""
    with pytest.raises(OSError, match=r".*") as caught:
        act()
    return errno.errorcode[caught.value.errno or 0]


def test_every_change_is_refused_to_root_too(manual: Any) -> None:
    store, guide = manual.point / "manual", manual.point / "manual/guide.md"
    expected = {"EROFS"} if os.geteuid() == 0 else {"EROFS", "EACCES"}
    # A mount of its own is another device to rename(2), which says so before it looks at anything else.
    across = {"EXDEV"} if os.geteuid() == 0 else {"EROFS", "EACCES"}
    (manual.root / "own.md").write_text("own\n")

    assert by_kernel("manual") == held(manual)
    assert refused(lambda: os.open(guide, os.O_RDWR)) in expected
    assert refused(lambda: os.open(guide, os.O_WRONLY | os.O_APPEND)) in expected
    assert refused(lambda: os.open(guide, os.O_RDONLY | os.O_TRUNC)) in expected
    assert refused(lambda: os.open(store / "new.md", os.O_CREAT | os.O_WRONLY)) in expected
    assert refused(lambda: os.truncate(guide, 0)) in expected
    assert refused(guide.unlink) in expected
    assert refused((store / "new").mkdir) in expected
    assert refused(lambda: guide.rename(store / "other.md")) in expected
    assert refused(lambda: guide.chmod(0o600)) == "EROFS"
    assert refused(lambda: os.utime(guide, (0, 0))) == "EROFS"
    assert refused(lambda: (store / "link").symlink_to("guide.md")) in expected
    assert refused(lambda: os.setxattr(guide, "user.x", b"1")) in {*expected, "EOPNOTSUPP"}
    assert refused(lambda: (manual.root / "own.md").rename(store / "own.md")) in across
    assert refused(lambda: guide.rename(manual.root / "guide.md")) in across
    assert not os.access(guide, os.W_OK)
    assert not os.access(store, os.W_OK)
    assert "guide\n" == guide.read_text()
    assert ["guide.md"] == os.listdir(store)  # noqa: PTH208  (names)


def test_mv_meets_the_refusal_in_both_directions(manual: Any) -> None:
    (manual.root / "own.md").write_text("own\n")

    into = subprocess.run(["mv", manual.root / "own.md", manual.point / "manual"], capture_output=True, check=False)
    out = subprocess.run(["mv", manual.point / "manual/guide.md", manual.root], capture_output=True, check=False)

    assert 0 not in {into.returncode, out.returncode}
    assert "own\n" == (manual.root / "own.md").read_text()
    assert "guide\n" == (manual.point / "manual/guide.md").read_text()


MAP = """
import mmap, os, sys
file = os.open(sys.argv[1], os.O_RDONLY)
kept = mmap.mmap(file, 0, mmap.MAP_SHARED, mmap.PROT_READ)
try:
    mmap.mmap(file, 0, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
except PermissionError:
    print(kept[:].decode(), end="")
"""


def test_a_file_is_mapped_for_reading_and_not_for_writing(manual: Any) -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-c", MAP, manual.point / "manual/guide.md"], capture_output=True, check=True, timeout=20
    )

    assert b"guide\n" == done.stdout


def test_remote_edits_still_arrive(prepared: Callable[..., Any], until: Until) -> None:
    mounted = prepared()
    attached(mounted, "notes", writable=[])
    mounted.start()
    (mounted.store.tree / "a.md").write_text("old\n")
    assert "old\n" == (mounted.root / "a.md").read_text()

    mounted.pull("/a.md", b"new\n", force=True)
    mounted.pull("/b.md", b"more\n")

    until(lambda: "new\n" == (mounted.root / "a.md").read_text())
    until((mounted.root / "b.md").exists)
    assert by_kernel("notes") == held(mounted)


def test_stores_that_are_attached_later_are_held_too_and_let_go_when_they_go(manual: Any, until: Until) -> None:
    attached(manual, "manual", "more")
    assert Answer() == manual.ask(Reload())

    until(lambda: by_kernel("manual", "more") == held(manual))
    assert refused((manual.point / "more/new").mkdir) in {"EROFS", "EACCES"}

    attached(manual, "more")
    assert Answer() == manual.ask(Reload())

    until(lambda: by_kernel("more") == held(manual))
    until(lambda: not (manual.point / "manual").exists())
    assert by_kernel("more") == parts(manual.point)


def test_a_store_that_turns_writable_is_written_also_by_who_is_in_it(
    manual: Any, until: Until, program: Callable[..., Any], said: Callable[..., Any]
) -> None:
    code = """
import os, sys
os.chdir(sys.argv[1])
print(0, flush=True)
for line in sys.stdin:
    try:
        open("new.md", "w").close()
        print(0, flush=True)
    except OSError as error:
        print(error.errno, flush=True)
"""
    inside = program(code, manual.point / "manual")
    said(inside)

    def written() -> int:
        inside.stdin.write("\n")
        inside.stdin.flush()
        code: int = said(inside)
        return code

    assert written() in {errno.EROFS, errno.EACCES}

    attached(manual, writable=["notes", "manual"])
    assert Answer() == manual.ask(Reload())

    until(lambda: [] == parts(manual.point))
    until(lambda: 0 == written())
    assert (manual.layout.store("memstore_manual").tree / "new.md").exists()


def test_a_refresh_leaves_what_is_held(manual: Any) -> None:
    assert "guide\n" == (manual.point / "manual/guide.md").read_text()

    assert Answer() == manual.ask(Refresh())

    assert by_kernel("manual") == held(manual) == parts(manual.point)
    assert "guide\n" == (manual.point / "manual/guide.md").read_text()
    assert refused((manual.point / "manual/new").mkdir) in {"EROFS", "EACCES"}


def test_two_stores_swap_their_names_and_their_access(manual: Any, until: Until) -> None:
    """The kernel forgets both names, which detaches what is mounted there: it comes back for who is read-only now."""

    def swapped() -> None:
        attach(
            manual.layout,
            [
                Attachment(store_id="memstore_manual", name="m", slug="notes", access=Access.READ_ONLY),
                Attachment(store_id="memstore_notes", name="n", slug="manual", access=Access.READ_WRITE),
            ],
        )
        assert Answer() == manual.ask(Reload())

    assert [] == os.listdir(manual.root)  # noqa: PTH208  (names)

    swapped()

    until(lambda: by_kernel("notes") == held(manual))
    until((manual.point / "notes/guide.md").exists)
    assert by_kernel("notes") == parts(manual.point)
    (manual.point / "manual/new.md").write_text("new\n")
    assert refused((manual.point / "notes/new").mkdir) in {"EROFS", "EACCES"}


READ_ALL = """
import os, sys
print(0, flush=True)
while True:
    for directory, _, names in os.walk(sys.argv[1]):
        for name in names:
            try:
                open(f"{directory}/{name}", "rb").read()
            except OSError as error:
                if error.errno not in (2, 116):  # gone, or of a store that is
                    print(error, flush=True)
"""


def test_any_order_of_attaching_ends_as_it_should(
    manual: Any, until: Until, program: Callable[..., Any], said: Callable[..., Any]
) -> None:
    """While programs read everything and pulls arrive, stores change names and access as often as they can."""
    dice = random.Random(1)
    reader = program(READ_ALL, manual.point)
    said(reader)
    manual.pull("/which.md", b"notes\n")
    for turn in range(12):
        names = dice.sample(["one", "two", "three"], 3)
        slugs = dict(zip(["notes", "manual", "more"], names[: dice.randint(1, 3)], strict=False))
        access = {store: dice.choice(list(Access)) for store in slugs}
        attach(
            manual.layout,
            [
                Attachment(store_id=f"memstore_{store}", name=store, slug=slug, access=access[store])
                for store, slug in slugs.items()
            ],
        )
        assert Answer() == manual.ask(Reload())
        manual.pull(f"/{turn % 5}.md", b"pulled\n", force=True)
        expected = by_kernel(*(slug for store, slug in slugs.items() if access[store] is Access.READ_ONLY))
        if turn % 3 == 0:
            until(lambda expected=expected: expected == held(manual))

    until(lambda: expected == held(manual) == sorted(parts(manual.point)))
    until(lambda: {".memfs", *slugs.values()} == set(os.listdir(manual.point)))  # noqa: PTH208  (names)
    until((manual.point / slugs["notes"] / "which.md").exists)
    assert "notes\n" == (manual.point / slugs["notes"] / "which.md").read_text()
    assert reader.poll() is None
    unmount(manual.point, lazy=True)
    assert [] == parts(manual.point)
    assert "WARNING" not in manual.told()


def test_unmounting_leaves_nothing_mounted(manual: Any) -> None:
    unmount(manual.point)

    assert 0 == manual.process.wait(0.5)
    assert [] == parts(manual.point)
    assert not manual.is_mounted()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_leaves_nothing_mounted(manual: Any, number: signal.Signals) -> None:
    manual.process.send_signal(number)

    assert 0 == manual.ended()
    assert [] == parts(manual.point)
    assert not manual.is_mounted()


def test_an_unmount_that_finds_programs_leaves_all_as_it_was(
    manual: Any, program: Callable[..., Any], said: Callable[..., Any]
) -> None:
    for busy in (manual.root, manual.point / "manual"):
        holder = program(STAY, busy)
        said(holder)

        with pytest.raises(MountPointBusy, match=rf"\({holder.pid}\)"):
            unmount(manual.point)

        assert by_kernel("manual") == held(manual) == parts(manual.point)
        holder.kill()
        holder.wait(20)


def test_a_lazy_unmount_takes_all_with_it_under_its_users(
    manual: Any, program: Callable[..., Any], said: Callable[..., Any]
) -> None:
    said(program(STAY, manual.point / "manual"))

    unmount(manual.point, lazy=True)

    assert 0 == manual.process.wait(0.5)
    assert [] == parts(manual.point)


@pytest.mark.parametrize("is_used", [False, True])
def test_what_a_killed_mount_left_is_cleared_whole(
    manual: Any, program: Callable[..., Any], said: Callable[..., Any], *, is_used: bool
) -> None:
    if is_used:
        said(program(STAY, manual.point / "manual"))
    manual.process.kill()
    manual.process.wait(20)
    assert by_kernel("manual") == parts(manual.point)

    manual.start()

    assert manual.is_ready, manual.told()
    assert by_kernel("manual") == held(manual) == parts(manual.point)
    assert "guide\n" == (manual.point / "manual/guide.md").read_text()

    manual.process.kill()
    manual.process.wait(20)
    unmount(manual.point)

    assert [] == parts(manual.point)


def test_a_mount_that_hangs_is_detached_whole(manual: Any) -> None:
    manual.process.send_signal(signal.SIGSTOP)

    outside.unmount(manual.point, lazy=True, timeout_s=20)

    assert [] == parts(manual.point)
    assert not manual.is_mounted()
    manual.process.send_signal(signal.SIGCONT)
    assert 0 == manual.ended()


def test_who_refuses_is_told_by_status(manual: Any, until: Until) -> None:
    command = [sys.executable, "-I", "-m", "memfs.cli", "status", "--state", manual.layout.root]
    told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=20).stdout

    (line,) = [line for line in told.splitlines() if line.startswith("manual")]
    by = "kernel" if by_kernel("manual") else "policy"
    assert f"read_only ({by})" in line
    assert {"notes": None, "manual": by} == shown(manual)

    attached(manual, "notes", writable=["manual"])
    assert Answer() == manual.ask(Reload())

    until(lambda: {"notes": by, "manual": None} == shown(manual))
