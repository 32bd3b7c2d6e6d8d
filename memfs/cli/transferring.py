"""``memfs stores export``, ``import`` and ``copy``: whole stores in and out, through the API of any server.

What they do is decided in `memfs.cli.transfer`; here are their words, their options and their exit codes.
"""

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memfs.cli import options
from memfs.cli.remote_access import find_store, run
from memfs.cli.stores import StoreName
from memfs.core.errors import InvalidRequest, Unsynced, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memfs.cli.transfer.outcomes import Outcome
    from memfs.cli.transfer.surveys import Source
    from memfs.core.names import Names
    from memfs.remote.protocol import Remote

_TAR = ".tar"
_COMPRESSED = (".tgz", ".tar.gz", ".tar.bz2", ".tar.xz", ".tar.zst", ".zip")

DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")]


def export(
    store: StoreName,
    target: Annotated[
        Path, typer.Argument(metavar="DIR|FILE.tar", help="Where the files go; an archive if it ends in .tar.")
    ],
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace what differs; a directory may hold other files, which stay.")
    ] = False,
    dry_run: DryRun = False,
    as_json: options.Json = False,
    base_url: options.BaseUrl = None,
    api_key_file: options.ApiKeyFile = None,
    config: options.Config = None,
) -> None:
    """Write a store's memories as files, byte for byte. Run again, it goes on with what is missing or differs."""
    from memfs.cli.transfer.archiving import export_to_archive
    from memfs.cli.transfer.exporting import export_to_directory
    from memfs.cli.transfer.progress import bar
    from memfs.core.paths import DEFAULT_LIMITS as LIMITS

    is_archive = _is_archive(target)

    async def write(remote: "Remote") -> "Outcome":
        found = await find_store(remote, store)
        if is_archive:
            return await export_to_archive(
                remote, found, target, overwrite=overwrite, dry_run=dry_run, limits=LIMITS, watch=bar
            )
        names = _names(config)
        return await export_to_directory(
            remote, found, target, names=names, overwrite=overwrite, dry_run=dry_run, limits=LIMITS, watch=bar
        )

    outcome = run(base_url, api_key_file, config, write)
    _finish(outcome, as_json=as_json)
    if outcome.refused:
        remedy = "Choose another place" if overwrite else "Choose another place, or add --overwrite"
        raise InvalidRequest(f"nothing was exported: {_reasons(outcome)}", remedy=remedy)


def import_(
    store: StoreName,
    origin: Annotated[
        Path, typer.Argument(metavar="DIR|FILE.tar", help="Where the files are: a directory, or a plain tar file.")
    ],
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Update memories that have other content, unless changed meanwhile.")
    ] = False,
    skip_refused: Annotated[
        bool, typer.Option("--skip-refused", help="Import the rest when files are refused; exits 1.")
    ] = False,
    dry_run: DryRun = False,
    as_json: options.Json = False,
    base_url: options.BaseUrl = None,
    api_key_file: options.ApiKeyFile = None,
    config: options.Config = None,
) -> None:
    """Make a memory of each file, byte for byte; all of them or, if one is refused, none.

    Run again, it goes on with what is missing. Local-only names are skipped.
    """
    from memfs.cli.transfer.importing import import_files
    from memfs.cli.transfer.progress import bar
    from memfs.core.paths import DEFAULT_LIMITS as LIMITS

    async def read(remote: "Remote") -> "Outcome":
        found = await find_store(remote, store)
        return await import_files(
            remote,
            found,
            source,
            origin=str(origin),
            names=_names(config),
            overwrite=overwrite,
            skip_refused=skip_refused,
            dry_run=dry_run,
            limits=LIMITS,
            watch=bar,
        )

    with _opened(origin) as source:
        outcome = run(base_url, api_key_file, config, read)
    _finish(outcome, as_json=as_json)
    if outcome.refused and not skip_refused:
        mend = "Mend them" if overwrite else "Mend them, replace what differs with --overwrite"
        raise InvalidRequest(
            f"nothing was imported: {_reasons(outcome)}", remedy=f"{mend}, or import the rest with --skip-refused"
        )
    if outcome.refused:
        raise typer.Exit(Unsynced.exit_code)


def copy(
    store: StoreName,
    new_name: Annotated[str, typer.Argument(metavar="NEW_NAME", help="Name of the store that is made.")],
    dry_run: DryRun = False,
    as_json: options.Json = False,
    base_url: options.BaseUrl = None,
    api_key_file: options.ApiKeyFile = None,
    config: options.Config = None,
) -> None:
    """Make another store with the same description, metadata and memories, without their history.

    Both are compared at the end. Run again, it goes on with what is missing.
    """
    from memfs.cli.transfer.copying import copy_store
    from memfs.cli.transfer.progress import bar
    from memfs.core.paths import DEFAULT_LIMITS as LIMITS

    async def duplicate(remote: "Remote") -> "Outcome":
        found = await find_store(remote, store)
        return await copy_store(remote, found, new_name, dry_run=dry_run, limits=LIMITS, watch=bar)

    _finish(run(base_url, api_key_file, config, duplicate), as_json=as_json)


def _finish(outcome: "Outcome", *, as_json: bool) -> None:
    from memfs.cli.transfer.outcomes import print_outcome

    print_outcome(outcome, as_json=as_json)
    if outcome.failed:
        raise typer.Exit(Unsynced.exit_code)


def _reasons(outcome: "Outcome") -> str:
    return f"{len(outcome.refused)} {'file is' if len(outcome.refused) == 1 else 'files are'} refused"


def _is_archive(target: Path) -> bool:
    if target.name.endswith(_COMPRESSED):
        raise UsageError(f"{str(target)!r} would be compressed; only plain tar files are written", remedy="Name a .tar")
    return target.name.endswith(_TAR) and not target.is_dir()


@contextmanager
def _opened(origin: Path) -> "Iterator[Source]":
    """Open a directory or a tar file for the length of the block."""
    from memfs.cli.transfer.archives import ArchiveSource
    from memfs.cli.transfer.directories import DirectorySource
    from memfs.tree.local import LocalTree

    if origin.is_dir():
        with LocalTree(origin) as tree:
            yield DirectorySource(tree)
    elif origin.is_file():
        with origin.open("rb") as file:
            yield ArchiveSource(file, str(origin))
    else:
        raise UsageError(f"{str(origin)!r} is no directory and no file")


def _names(config: Path | None) -> "Names":
    from memfs.config import load
    from memfs.core.names import Names

    return Names(local_only=load(config).names.local_only)
