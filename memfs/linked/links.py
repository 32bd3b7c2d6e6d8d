"""The mount point of directory mode: a directory with one symbolic link for each store, and nothing of anyone else's.

A link of ours is one that leads to the tree of a store in a state directory. What a killed process left is taken over
by the next one of the same state. Used by `serving` and `ending`, in one thread.
"""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from memfs.core.errors import MountPointBusy, MountPointMissing, MountPointNotEmpty, MountRefused
from memfs.state.layout import Layout

SHOWN = ".memfs"
"""The directory that tells what is there; see `shown`."""
_NEW = ".memfs-new"


class Links:
    """The links of one state directory at one mount point.

    Args:
        point: The mount point, absolute.
        layout: The state directory.
    """

    def __init__(self, point: Path, layout: Layout) -> None:
        self._point = point
        self._stores = Path(os.path.realpath(layout.stores))

    def check(self) -> None:
        """Check that the mount point is a directory with nothing in it but what a process of before has left.

        Raises:
            MountPointMissing: There is no such directory.
            MountPointBusy: It shows the stores of another state directory.
            MountPointNotEmpty: Somebody's files are there.
            MountRefused: It may not be read or written.
        """
        try:
            names = sorted(one.name for one in self._point.iterdir())
        except FileNotFoundError:
            raise MountPointMissing(
                f"the mount point {self._point} does not exist", remedy=f"Make it: mkdir -p {self._point}"
            ) from None
        except NotADirectoryError:
            raise MountPointMissing(
                f"the mount point {self._point} is not a directory", remedy="Choose an empty directory"
            ) from None
        except PermissionError:
            raise MountRefused(f"the mount point {self._point} may not be read by this user") from None
        others = {state_of(self._point / name) for name in names} - {None, self._stores.parent}
        if others:
            raise MountPointBusy(
                f"{self._point} shows the stores of the state {others.pop()}",
                remedy=f"End that first: memfs unmount {self._point}",
            )
        foreign = [name for name in names if name not in {SHOWN, _NEW} and state_of(self._point / name) is None]
        if foreign:
            raise MountPointNotEmpty(
                f"the mount point {self._point} is not empty: {foreign[0]!r} is in it",
                remedy="Choose an empty directory",
            )
        self._check_writable()

    def show(self, slugs: Mapping[str, str]) -> None:
        """Have one link for each slug, to the tree of the store with that id, and no other link.

        What somebody else put at the name of one is left alone; see `replaced`.

        Raises:
            OSError: The mount point cannot be written.
        """
        for one in self._point.iterdir():
            if one.name not in slugs and state_of(one) is not None:
                one.unlink()
        replaced = self.replaced(slugs)
        for slug, store_id in slugs.items():
            target, link = self._stores / store_id / "tree", self._point / slug
            if slug in replaced or (link.is_symlink() and link.readlink() == target):
                continue
            # Renamed into place: at no moment is the name missing.
            new = self._point / _NEW
            new.unlink(missing_ok=True)
            new.symlink_to(target)
            new.replace(link)

    def replaced(self, slugs: Iterable[str]) -> set[str]:
        """Return the names at which somebody put something else: what is written there is in no store."""
        places = {slug: self._point / slug for slug in slugs}
        return {slug for slug, place in places.items() if os.path.lexists(place) and state_of(place) is None}

    def _check_writable(self) -> None:
        if self._point.stat().st_uid == os.geteuid():
            self._point.chmod(0o755)  # where a mount of before has dropped the write bits
        if not os.access(self._point, os.W_OK):
            raise MountRefused(
                f"the mount point {self._point} is not this user's to write", remedy="Use a directory of your own"
            )


def state_of(link: Path) -> Path | None:
    """Return the state directory to whose stores a link leads; None for what is no link of ours."""
    try:
        target = link.readlink()
    except OSError:
        return None
    tree, stores = target.name, target.parent.parent
    is_ours = tree == "tree" and target.parent.name.startswith("memstore_") and stores.name == "stores"
    return stores.parent if is_ours else None
