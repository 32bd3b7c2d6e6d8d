"""``memfs status``: what is attached, synced, owed and wrong, from the state directory and whoever serves it.

It only looks: neither the mount nor the worker need run, and nothing of theirs is locked or waited for long.
"""

import socket
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memfs.cli import options, state_directory
from memfs.config import default_state, load
from memfs.core.errors import AlreadyHeld, InvalidRequest
from memfs.core.tree_requests import Ping, decode_answer, encode_request
from memfs.health import short_address
from memfs.state.layout import Layout

if TYPE_CHECKING:
    from memfs.state.summary import StoreSummary

PING_TIMEOUT_S = 2.0


def status(
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait first until nothing is pending; exit 1 if it stays so.")
    ] = False,
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="SECONDS", min=0, help="Longest time to wait, with --wait.")
    ] = 60.0,
    state: options.State = None,
    config: options.Config = None,
    as_json: options.Json = False,
) -> None:
    """Show stores, access, state, pending, problems, conflicts and the last sync.

    With --wait, exits 0 once nothing is pending any more, and 1, naming what is left, after the timeout; 9 where the
    worker does not answer.
    """
    from memfs.cli.waiting import check_synced, wait_until_synced

    layout = state_directory.found(state or load(config).state.dir or default_state())
    if wait:
        try:
            wait_until_synced(layout, timeout)
        except AlreadyHeld:
            _show(layout, as_json=as_json)  # What is known all the same.
            raise
    _show(layout, as_json=as_json)
    if wait:
        check_synced(layout)


def _show(layout: Layout, *, as_json: bool) -> None:
    from memfs.cli.output import print_json
    from memfs.state.summary import is_watched, owed_by_detached, summaries

    found, mount, worker = summaries(layout), mount_facts(layout), is_watched(layout)
    if as_json:
        head = {"state": str(layout.root), "mount_point": mount.get("mount_point"), "worker_runs": worker}
        print_json(head | {"stores": [_as_json(one, mount, is_watched=worker) for one in found]})
        return
    typer.echo(f"state   {layout.root}")
    typer.echo(f"mount   {mount.get('mount_point', 'not mounted')}{_how(mount)}")
    typer.echo(f"worker  {'running' if worker else 'not running'}")
    for one in owed_by_detached(layout):
        typer.echo(
            f"{one.attachment.name}: {one.pending} not yet synced and no longer attached: attach it to push them"
        )
    if not found:
        typer.echo("no store is attached: say `memfs up --store NAME --mount DIR`")
        return
    _print_stores(found, mount, is_watched=worker)
    if not worker:
        typer.echo("no worker runs: what was written since the last sync is not counted")


def _how(mount: dict[str, Any]) -> str:
    """Return what is to be said of a mount behind its mount point."""
    if pid := mount.get("silent_pid"):
        return f", which does not answer (process {pid})"
    return ", directory mode" if mount.get("mode") == "directory" else ""


def _print_stores(found: "list[StoreSummary]", mount: dict[str, Any], *, is_watched: bool) -> None:
    from memfs.cli.output import print_table, printable
    from memfs.state.braking import describe

    now = time.time()
    print_table(
        ["STORE", "ACCESS", "STATE", "MEMORIES", "PENDING", "PROBLEMS", "CONFLICTS", "LAST SYNC"],
        [
            [
                one.attachment.slug,
                _access(one, mount),
                one.state(is_watched=is_watched),
                *(str(count) for count in (one.memories, one.pending, len(one.problems), len(one.copies))),
                _ago(one.last_sync_at, now),
            ]
            for one in found
        ],
    )
    for one in found:
        notes = [f"error: {one.sync_error[1]}"] if one.sync_error else []
        if one.halt:
            notes.append(
                f"halted: {describe(one.halt)}: nothing is deleted until you say `memfs resume {one.attachment.slug}` "
                "with --accept or --restore"
            )
        notes += [f"problem: {problem.path}: {problem.message}" for problem in one.problems]
        notes += [
            f"conflict: the other text of a file is {copy}: merge the two, then delete it, or say `memfs resolve`"
            for copy in one.copies
        ]
        for note in notes:
            typer.echo(printable(f"{one.attachment.slug}: {note}"))


def _access(one: "StoreSummary", mount: dict[str, Any]) -> str:
    if one.attachment.is_writable:
        return "read_write"
    by = _read_only_by(one, mount)
    return f"read_only ({by})" if by else "read_only"


def _read_only_by(one: "StoreSummary", mount: dict[str, Any]) -> str | None:
    """Return who refuses changes: the mount's policy always, the kernel as well where it could be told to.

    In directory mode it is permission bits, as far as they go.
    """
    if one.attachment.is_writable or not mount or "silent_pid" in mount:
        return None
    if mount.get("mode") == "directory":
        return "permissions"
    return "kernel" if one.attachment.slug in mount.get("kernel_read_only", []) else "policy"


def _as_json(one: "StoreSummary", mount: dict[str, Any], *, is_watched: bool) -> dict[str, Any]:
    return {
        **asdict(one.attachment),
        "is_writable": one.attachment.is_writable,
        "read_only_by": _read_only_by(one, mount),
        "state": one.state(is_watched=is_watched).replace(" ", "_"),
        "memories": one.memories,
        "pending": list(one.pending_paths),
        "problems": [asdict(problem) for problem in one.problems],
        "conflicts": [asdict(conflict) for conflict in one.conflicts],
        "conflict_copies": list(one.copies),
        "halt": asdict(one.halt) if one.halt else None,
        "last_sync_at": one.last_sync_at,
        "error": dict(zip(("code", "message"), one.sync_error, strict=True)) if one.sync_error else None,
    }


def mount_facts(layout: Layout) -> dict[str, Any]:
    """Ask the mount of this state about itself (`Answer.facts`); empty when there is none.

    Of one that does not answer: the ``mount_point``, and the ``silent_pid`` of its process.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asker:
        asker.settimeout(PING_TIMEOUT_S)
        try:
            with short_address(layout.mount_socket) as address:
                asker.connect(address)
            asker.sendall(encode_request(Ping()))
            with asker.makefile("rb") as answers:
                return decode_answer(answers.readline()).facts
        except TimeoutError:
            return _silent_facts(layout)
        except (OSError, InvalidRequest):
            return {}


def _silent_facts(layout: Layout) -> dict[str, Any]:
    from memfs.fuse import lock

    pid, point = lock.holder_told(layout.root) or (0, "")
    return {"silent_pid": pid, "mount_point": point} if pid else {}


def _ago(moment: float | None, now: float) -> str:
    if moment is None:
        return "never"
    seconds = max(0, round(now - moment))
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds // size} {unit} ago"
    return f"{seconds} s ago"
