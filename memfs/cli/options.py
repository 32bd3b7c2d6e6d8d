"""The options that several commands share, each worded once."""

from pathlib import Path
from typing import Annotated

import typer

Config = Annotated[
    Path | None,
    typer.Option("-c", "--config", metavar="FILE", readable=False, help="Read settings from FILE."),
]
State = Annotated[
    Path | None,
    typer.Option(
        "--state", metavar="DIR", readable=False, help="State directory. (default: MEMFS_STATE, one per user)"
    ),
]
BaseUrl = Annotated[
    str | None,
    typer.Option("--base-url", metavar="URL", help="The remote. (default: MEMFS_BASE_URL, or the local server)"),
]
ApiKeyFile = Annotated[
    Path | None,
    typer.Option("--api-key-file", metavar="FILE", readable=False, help="Holds the API key. (default: MEMFS_API_KEY)"),
]
Stores = Annotated[
    list[str] | None,
    typer.Option("--store", metavar="NAME_OR_ID[:ro]", help="Attach this store, `:ro` read-only. Up to eight times."),
]
Session = Annotated[
    str | None,
    typer.Option("--session", metavar="ID", help="Attach the stores of this session, as it has them."),
]
SessionTokenFile = Annotated[
    Path | None,
    typer.Option(
        "--session-token-file",
        metavar="FILE",
        readable=False,
        help="Holds the session's token. (default: MEMFS_SESSION_TOKEN, else the API key)",
    ),
]
Listen = Annotated[
    str | None,
    typer.Option("--listen", metavar="HOST:PORT", help="Where the server listens. (default: 127.0.0.1:8484)"),
]
Data = Annotated[
    Path | None,
    typer.Option("--data", metavar="DIR", readable=False, help="The server's data. (default: one per user)"),
]
Database = Annotated[
    str | None,
    typer.Option("--database", metavar="URL", help="The server's PostgreSQL database. (default: SQLite in --data)"),
]
Fuse = Annotated[
    bool | None,
    typer.Option("--fuse/--no-fuse", help="--no-fuse: directory mode, for hosts without FUSE. (default: mount.fuse)"),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
DIRECTORY_MODE = (
    "directory mode: limits are told by status, not at the write; read_only is kept by permission bits and by putting "
    "back; every edit is kept"
)
"""What is said where stores are linked, not mounted: its promises are weaker."""


def named(session: str | None, stores: list[str] | None) -> list[str]:
    """Return the words by which the worker takes what `Session` and `Stores` said."""
    return ["--session", session] if session else [word for one in stores or [] for word in ("--store", one)]
