"""Cursors: the key of the last item of a page, as the text that asks for the next one.

A cursor belongs to one listing: an endpoint, a store and its filters, without limit and view, which may change on the
way. Values only.
"""

import base64
import hashlib
import json

from memfs.core.errors import InvalidRequest

_PREFIX = "page_"
_LARGEST = 2**63


def encode(listing: str, key: tuple[int | str, ...]) -> str:
    """Return the cursor of the items after ``key`` in ``listing``."""
    text = json.dumps([_fingerprint(listing), *key], separators=(",", ":"))
    return _PREFIX + base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode_text(listing: str, cursor: str) -> str:
    """Return the key of a listing that goes by one text.

    Raises:
        InvalidRequest: It is no cursor, or one of another listing.
    """
    match _decode(listing, cursor):
        case [str(key)] if "\0" not in key:
            return key
    raise _foreign()


def decode_moment(listing: str, cursor: str) -> tuple[int, str]:
    """Return the key of a listing that goes by moment and id.

    Raises:
        InvalidRequest: It is no cursor, or one of another listing.
    """
    match _decode(listing, cursor):
        case [int(at_us), str(identifier)] if abs(at_us) < _LARGEST and "\0" not in identifier:
            return int(at_us), identifier  # true and false are numbers to Python, not to a database
    raise _foreign()


def _decode(listing: str, cursor: str) -> list[object]:
    packed = cursor.removeprefix(_PREFIX)
    try:
        text = base64.b64decode(packed + "=" * (-len(packed) % 4), altchars=b"-_", validate=True)
        key = json.loads(text)
    except (ValueError, RecursionError):
        raise _foreign() from None
    if not cursor.startswith(_PREFIX) or not isinstance(key, list) or key[:1] != [_fingerprint(listing)]:
        raise _foreign()
    if any(isinstance(part, str) and not part.isascii() and _has_surrogate(part) for part in key):
        raise _foreign()
    return key[1:]


def _has_surrogate(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)


def _fingerprint(listing: str) -> str:
    return hashlib.sha256(listing.encode()).hexdigest()[:12]


def _foreign() -> InvalidRequest:
    return InvalidRequest("page is no cursor of this listing", remedy="Start again without page")
