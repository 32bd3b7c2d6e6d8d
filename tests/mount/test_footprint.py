"""What a large store costs the process that serves it."""

from pathlib import Path
from typing import Any

MEMORIES = 10_000
RESIDENT_KIB, KIB_FOR_EACH = 60 * 1024, 1


def test_ten_thousand_memories_listed_and_read_take_60_mb_and_1_kb_each_at_most(prepared: Any) -> None:
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
    assert resident_kib < RESIDENT_KIB + KIB_FOR_EACH * MEMORIES
