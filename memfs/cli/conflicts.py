"""``memfs conflicts`` and ``memfs resolve``: which texts two edits of a file left, and which of them keeps the name."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from memfs.cli import options, state_directory
from memfs.cli.asking import ask_worker, located, some_stores
from memfs.config import default_state, load
from memfs.core.errors import UsageError
from memfs.core.worker_requests import Resolve, Take

_TAKE = "`local`: the text written on a host; `remote`: the one the remote had; else a file that has both."


def conflicts(
    store: Annotated[str | None, typer.Argument(metavar="[STORE]", help="Slug, name or id. (default: all)")] = None,
    state: options.State = None,
    config: options.Config = None,
    as_json: options.Json = False,
) -> None:
    """List the files that two hosts edited and whose other text lies beside them."""
    from memfs.cli.output import print_json, print_table
    from memfs.state.summary import summaries

    layout = state_directory.found(state or load(config).state.dir or default_state())
    wanted = {one.store_id for one in some_stores(layout, store)}
    found = [one for one in summaries(layout) if one.attachment.store_id in wanted]
    if as_json:
        print_json([_as_json(one.attachment.slug, one.copies, one.conflicts) for one in found if one.copies])
        return
    rows = [[one.attachment.slug, path, copy] for one in found for copy, path in one.copies.items()]
    if not rows:
        typer.echo("no conflicts")
        return
    print_table(["STORE", "PATH", "OTHER TEXT"], rows)
    typer.echo("end one by `memfs resolve STORE/PATH --take local|remote|FILE`")


def resolve(
    path: Annotated[str, typer.Argument(metavar="PATH", help="The file or its conflict copy: a path, or STORE/PATH.")],
    take: Annotated[str, typer.Option("--take", metavar="local|remote|FILE", help=_TAKE)],
    state: options.State = None,
    config: options.Config = None,
) -> None:
    """End a conflict: one text keeps the name, the conflict copy goes to trash."""
    from memfs.cli.status import mount_facts

    layout = state_directory.found(state or load(config).state.dir or default_state())
    store, inside = located(layout, path, mount_facts(layout).get("mount_point"))
    given = Take(take) if take in {Take.LOCAL, Take.REMOTE} else Take.GIVEN
    content = _text(Path(take)) if given is Take.GIVEN else ""
    request = Resolve(store_id=store.store_id, path=inside, take=given, content=content)
    done = ask_worker(layout, request, config=config)
    typer.echo(f"resolved: {store.slug}{done['path']} has {'the text of ' + take if content else f'the {take} text'}")


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{file} cannot be read as text: {error}", remedy="Say --take local, --take remote or --take FILE"
        ) from None


def _as_json(slug: str, copies: dict[str, str], known: Any) -> dict[str, Any]:  # noqa: ANN401  (conflicts)
    details = {one.copy_path: asdict(one) for one in known}
    return {
        "store": slug,
        "conflicts": [details.get(copy, {"path": path, "copy_path": copy}) for copy, path in copies.items()],
    }
