"""Tar files: what is read from hostile ones, and that the same memories make the same bytes."""

import io
import tarfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memfs.cli.transfer.archives import ArchiveSource, ArchiveWriter, replacing
from memfs.cli.transfer.plans import Refusal
from memfs.cli.transfer.surveys import Survey
from memfs.core.digest import content_sha256
from memfs.core.errors import InvalidRequest
from memfs.core.limits import Limits
from memfs.core.names import Names
from memfs.core.paths import parse

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def packed(*members: tarfile.TarInfo | tuple[str, bytes]) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for one in members:
            if isinstance(one, tarfile.TarInfo):
                archive.addfile(one)
            else:
                member = tarfile.TarInfo(one[0])
                member.size = len(one[1])
                archive.addfile(member, io.BytesIO(one[1]))
    return file.getvalue()


def of_type(name: str, kind: bytes, linkname: str = "") -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, linkname
    return member


def surveyed(archive: bytes) -> tuple[ArchiveSource, Survey]:
    source = ArchiveSource(io.BytesIO(archive), "x.tar")
    return source, source.survey(Limits(), Names())


def test_files_of_an_archive_are_read_byte_for_byte() -> None:
    source, survey = surveyed(packed(of_type("./d", tarfile.DIRTYPE), ("./d/a.md", b"a\r\n\0"), ("é", b"")))

    assert {"/d/a.md": content_sha256(b"a\r\n\0"), "/é": content_sha256(b"")} == survey.files
    assert ([], []) == (survey.refused, survey.skipped)
    assert b"a\r\n\0" == source.read(parse("/d/a.md"))


@pytest.mark.parametrize(
    ("member", "reason"),
    [
        (("../../etc/passwd", b""), "has the segment .."),
        (("a/../../b", b""), "has the segment .."),
        (("/etc/passwd", b""), "has an empty segment"),
        (("a//b", b""), "has an empty segment"),
        (("a\nb", b""), "forbidden character U+000A"),
        (("e\u0301", b""), "is not in Unicode NFC"),
        (("\udcff", b""), "is not UTF-8"),
        (("n" * 256, b""), "passes 255 bytes"),
        (("big", bytes(102_401)), "102401 bytes; a memory holds at most 102400"),
        (("binary", b"a\xff"), "is not UTF-8 text (byte 1)"),
        (of_type("s", tarfile.SYMTYPE, "/etc/passwd"), "a link"),
        (of_type("h", tarfile.LNKTYPE, "good.md"), "a link"),
        (of_type("c", tarfile.CHRTYPE), "a special file"),
        (of_type("b", tarfile.BLKTYPE), "a special file"),
        (of_type("p", tarfile.FIFOTYPE), "a special file"),
        (of_type("unknown", b"Z"), "a special file"),
        (("good.md", b"another"), "the path comes twice"),
    ],
    ids=[
        "escape", "escape inside", "absolute", "empty segment", "newline", "not NFC", "not UTF-8", "long", "big",
        "binary", "symlink", "hard link", "character device", "block device", "pipe", "unknown", "twice",
    ],
)  # fmt: skip
def test_a_hostile_member_is_refused_and_the_others_are_seen(
    member: tarfile.TarInfo | tuple[str, bytes], reason: str
) -> None:
    _, survey = surveyed(packed(("good.md", b"good"), member))

    (refusal,) = survey.refused
    assert reason in refusal.reason
    assert {"/good.md": content_sha256(b"good")} == survey.files


def test_local_only_names_and_the_marker_of_the_sdk_are_skipped() -> None:
    _, survey = surveyed(packed((".git/config", b"\xff"), ("a~", b""), (".anthropic-memory-store", b"v"), ("a", b"")))

    assert [".git/config", "a~", ".anthropic-memory-store"] == survey.skipped
    assert (["/a"], []) == (list(survey.files), survey.refused)


def chain_of_long_names() -> bytes:
    """A GNU long name for a long name for a long name…: reading one needs the next."""
    link = tarfile.TarInfo("././@LongLink")
    link.type, link.size = tarfile.GNUTYPE_LONGNAME, 1
    block = link.tobuf(tarfile.GNU_FORMAT) + b"a".ljust(512, b"\0")
    return block * 5_000 + packed(("a", b""))


GOOD = packed(("a", b"x" * 600), ("b", b"y"))


@pytest.mark.parametrize(
    "damaged",
    [
        b"",
        b"no archive" * 100,
        GOOD[: 512 + 100],
        GOOD[: 3 * 512],
        GOOD[: 3 * 512] + b"\xff" * 512 + GOOD[4 * 512 :],
        chain_of_long_names(),
    ],
    ids=["empty", "no archive", "cut in a file", "cut between files", "damaged header", "endless chain"],
)
def test_an_archive_that_is_not_whole_is_none(damaged: bytes) -> None:
    """A header that it cannot read is the end for `tarfile`: a part would be imported as if it were all."""
    with pytest.raises(InvalidRequest, match="is no tar file, or damaged"):
        surveyed(damaged)


def test_a_compressed_archive_is_refused_unread(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "x.tar.gz", "w:gz"):
        pass

    with pytest.raises(InvalidRequest, match="uncompressed"):
        surveyed((tmp_path / "x.tar.gz").read_bytes())


def test_the_same_memories_make_the_same_archive(tmp_path: Path) -> None:
    def written(name: str) -> bytes:
        with replacing(tmp_path / name) as file:
            archive = ArchiveWriter(file)
            archive.add(parse("/d/a.md"), b"text", NOON)
            archive.add(parse("/" + "é" * 200), b"", NOON)
            archive.close()
        return (tmp_path / name).read_bytes()

    first, second = written("first.tar"), written("second.tar")

    assert first == second
    with tarfile.open(tmp_path / "first.tar") as archive:
        members = archive.getmembers()
    assert ["d/a.md", "é" * 200] == [member.name for member in members]
    assert [(0o644, NOON.timestamp(), 0, 0, "", "")] * 2 == [
        (one.mode, one.mtime, one.uid, one.gid, one.uname, one.gname) for one in members
    ]


def test_an_archive_that_fails_leaves_the_old_one_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "x.tar").write_bytes(b"old")

    def fail() -> None:
        with replacing(tmp_path / "x.tar") as file:
            file.write(b"new")
            raise OSError("disk")

    with pytest.raises(OSError, match="disk"):
        fail()

    assert ["x.tar"] == [path.name for path in tmp_path.iterdir()]
    assert b"old" == (tmp_path / "x.tar").read_bytes()


def test_a_refusal_names_the_file_as_it_is_called() -> None:
    _, survey = surveyed(packed(("../x", b"")))

    assert [Refusal("../x", "the path '/../x' has the segment ..")] == survey.refused
