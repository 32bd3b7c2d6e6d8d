"""What a server needs before it answers anyone: its data directory, its database, its key, its certificate.

Used by the start of a server, and by the process that watches several, so that what is wrong with all of them is found
before there are any, and said once. The key is never shown, only where it is.
"""

import os
import time
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path

from memfs.core.errors import ConfigError
from memfs.server import tls
from memfs.server.first_key import key_in
from memfs.server.keys import Keys
from memfs.server.options import ServerOptions
from memfs.server.store.database import Database
from memfs.server.store.opening import FILE, open_database
from memfs.server.store.sql import last_moment
from memfs.server.store.stamps import Stamps

KEY_FILE = "api-key"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What there is now. Whoever asked for it closes the database."""

    database: Database
    stamps: Stamps
    api_key: str = field(repr=False)


def prepared(data: Path, options: ServerOptions) -> Prepared:
    """Make the data directory, the database and the key where they are missing, and check all that was chosen.

    Raises:
        ConfigError: The certificate, the data directory or the database cannot be used.
        RemoteUnavailable: The database cannot be reached.
    """
    if options.tls is not None:
        tls.check(*options.tls)
    make_directory(data)
    with ExitStack() as undo:
        database = undo.enter_context(closing(open_database(options.database or data / FILE)))
        stamps = Stamps(now_us, last_us=last_moment(database))
        api_key = key_in(key_file(data))
        Keys(database, stamps).ensure(api_key)
        undo.pop_all()
    return Prepared(database=database, stamps=stamps, api_key=api_key)


def key_file(data: Path) -> Path:
    """Return where the first start puts the API key."""
    return data / KEY_FILE


def now_us() -> int:
    """Return the time in microseconds since 1970."""
    return time.time_ns() // 1_000


def make_directory(data: Path) -> None:
    """Make the data directory, mode 0700, if it is missing.

    Raises:
        ConfigError: It cannot be made, or not be used.
    """
    try:
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise _unusable(data, error.strerror or "unknown cause") from None
    if not os.access(data, os.R_OK | os.W_OK | os.X_OK):
        raise _unusable(data, "it cannot be written")


def _unusable(data: Path, why: str) -> ConfigError:
    return ConfigError(
        f"the data directory {data} cannot be used ({why})", remedy="Check it, or choose another with --data DIR"
    )
