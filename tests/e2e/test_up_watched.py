"""Programs that watch a mount of `memfs up`: real server, real worker, real mount, real inotify."""

import json
import select
from pathlib import Path

import pytest
from commands import Memfs
from mount.watches import Watch
from running_up import running_up


@pytest.mark.parametrize("access", ["", ":ro"])
def test_a_watcher_hears_of_remote_edits_and_the_worker_takes_nothing_for_a_local_one(
    memfs: Memfs, tmp_path: Path, access: str
) -> None:
    name = f"Watched {tmp_path.name}"
    assert memfs.run("stores", "create", name).code == 0
    with running_up(memfs, tmp_path, "--store", f"{name}{access}") as up:
        (directory,) = (one for one in up.mount.iterdir() if one.name != ".memfs")
        watch = Watch(directory, "close_write")
        try:
            for number in range(3):
                assert memfs.run("memories", "put", name, "/plan.md", stdin=b"number %d\n" % number).code == 0
                assert "CLOSE_WRITE plan.md" == watch.heard()
                assert f"number {number}\n" == (directory / "plan.md").read_text()
            assert not select.select([watch.process.stdout], [], [], 0)[0]
        finally:
            watch.end()
        code = up.stop()

    assert code == 0
    versions = json.loads(memfs.run("versions", "list", name, "--json").out)
    assert ["created", "modified", "modified"] == sorted(one["operation"] for one in versions)
