"""Whether a merge was put in place: asked after the tree's owner answered, or after whoever asked it is gone.

Used by the replica when it starts, by the cycle, and by `worker.conflicting`. Runs on the control thread.
"""

from contextlib import suppress
from typing import TYPE_CHECKING

from memfs.state.merges import Merging

if TYPE_CHECKING:
    from worker.replica import Replica

MERGED = "merge-"
"""How the names of staged merges begin."""
_NOT_PLACED = ".back"


def settle_merge(replica: "Replica", merging: Merging) -> bool:
    """Find out whether a merge was put in place, and record it; if it was not yet, it never will be.

    If it was, what the file comes from is the remote's text, whatever was written to it since.
    """
    staged = replica.layout.staging / merging.staged
    aside = staged.with_name(f"{merging.staged}{_NOT_PLACED}")
    with suppress(FileNotFoundError):
        staged.rename(aside)
    is_placed, state = not aside.exists(), replica.state
    old = state.baseline.get(merging.agreed.path)
    with state.transaction():
        if is_placed and old is not None:
            state.replaced.put(old, replica.clock.time())
        if is_placed:
            state.baseline.put(merging.agreed)
        state.merges.drop(merging.agreed.path)
    aside.unlink(missing_ok=True)
    return is_placed
