"""SIGKILL at random moments: whatever process dies while two hosts write, everything written arrives everywhere."""

import os
import random
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import Memfs
from running_up import Up, eventually, running_up

STEPS, KILLS = 40, 4
SETTLED_S = 90.0


@pytest.mark.timeout(240)
@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 8))])
def test_nothing_is_lost_whichever_process_is_killed(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    written: dict[str, str] = {}
    with (
        running_up(Memfs.at_home(tmp_path), tmp_path / "a", *embedded(tmp_path)) as a,
        running_up(beside(a, tmp_path), tmp_path / "b", "--store", "Notes") as b,
    ):
        killed = sorted(dice.sample(range(STEPS), KILLS))
        for step in range(STEPS):
            host = dice.choice([a, b])
            if step in killed:
                os.kill(dice.choice(list(host.children().values())), signal.SIGKILL)
            name, text = f"{step % 7}/{host.mount.parent.name}-{step}.md", f"{seed} {step}\n" * dice.randint(1, 400)
            insist(lambda path=host.mount / "notes" / name, text=text: write(path, text))
            written[name] = text
        for host in (a, b):
            insist(lambda host=host: write(host.mount / "notes" / "shared.md", f"{host.mount.parent.name}\n"))

        eventually(lambda: shown(a) == shown(b) and written.items() <= shown(a).items(), SETTLED_S)
        final = shown(a)
        codes = [b.stop(), a.stop()]

    shared = {text for name, text in final.items() if name.startswith("shared")}
    assert shared == {"a\n", "b\n"}
    assert final.keys() - written.keys() == {name for name in final if name.startswith("shared")}
    assert codes == [0, 0]
    assert "Traceback" not in a.told() + b.told()


def embedded(home: Path) -> tuple[str | Path, ...]:
    return ("--serve", "--listen", "127.0.0.1:0", "--data", home / "data", "--store", "Notes")


def beside(first: Up, home: Path) -> Memfs:
    """Return the command of a second host that knows where the first one's server is."""
    (line,) = [one for one in first.told().splitlines() if one.startswith("serving memory stores at ")]
    key = (home / "data" / "api-key").read_text().strip()
    return Memfs.at_home(home, MEMFS_BASE_URL=line.split()[4], MEMFS_API_KEY=key)


def write(path: Path, text: str) -> bool:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return True


def insist(act: Callable[[], bool]) -> None:
    """Do it as a program does that tries again while the mount is away."""

    def tried() -> bool:
        try:
            return act()
        except OSError:
            return False

    eventually(tried, SETTLED_S)


def shown(host: Up) -> dict[str, str]:
    """Return every text below the store as the mount shows it; nothing while the mount is away."""
    root = host.mount / "notes"
    try:
        return {str(path.relative_to(root)): path.read_text() for path in root.rglob("*.md")}
    except OSError:
        return {}
