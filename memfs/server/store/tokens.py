"""The secrets that open the server: how they are made, and the digest that the database keeps of each.

A token is 256 random bits, so a plain SHA-256 is as good as any slow digest. Values only.
"""

import hashlib
import secrets
from typing import Final

KEY_PREFIX: Final = "memfs-key-"
SESSION_PREFIX: Final = "memfs-session-"
"""Tells a session's token from a key, so that one look into one table finds it."""


def new_key() -> str:
    """Return a new API key."""
    return KEY_PREFIX + secrets.token_urlsafe(32)


def new_session_token() -> str:
    """Return a new token for a session."""
    return SESSION_PREFIX + secrets.token_urlsafe(32)


def digest(token: str) -> str:
    """Return what the database keeps of a token; whatever was sent in its place has one too."""
    return hashlib.sha256(token.encode(errors="surrogateescape")).hexdigest()
