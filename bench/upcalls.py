"""How often the kernel asks the mount: its own counts, told over its socket, before and after an operation.

What the kernel sends later by itself (it forgets a removed file) is waited for and counted too.
"""

import os
import time
from collections import Counter
from collections.abc import Mapping

from operations import Operation, warm
from owner import Owner
from sides import Side

from memfs.core.tree_requests import Ping
from memfs.state.layout import Layout

TIMES = 200
"""How often an operation is done to be counted; those that are 1,000 at once, fewer times."""
_SETTLE_S = 0.05


def per_operation(operation: Operation, side: Side, layout: Layout) -> dict[str, float]:
    """Return how many upcalls of each kind one operation takes."""
    owner = Owner(layout)
    times = min(operation.limit, max(3, TIMES // operation.each))
    os.chdir(side.directory)
    try:
        for _ in range(2):  # A read makes the time of the last one unknown: the kernel asks once more.
            warm()
        act = operation.prepare(side.work)
        before = _settled(owner)
        for number in range(times):
            if operation.before is not None:
                operation.before()
            act(number)
        after = _settled(owner)
    finally:
        os.chdir("/")
        owner.close()
    done = times * operation.each
    return {name: count / done for name, count in (after - before).items()}


def told(counts: Mapping[str, float]) -> str:
    """Return the counts for a reader; what is rarer than once in a hundred times is left out."""
    return ", ".join(f"{name} {count:.3g}" for name, count in counts.items() if count >= 0.01) or "none"


def _settled(owner: Owner) -> Counter[str]:
    """Return the counts, once they stand still."""
    counts = Counter[str]()
    while True:
        time.sleep(_SETTLE_S)
        now = Counter[str](owner.ask(Ping()).facts["upcalls"])
        if now == counts:
            return counts
        counts = now
