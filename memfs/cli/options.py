"""The options that several commands share, each worded once."""

from pathlib import Path
from typing import Annotated

import typer

Config = Annotated[
    Path | None, typer.Option("-c", "--config", metavar="FILE", help="Read settings from this memfs.toml.")
]
State = Annotated[
    Path | None,
    typer.Option("--state", metavar="DIR", help="State directory. (default: MEMFS_STATE, or one per user)"),
]
BaseUrl = Annotated[
    str | None,
    typer.Option("--base-url", metavar="URL", help="The remote. (default: MEMFS_BASE_URL, or the local server)"),
]
ApiKeyFile = Annotated[
    Path | None,
    typer.Option("--api-key-file", metavar="FILE", help="File with the API key. (default: MEMFS_API_KEY)"),
]
Stores = Annotated[
    list[str] | None,
    typer.Option("--store", metavar="NAME_OR_ID[:ro]", help="Attach this store, `:ro` read-only. Up to eight times."),
]
Listen = Annotated[
    str | None,
    typer.Option("--listen", metavar="HOST:PORT", help="Where the server listens. (default: 127.0.0.1:8484)"),
]
Data = Annotated[
    Path | None, typer.Option("--data", metavar="DIR", help="The server's data directory. (default: one per user)")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
