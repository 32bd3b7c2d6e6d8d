"""``memfs keys``: make, list and revoke a server's API keys, on its database itself, beside running servers.

A key is printed once, when it is made, on standard output alone; what is said about it goes to standard error.
"""

import os
import time
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memfs.cli import options
from memfs.cli.output import moment, print_json, print_table, printable
from memfs.cli.server_database import opened
from memfs.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memfs.server.keys import ApiKey, Keys, NewKey

app = typer.Typer(help="Make and revoke a server's API keys.", no_args_is_help=True)


@app.command("create")
def create(
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="Whose key it is; need not be unique.")] = "key",
    workspace: Annotated[
        str | None,
        typer.Option(
            "--workspace", metavar="NAME", help="The only workspace it sees, made if new. (default: the first one)"
        ),
    ] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Refuse every change with it.")] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", readable=False, help="Write the key to a new FILE, for its owner only."),
    ] = None,
    data: options.Data = None,
    database: options.Database = None,
    as_json: options.Json = False,
    config: options.Config = None,
) -> None:
    """Make a key and show it, this one time. Servers know it at once."""
    from memfs.core.attachment import Access

    access = Access.READ_ONLY if read_only else Access.READ_WRITE
    with _keys(data, database, config) as keys:
        if out is None:
            made = keys.create(name, workspace=workspace, access=access)
        else:
            with _new_file(out) as file:
                made = keys.create(name, workspace=workspace, access=access)
                _keep(file, made, keys)
    _say_made(made, out)
    if as_json:
        told = {"file": str(out)} if out else {"key": made.token}
        print_json({**_shown(made.key), "is_new_workspace": made.is_new_workspace, **told})
    elif out is None:
        typer.echo(made.token)


@app.command("list")
def list_keys(
    data: options.Data = None,
    database: options.Database = None,
    as_json: options.Json = False,
    config: options.Config = None,
) -> None:
    """List the keys, revoked ones too; never what they are."""
    with _keys(data, database, config) as keys:
        found = keys.list()
    if as_json:
        print_json([_shown(key) for key in found])
        return
    print_table(
        ["ID", "NAME", "WORKSPACE", "WORKSPACE ID", "ACCESS", "CREATED", "STATE"],
        [
            [key.id, key.name, key.workspace, key.workspace_id, key.access.value, _moment(key.created_at), _state(key)]
            for key in found
        ],
    )


@app.command("revoke")
def revoke(
    key_id: Annotated[str, typer.Argument(metavar="KEY_ID", help="Its id, as `memfs keys list` shows it.")],
    data: options.Data = None,
    database: options.Database = None,
    as_json: options.Json = False,
    config: options.Config = None,
) -> None:
    """Let a key open the server no more, within five seconds. There is no way back."""
    from memfs.server.keys import FIRST_KEY

    with _keys(data, database, config) as keys:
        gone = keys.revoke(key_id)
    if gone.name.startswith(FIRST_KEY):
        typer.echo("memfs: the next start needs another key in the server's api-key file, or none", err=True)
    if as_json:
        print_json(_shown(gone))
    else:
        typer.echo(f"revoked {gone.id} ({printable(gone.name)})")


@contextmanager
def _keys(data: Path | None, url: str | None, config: Path | None) -> "Iterator[Keys]":
    with opened(data, url, config) as database:
        from memfs.server.keys import Keys
        from memfs.server.store.stamps import Stamps

        yield Keys(database, Stamps(lambda: time.time_ns() // 1_000))


@contextmanager
def _new_file(path: Path) -> "Iterator[int]":
    """Make a file of mode 0600 that was not there, and remove it again on an error.

    Raises:
        UsageError: It is there, or cannot be made.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise UsageError(
            f"the file {path} cannot be made ({error.strerror})", remedy="Name another --out FILE"
        ) from None
    try:
        os.fchmod(descriptor, 0o600)  # whatever the umask
        yield descriptor
    except BaseException:
        path.unlink()
        raise
    finally:
        os.close(descriptor)


def _keep(file: int, made: "NewKey", keys: "Keys") -> None:
    """Write a key to its file, or leave none that nobody knows."""
    try:
        os.write(file, f"{made.token}\n".encode())
        os.fsync(file)
    except OSError:
        keys.revoke(made.key.id)
        raise


def _say_made(made: "NewKey", out: Path | None) -> None:
    key = made.key
    if made.is_new_workspace:
        typer.echo(f"memfs: made the workspace {key.workspace!r} ({key.workspace_id}); it sees no other's", err=True)
    where = f"; it is in {out}" if out else ""
    typer.echo(f"memfs: made {key.id}, {key.access.value} in the workspace {key.workspace!r}{where}", err=True)


def _shown(key: "ApiKey") -> dict[str, Any]:
    from memfs.api.models import timestamp
    from memfs.server.store.stamps import moment as at

    revoked = None if key.revoked_at is None else timestamp(at(key.revoked_at))
    return {**asdict(key), "created_at": timestamp(at(key.created_at)), "revoked_at": revoked}


def _moment(at_us: int) -> str:
    from memfs.server.store.stamps import moment as at

    return moment(at(at_us))


def _state(key: "ApiKey") -> str:
    return "live" if key.revoked_at is None else f"revoked {_moment(key.revoked_at)}"
