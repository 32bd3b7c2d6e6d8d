"""What the model is told when a command fails: documented texts, and every system error in words.

Used by the memory tool only. A text names the memory path (`/memories/…`), never a path of the host and never a
Python repr. `ToolFailure` stands outside the tree of memfs.core.errors: it is a result for a model, sent with
``is_error``, and never becomes an exit code. Pure functions of their arguments.
"""

import errno
import os

from memfs.agent.commands import Command, Create, Delete, Insert, Rename, StrReplace, View
from memfs.agent.refusal import ToolFailure

_ABSENT = frozenset({errno.ENOENT, errno.ENOTDIR})
_TAKEN = frozenset({errno.EEXIST, errno.ENOTEMPTY})

_REASONS = {
    errno.ENOENT: "a part of its path does not exist any more; view the directory and try again",
    errno.ENOTDIR: "a part of its path is a file, not a directory",
    errno.EISDIR: "it is a directory",
    errno.EEXIST: "something of that name exists already",
    errno.ENOTEMPTY: "another program put a file into the directory meanwhile; try again",
    errno.EROFS: "its store is attached read-only; it can be viewed, not changed",
    errno.EFBIG: "it would be larger than a memory may be (100 KB of text); split it over several files",
    errno.EOVERFLOW: "it is too large to be read here",
    errno.EILSEQ: "its name or its text cannot be stored; names and texts are UTF-8, names have no control characters",
    errno.ENOSPC: "the store is full; delete or merge memories that are no longer needed",
    errno.EDQUOT: "the storage quota is used up; delete or merge memories that are no longer needed",
    errno.ENAMETOOLONG: "its path is too long or too deep; use shorter names and fewer directories",
    errno.ELOOP: "a part of its path is a symbolic link, and links are not followed",
    errno.EACCES: "permission is denied",
    errno.EPERM: "it is not permitted here",
    errno.ENOTCONN: "the memory directory is not mounted any more; tell the user",
    errno.ENODEV: "the memory directory is not mounted any more; tell the user",
    errno.EHOSTDOWN: "the memory directory does not answer; tell the user",
    errno.ESTALE: "it was replaced meanwhile; view it again and repeat the change",
    errno.EBUSY: "another program is using it; try again",
    errno.ETXTBSY: "another program is using it; try again",
    errno.EXDEV: "the two paths are in different stores; create the file in the other store, then delete this one",
}


def failure_of(command: Command, error: OSError) -> ToolFailure:
    """Return what the model is told when ``error`` stopped ``command``: its documented text where it has one."""
    return ToolFailure(_documented(command, error.errno) or f"Error: {_attempt(command)}: {reason_of(error)}")


def reason_of(error: OSError) -> str:
    """Return the cause in words, without any path."""
    if isinstance(error, TimeoutError):
        return "the memory directory did not answer in time; try again"
    if error.errno is None:  # how shutil.rmtree says that a directory became a link under its hands
        return "it was replaced meanwhile; view it again and repeat the change"
    return _REASONS.get(error.errno) or f"the file system answered: {os.strerror(error.errno)}"


def missing(command: Command) -> ToolFailure:
    """Return the documented text for a path that is not there."""
    match command:
        case View(path=path):
            return ToolFailure(f"The path {path} does not exist. Please provide a valid path.")
        case StrReplace(path=path):
            return ToolFailure(f"Error: The path {path} does not exist. Please provide a valid path.")
        case Create(path=path) | Insert(path=path) | Delete(path=path) | Rename(old_path=path):
            return ToolFailure(f"Error: The path {path} does not exist")


def _documented(command: Command, number: int | None) -> str:
    """Return the documented text for this outcome of the command, "" where there is none."""
    match command:
        case View() | Delete() if number in _ABSENT:
            return missing(command).text
        case StrReplace() | Insert() if number in _ABSENT or number == errno.EISDIR:
            return missing(command).text
        case Rename() if number == errno.ENOENT:
            return missing(command).text
        case Rename(new_path=path) if number in _TAKEN:
            return f"Error: The destination {path} already exists"
        case Create(path=path) if number == errno.EEXIST:
            return f"Error: File {path} already exists"
        case _:
            return ""


def _attempt(command: Command) -> str:
    match command:
        case View(path=path):
            return f"{path} cannot be viewed"
        case Create(path=path):
            return f"{path} cannot be created"
        case StrReplace(path=path) | Insert(path=path):
            return f"{path} cannot be edited"
        case Delete(path=path):
            return f"{path} cannot be deleted"
        case Rename(old_path=old, new_path=new):
            return f"{old} cannot be renamed to {new}"
