"""content_sha256: the digest of a memory's exact bytes, the only test of equality there is."""

import hashlib

from memfs.core.errors import ContentTooLarge, InvalidContent
from memfs.core.limits import Limits


def content_sha256(content: bytes) -> str:
    """Return the 64 lower-case hex digits of the bytes as they are, nothing normalised."""
    return hashlib.sha256(content).hexdigest()


def check_content(content: bytes, limits: Limits, path: str) -> str:
    """Return the text of ``content`` if a memory may hold it.

    Raises:
        ContentTooLarge: It has more bytes than the limit.
        InvalidContent: It is not UTF-8.
    """
    if len(content) > limits.memory_bytes:
        raise ContentTooLarge(
            f"{path} has {len(content)} bytes; a memory holds at most {limits.memory_bytes}",
            remedy="Split it into several memories",
        )
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise InvalidContent(
            f"{path} is not UTF-8 text (byte {error.start})", remedy="Save it as UTF-8, or keep it out of the store"
        ) from None
