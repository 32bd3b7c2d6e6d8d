"""Debian's `stress-ng` and `fio` on a mount: what they verify holds, as far as a memory store allows what they do.

In a store as a store is: text, at most 102,400 bytes. Below a local-only name: any bytes, of any size.
"""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

ANYWHERE = {
    "access": "20", "chdir": "5 --chdir-dirs 64", "chmod": "20", "chown": "20", "dentry": "20", "dir": "20",
    "dirdeep": "20", "dirmany": "20", "dnotify": "5", "dup": "20", "fcntl": "20", "filename": "10", "flock": "20",
    "fstat": "20", "getdent": "20", "handle": "20", "inotify": "1", "io": "5", "lease": "20", "lockf": "20",
    "open": "20", "rename": "20", "splice": "20", "touch": "20", "utime": "20",
}  # fmt: skip
LOCAL_ONLY = {
    "aio": "20", "chattr": "5", "copy-file": "5", "fallocate": "5 --fallocate-bytes 1m", "fsize": "5",
    "hdd": "20 --hdd-bytes 1m", "iomix": "20 --iomix-bytes 1m", "locka": "20", "lockofd": "20",
    "mmap": "2 --mmap-bytes 1m --mmap-file --mmap-async", "msync": "20 --msync-bytes 1m", "readahead": "2",
    "revio": "20", "seek": "20 --seek-size 1m", "sync-file": "5 --sync-file-bytes 1m",
}  # fmt: skip
"""Stressors whose files are no text or too large. The others of their class need links, devices or xattrs."""


@pytest.fixture
def root(mounted_either_way: Any) -> Path:
    place: Path = mounted_either_way.root
    return place


def stress(where: Path, stressors: dict[str, str]) -> None:
    """Run all at once, each for so many operations, and see that each did them and found nothing wrong."""
    given = " ".join(f"--{name} 1 --{name}-ops {words}" for name, words in stressors.items())
    command = ["stress-ng", *given.split(), "--verify", "--timeout", "40", "--metrics-brief", "--temp-path", where]
    done = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)
    said = done.stdout + done.stderr

    assert done.returncode == 0, said
    did = dict(re.findall(r"metrc: .*\] ([a-z-]+) +(\d+) ", said))
    assert [] == [name for name in stressors if int(did.get(name, 0)) == 0], said


def test_stressors_find_nothing_wrong_with_a_store(root: Path) -> None:
    (root / "stressed").mkdir()

    stress(root / "stressed", ANYWHERE)

    assert [] == list((root / "stressed").iterdir())


def test_stressors_of_any_bytes_find_nothing_wrong_below_a_local_only_name(root: Path) -> None:
    (root / ".git").mkdir()

    stress(root / ".git", LOCAL_ONLY)

    assert [] == list((root / ".git").iterdir())


def fio(file: Path, size: str, *words: str) -> None:
    """Write, then read back and verify."""
    command = ["fio", "--name=verified", f"--filename={file}", f"--size={size}", "--verify_fatal=1", *words]
    done = subprocess.run(command, cwd="/", capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "err= 0" in done.stdout


@pytest.mark.parametrize(
    ("engine", "order"), [("psync", "write"), ("psync", "randrw"), ("vsync", "randwrite"), ("mmap", "randrw")]
)
def test_fio_reads_back_what_it_wrote(root: Path, engine: str, order: str) -> None:
    (root / ".git").mkdir()
    (root / "verified.md").write_text("another " * 12_288)  # Where there is none, fio lays out one of random bytes.
    common = (f"--ioengine={engine}", f"--rw={order}", "--fallocate=none")
    pieces = ("--bs=4k",) if engine == "mmap" else ("--bs=512-64k", "--bs_unaligned")

    fio(root / ".git/verified", "2m", *common, *pieces, "--verify=crc32c", "--fsync=32")
    fio(root / "verified.md", "96k", *common, "--bs=4k", "--verify=pattern", '--verify_pattern="a text. "')

    text = (root / "verified.md").read_text()
    blocks = {text[at : at + 4096] for at in range(0, 96 * 1024, 4096)}
    kept = {"another " * 512} if order == "randrw" else set()
    assert {"a text. " * 512} | kept == blocks
