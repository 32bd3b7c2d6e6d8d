"""The memory tool: six commands over a directory, with the documented texts.

Used by the command `memfs tool`, the SDK adapters and whoever runs a loop of their own. `/memories` is the root: a
plain directory, one store, or a mount with one directory per store. Any thread may call it; changes by this process
are made one after another per root, edits by several processes of this host take turns, and an edit that another
program overtook is made again on the new text.
"""

import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import assert_never

from memfs.agent.commands import Command, Create, Delete, Insert, Rename, StrReplace, View, command_of
from memfs.agent.directory import Changed, Directory, Kind
from memfs.agent.failures import failure_of, missing
from memfs.agent.images import image_block
from memfs.agent.listing import listing
from memfs.agent.paths import ROOT, MemoryPath
from memfs.agent.refusal import ToolFailure
from memfs.agent.text import Occurrences, count_lines, inserted, replaced
from memfs.agent.views import directory_view, file_view
from memfs.core.errors import UsageError

Content = str | list[dict[str, object]]
"""What a command answers: text, or content blocks (an image)."""

_ATTEMPTS = 8
_locks: dict[Path, threading.Lock] = {}


class MemoryTool:
    """The six commands over the directory ``root``.

    Args:
        root: What the model sees as `/memories`; it must exist.
        overwrite_on_create: Let `create` replace a file instead of answering that it exists.

    Raises:
        UsageError: The root is no directory that can be opened.
    """

    def __init__(self, root: str | os.PathLike[str], *, overwrite_on_create: bool = False) -> None:
        root = Path(root)
        try:
            self._directory = Directory(root)
        except ToolFailure as failure:
            cause = failure.__cause__
            reason = cause.strerror if isinstance(cause, OSError) else "no answer"
            remedy = "Make it, or mount the stores first"
            raise UsageError(f"the memory directory {root} cannot be opened: {reason}", remedy=remedy) from cause
        self._overwrite = overwrite_on_create
        self._changing = _locks.setdefault(root.absolute(), threading.Lock())

    def run(self, sent: object) -> Content:
        """Carry out what a model sent as the tool's input.

        Raises:
            ToolFailure: It is no valid command, or the command failed.
        """
        return self.execute(command_of(sent))

    def execute(self, command: Command) -> Content:
        """Carry out one command.

        Raises:
            ToolFailure: It failed; the text tells the model why.
        """
        try:
            if isinstance(command, View):
                return self._view(command)
            with self._changing:
                return self._change(command)
        except OSError as error:
            raise self._failure(command, error) from error

    def _change(self, command: Create | StrReplace | Insert | Delete | Rename) -> str:
        match command:
            case Create():
                return self._create(command)
            case StrReplace():
                return self._str_replace(command)
            case Insert():
                return self._insert(command)
            case Delete():
                return self._delete(command)
            case Rename():
                return self._rename(command)
            case _:
                assert_never(command)

    def _view(self, command: View) -> Content:
        path = command.path
        if self._existing(command, path) is Kind.DIRECTORY:
            with self._directory.descent.directory(path.names) as fd:
                lines = listing(fd, path.text)
            return directory_view(path, lines, command.view_range)
        content = self._directory.read(path.names).content
        block = image_block(path, content)
        return [block] if block else file_view(path, _decoded(path, content), command.view_range)

    def _create(self, command: Create) -> str:
        path, content = command.path, command.file_text.encode()
        kind = self._directory.kind(path.names)
        if kind is Kind.FILE and self._overwrite:
            self._edit(path, lambda _: command.file_text)
        else:
            if kind is Kind.NOTHING:
                self._refuse_top_level(path, "created")
            self._directory.create(path.names, content)
        return f"File created successfully at: {path}"

    def _str_replace(self, command: StrReplace) -> str:
        path = self._existing_file(command)
        snippet = ""

        def edit(text: str) -> str:
            nonlocal snippet
            done = replaced(text, command.old_str, command.new_str)
            if isinstance(done, Occurrences):
                raise ToolFailure(_not_replaced(command, done))
            snippet = done.snippet
            return done.text

        self._edit(path, lambda content: edit(_decoded(path, content)))
        return f"The memory file has been edited.\n{snippet}"

    def _insert(self, command: Insert) -> str:
        path, line = self._existing_file(command), command.insert_line

        def edit(text: str) -> str:
            count = count_lines(text)
            if not 0 <= line <= count:
                raise ToolFailure(
                    f"Error: Invalid `insert_line` parameter: {line}. "
                    f"It should be within the range of lines of the file: [0, {count}]"
                )
            return inserted(text, line, command.insert_text)

        self._edit(path, lambda content: edit(_decoded(path, content)))
        return f"The file {path} has been edited."

    def _delete(self, command: Delete) -> str:
        path = command.path
        if not path.names:
            raise ToolFailure(f"Error: Cannot delete the {ROOT} directory itself")
        if self._directory.kind(path.names) is Kind.NOTHING:
            raise missing(command)
        self._refuse_top_level(path, "deleted")
        self._directory.remove(path.names)
        return f"Successfully deleted {path}"

    def _rename(self, command: Rename) -> str:
        old, new = command.old_path, command.new_path
        if not old.names:
            raise ToolFailure(f"Error: Cannot rename the {ROOT} directory itself")
        if self._directory.kind(old.names) is Kind.NOTHING:
            raise missing(command)
        if self._directory.kind(new.names) is not Kind.NOTHING:
            raise ToolFailure(f"Error: The destination {new} already exists")
        if new.is_below(old):
            raise ToolFailure(f"Error: Cannot rename {old} to {new}: the new path lies inside the old one")
        for path in (old, new):
            self._refuse_top_level(path, "renamed" if path is old else "created")
        self._directory.move(old.names, new.names)
        return f"Successfully renamed {old} to {new}"

    def _edit(self, path: MemoryPath, change: Callable[[bytes], str]) -> None:
        """Read, change and replace a file; again from the start where somebody else came in between."""
        for _ in range(_ATTEMPTS):
            try:
                with self._directory.turn(path.names):
                    found = self._directory.read(path.names)
                    self._directory.replace(path.names, change(found.content).encode(), found)
            except Changed:
                continue
            return
        raise ToolFailure(f"Error: {path} cannot be edited: another program keeps changing it; view it and try again")

    def _existing_file(self, command: StrReplace | Insert) -> MemoryPath:
        """Return the path of the file to edit; a directory counts as missing, as documented."""
        if self._existing(command, command.path) is Kind.DIRECTORY:
            raise missing(command)
        return command.path

    def _existing(self, command: Command, path: MemoryPath) -> Kind:
        kind = self._directory.kind(path.names)
        match kind:
            case Kind.NOTHING:
                raise missing(command)
            case Kind.LINK:
                raise ToolFailure(f"Error: {path} is a symbolic link, and links are not followed")
            case Kind.SPECIAL:
                raise ToolFailure(f"Error: {path} is neither a file nor a directory")
            case Kind.FILE | Kind.DIRECTORY:
                return kind
            case _:
                assert_never(kind)

    def _refuse_top_level(self, path: MemoryPath, done: str) -> None:
        """Refuse to change what stands for an attached store: its memories would go before the system said no."""
        if len(path.names) == 1 and self._directory.descent.is_mount_root():
            raise self._top_level_failure(path, done)

    def _top_level_failure(self, path: MemoryPath, done: str) -> ToolFailure:
        with self._directory.descent.directory(()) as fd:
            stores = [line.partition("\t")[2] for line in listing(fd, ROOT)[1:]]
        tops = ", ".join(store for store in stores if store.count("/") == ROOT.count("/") + 1)
        return ToolFailure(
            f"Error: {path} cannot be {done}: {ROOT} holds one directory for each attached store and nothing else. "
            f"Work inside one of them: {tops or '(none is attached)'}"
        )

    def _failure(self, command: Command, error: OSError) -> ToolFailure:
        """Return the failure in words; a new top-level directory of a mount is told apart from a read-only store."""
        new = command.new_path if isinstance(command, Rename) else command.path
        if error.errno == errno.EROFS and isinstance(command, Create | Rename):
            descent = self._directory.descent
            if descent.is_mount_root() and self._directory.kind(new.names[:1]) is Kind.NOTHING:
                return self._top_level_failure(new, "created")
        return failure_of(command, error)


def _decoded(path: MemoryPath, content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise ToolFailure(f"Error: {path} is not UTF-8 text; the memory tool reads and edits text only") from None


def _not_replaced(command: StrReplace, found: Occurrences) -> str:
    if not found.count:
        return f"No replacement was performed, old_str `{command.old_str}` did not appear verbatim in {command.path}."
    lines = ", ".join(map(str, found.lines))
    return (
        f"No replacement was performed. Multiple occurrences of old_str `{command.old_str}` in lines: {lines}. "
        "Please ensure it is unique"
    )
