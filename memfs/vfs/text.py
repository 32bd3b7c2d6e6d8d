"""Is it text? A memory is UTF-8; a write is refused as soon as no surrounding bytes could make it so. Pure."""

import codecs

from memfs.core.errors import InvalidContent

_LONGEST_TAIL = 3
_REMEDY = "Save it as UTF-8, or under a local-only name"
_decoder = codecs.getincrementaldecoder("utf-8")


def refuse_impossible(content: bytes) -> None:
    """Refuse a piece of a file that is no UTF-8 wherever it is cut; a sequence cut at either edge is let through.

    Raises:
        InvalidContent: No bytes before and after make text of it.
    """
    if content.isascii():
        return
    start = 0
    while start < min(_LONGEST_TAIL, len(content)) and content[start] & 0xC0 == 0x80:  # noqa: PLR2004  (10xxxxxx)
        start += 1
    try:
        _decoder().decode(content[start:])
    except UnicodeDecodeError:
        raise InvalidContent("the bytes written are no UTF-8 text", remedy=_REMEDY) from None


def refuse_incomplete(content: bytes, name: str) -> None:
    """Refuse a whole file that is not UTF-8.

    Raises:
        InvalidContent: It is not.
    """
    try:
        content.decode()
    except UnicodeDecodeError as error:
        raise InvalidContent(f"{name} is no UTF-8 text (byte {error.start})", remedy=_REMEDY) from None
