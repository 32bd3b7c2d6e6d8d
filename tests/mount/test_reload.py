"""Stores are attached, detached and swapped while the mount lives: a name always leads to the store that has it now."""

import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memfs.core.attachment import Access, Attachment
from memfs.core.tree_requests import Answer, Reload
from memfs.state.attachments import attach

Until = Callable[[Callable[[], bool]], None]


def listed(directory: Path) -> list[str]:
    return sorted(one.name for one in directory.iterdir())


def reload(mounted: Any, **stores: str) -> None:
    """Attach these stores, each under its slug, and no others."""
    attach(
        mounted.layout,
        [
            Attachment(store_id=f"memstore_{store}", name=store, slug=slug, access=Access.READ_WRITE)
            for slug, store in stores.items()
        ],
    )
    assert Answer() == mounted.ask(Reload())


def test_two_stores_change_names_though_the_kernel_knew_both(mounted_either_way: Any, until: Until) -> None:
    mounted = mounted_either_way
    reload(mounted, one="notes", two="other")
    one, two = mounted.point / "one", mounted.point / "two"
    (one / "a.md").write_text("of notes")
    (two / "a.md").write_text("of other")

    reload(mounted, one="other", two="notes")

    until(lambda: "of other" == (one / "a.md").read_text())
    until(lambda: "of notes" == (two / "a.md").read_text())
    (one / "b.md").write_text("to other")
    assert "to other" == (mounted.layout.store("memstore_other").tree / "b.md").read_text()


def test_another_store_takes_a_name_over(mounted_either_way: Any, until: Until) -> None:
    mounted = mounted_either_way
    (mounted.root / "a.md").write_text("of notes")
    assert ["a.md"] == listed(mounted.root)

    reload(mounted, notes="other")

    until(lambda: [] == listed(mounted.root))
    assert not (mounted.root / "a.md").exists()


def test_a_detached_store_is_gone_and_its_open_files_are_stale(mounted_either_way: Any, until: Until) -> None:
    mounted = mounted_either_way
    (mounted.root / "a.md").write_text("kept")
    with (mounted.root / "a.md").open("r+b", buffering=0) as file:
        reload(mounted)

        until(lambda: not mounted.root.exists())
        assert [".memfs"] == listed(mounted.point)
        with pytest.raises(OSError, match="Stale") as caught:
            file.write(b"late")

    assert errno.ESTALE == caught.value.errno
    assert "kept" == (mounted.store.tree / "a.md").read_text()
