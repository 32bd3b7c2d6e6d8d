"""What a killed process of directory mode left at a mount point stands in the way of a mount: say how it goes away.

Used by `memfs mount` and `memfs up`; the room of the mount knows nothing of links.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memfs.core.errors import MountPointNotEmpty


@contextmanager
def told(mount_point: Path) -> Iterator[None]:
    """Surround what refuses a mount point that is not empty.

    Raises:
        MountPointNotEmpty: With the remedy for links of ours, where those are in it.
    """
    from memfs.linked.ending import state_linked_at

    try:
        yield
    except MountPointNotEmpty:
        state = state_linked_at(mount_point)
        if state is None:
            raise
        raise MountPointNotEmpty(
            f"the mount point {mount_point} is not empty: directory mode shows the stores of the state {state} there",
            remedy=f"End that first: memfs unmount {mount_point}",
        ) from None
