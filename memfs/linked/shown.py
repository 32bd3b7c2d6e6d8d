"""``.memfs/`` in directory mode: README.md, status.json and conflicts as real files, made anew when something changed.

There is no ``info``: nothing renders a file at the moment it is read. Written by the process of directory mode alone.
"""

import shutil
import stat
from contextlib import suppress
from pathlib import Path

from memfs.core.attachment import Attachment
from memfs.core.errors import MemfsError
from memfs.core.prompt import prompt
from memfs.linked.links import SHOWN
from memfs.state.layout import Layout
from memfs.state.summary import is_watched, summaries
from memfs.vfs.shown.texts import Standing, conflicts_text, status_text

_NEW = ".new"


class Shown:
    """The texts at one mount point."""

    def __init__(self, point: Path, layout: Layout) -> None:
        self._directory = point / SHOWN
        self._mount_point = str(point)
        self._layout = layout

    def show(self, attachments: list[Attachment]) -> None:
        """Write every text that is not so already.

        Raises:
            OSError: They cannot be written.
        """
        self._directory.mkdir(exist_ok=True)
        self._directory.chmod(0o755)
        try:
            for name, content in self._texts(attachments).items():
                self._write(name, content)
        finally:
            self._directory.chmod(0o555)

    def remove(self) -> None:
        """Remove the directory and what is in it."""
        with suppress(FileNotFoundError):
            self._directory.chmod(0o755)
            shutil.rmtree(self._directory)

    def _texts(self, attachments: list[Attachment]) -> dict[str, bytes]:
        found = self._standings(attachments)
        copies = {one.attachment.slug: one.summary.copies for one in found if one.summary is not None}
        return {
            "README.md": prompt(attachments, self._mount_point, has_info=False).encode(),
            "status.json": status_text(found, is_watched=is_watched(self._layout)),
            "conflicts": conflicts_text(copies),
        }

    def _standings(self, attachments: list[Attachment]) -> list[Standing]:
        try:
            found = {one.attachment.store_id: one for one in summaries(self._layout)}
        except MemfsError as error:
            return [Standing(one, None, error) for one in attachments]
        return [Standing(one, found.get(one.store_id), None) for one in attachments]

    def _write(self, name: str, content: bytes) -> None:
        path, new = self._directory / name, self._directory / _NEW
        with suppress(FileNotFoundError):
            if path.read_bytes() == content:
                return
        new.unlink(missing_ok=True)
        new.write_bytes(content)
        new.chmod(stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH)
        new.replace(path)  # a reader has the old text or the new one
