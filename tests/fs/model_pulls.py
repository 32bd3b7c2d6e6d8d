"""What the worker does to the model: compare-and-swap, and what was displaced is in trash."""

from fs.model import Directory, File, Model, is_local, store_of


def ancestors(path: str) -> list[str]:
    """Return the directories above a file in its store, the deepest first."""
    found = []
    while (path := path.rpartition("/")[0]).count("/"):
        found.append(path)
    return found


def replace(model: Model, path: str, content: bytes) -> bool:
    """Put a new file in the place of one; False where there is none."""
    above, name, old = _file(model, path)
    if above is None or old is None:
        return False
    new = File(old.mode, content, is_local=old.is_local)
    old.successor, old.is_linked = new, False
    above.put(name, new)
    model.kept.append((store_of(path), old))
    return True


def put(model: Model, path: str, content: bytes) -> bool:
    """Make a file, and what is missing above it; False where something is in the way."""
    above = _way(model, path)
    if above is None:
        return False
    above.put(path.rpartition("/")[2], File(0o644, content, is_local=is_local(path)))
    return True


def remove(model: Model, path: str) -> bool:
    """Remove a file, and what is empty above it."""
    above, name, old = _file(model, path)
    if above is None or old is None:
        return False
    above.take(name).is_linked = False
    model.kept.append((store_of(path), old))
    _prune(model, path)
    return True


def move(model: Model, path: str, target: str) -> bool:
    """Rename a file to where nothing is, and remove what is empty above its old place."""
    above, name, old = _file(model, path)
    if above is None or old is None:
        return False
    way = _way(model, target)
    if way is None:
        return False
    model.move(above, name, way, target.rpartition("/")[2], target)
    _prune(model, path)
    return True


def _file(model: Model, path: str) -> tuple[Directory | None, str, File | None]:
    node: File | Directory = model.root
    *names, last = path.split("/")
    for name in names:
        below = node.names.get(name) if isinstance(node, Directory) else None
        if below is None:
            return None, last, None
        node = below
    found = node.names.get(last) if isinstance(node, Directory) else None
    return (node if isinstance(node, Directory) else None), last, found if isinstance(found, File) else None


def _way(model: Model, path: str) -> Directory | None:
    """Return the directory above ``path``, made where it is missing; None, and nothing made, where that cannot be."""
    node: Directory = model.root
    made: list[tuple[Directory, str, Directory]] = []
    *names, last = path.split("/")
    for name in names:
        below = node.names.get(name)
        if isinstance(below, File):
            return None
        if below is None:
            below = Directory(0o755)
            made.append((node, name, below))
        node = below
    if last in node.names:
        return None
    for above, name, directory in made:
        above.put(name, directory)
    return node


def _prune(model: Model, path: str) -> None:
    for directory in ancestors(path):
        node = model.find(directory)
        above, name = model.above(directory)
        if isinstance(node, Directory) and not node.names:
            above.take(name).is_linked = False
