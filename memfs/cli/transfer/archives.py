"""A tar file as one end of a transfer. One thread.

Reading trusts nothing: no member is ever extracted to the disk, names become store paths by their rules or are refused,
links and devices are refused, sizes are looked at before bytes are read, and an archive that is cut short is none.
Writing is deterministic, and the archive gets its name only when it is whole and on the disk.
"""

import os
import secrets
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from io import BytesIO
from pathlib import Path
from typing import IO

from memfs.cli.transfer.surveys import Survey
from memfs.core import paths
from memfs.core.errors import InvalidRequest
from memfs.core.limits import Limits
from memfs.core.names import Names
from memfs.core.paths import StorePath
from memfs.tree.atomic import PRIVATE_FILE_MODE, fsync_directory

MODE = 0o644
"""What each file in an archive is said to have."""

_PLAIN = frozenset({tarfile.REGTYPE, tarfile.AREGTYPE})
# What damaged and hostile headers are known to raise besides tarfile's own errors; a chain of long names recurses.
_DAMAGE = (tarfile.TarError, ValueError, OverflowError, RecursionError)
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class ArchiveSource:
    """The files in a tar file, to be imported; ``file`` is open for reading, and the caller closes it."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._file = file
        self._name = name
        self._members: dict[StorePath, tarfile.TarInfo] = {}

    def survey(self, limits: Limits, names: Names | None) -> Survey:
        """Look at every file; see `Source`."""
        survey = Survey(limits=limits, names=names)
        try:
            # Compressed archives are not read: a few bytes could stand for endless ones.
            self._archive = tarfile.open(  # noqa: SIM115  (it holds nothing but the caller's file)
                fileobj=self._file, mode="r:", encoding="utf-8", errors="surrogateescape"
            )
            members = self._archive.getmembers()
            self._check_end()
            for member in members:
                self._look(survey, member)
        except _DAMAGE as error:
            raise InvalidRequest(
                f"{self._name} is no tar file, or damaged: {error}", remedy="Only whole, uncompressed ones are read"
            ) from None
        return survey

    def read(self, path: StorePath) -> bytes:
        """Return a file's bytes; see `Source`."""
        member = self._archive.extractfile(self._members[path])
        return member.read() if member else b""

    def _look(self, survey: Survey, member: tarfile.TarInfo) -> None:
        relative = _relative(member)
        if survey.is_skipped(relative, is_directory=member.isdir()) or member.isdir():
            return
        if member.issym() or member.islnk():
            survey.refuse(relative, "a link")
        elif member.type not in _PLAIN or member.issparse():
            survey.refuse(relative, "a special file")
        else:
            survey.add(relative, member.size, lambda path: self._first(path, member))

    def _first(self, path: StorePath, member: tarfile.TarInfo) -> bytes:
        self._members[path] = member
        return self.read(path)

    def _check_end(self) -> None:
        """Refuse what does not end as archives do: tarfile takes any header that it cannot read for the end."""
        self._file.seek(self._archive.offset)
        if self._file.read(tarfile.BLOCKSIZE) != bytes(tarfile.BLOCKSIZE):
            raise tarfile.ReadError("it does not end as an archive does")


@contextmanager
def replacing(target: Path) -> Iterator[IO[bytes]]:
    """Give a new file that gets the name ``target``, durably, when the block ends well, and goes when it does not."""
    temporary = target.with_name(f".tmp-{secrets.token_hex(6)}~")
    try:
        with os.fdopen(os.open(temporary, _NEW, PRIVATE_FILE_MODE), "w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    fsync_directory(target.parent)


class ArchiveWriter:
    """Writes an archive in which only paths, bytes and times differ; the caller adds files in the order of paths."""

    def __init__(self, file: IO[bytes]) -> None:
        self._archive = tarfile.open(  # noqa: SIM115  (it holds nothing but the caller's file)
            fileobj=file, mode="w", format=tarfile.PAX_FORMAT, encoding="utf-8"
        )

    def add(self, path: StorePath, content: bytes, updated_at: datetime) -> None:
        """Append a file."""
        member = tarfile.TarInfo(paths.relative(path))
        member.size = len(content)
        member.mtime = int(updated_at.timestamp())
        member.mode = MODE
        self._archive.addfile(member, BytesIO(content))

    def close(self) -> None:
        """Write the end of the archive; the file stays open."""
        self._archive.close()


def _relative(member: tarfile.TarInfo) -> bytes:
    name = member.name.encode(errors="surrogateescape")
    return name.removeprefix(b"./")
