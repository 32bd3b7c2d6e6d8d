"""What a large store costs the process that serves it."""

from pathlib import Path
from typing import Any

MEMORIES = 10_000


def test_ten_thousand_memories_listed_and_read_stay_below_120_mb(prepared: Any) -> None:
    mount = prepared()
    for number in range(MEMORIES):
        directory = mount.store.tree / f"topic-{number % 50}"
        directory.mkdir(exist_ok=True)
        (directory / f"note-{number}.md").write_text(f"note {number}\n" * 10)
    mount.start()
    assert mount.is_ready, mount.told()

    read = [len(path.read_bytes()) for path in mount.root.rglob("*.md")]

    assert MEMORIES == len(read)
    status = Path(f"/proc/{mount.process.pid}/status").read_text()
    resident_kib = int(status.partition("VmRSS:")[2].split()[0])
    assert 120_000 > resident_kib
