"""The life of one `memfs up`: server, worker and mount start in order, are watched, and end in order.

The server comes first, for the others talk to it; the mount goes first, so that nothing new is written while the worker
drains. What is said at the end is what is known: a worker that did not drain cannot promise that everything is synced.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import typer

from memfs.cli.children import Child, Supervisor, memfs_command, worker_command
from memfs.config import RemoteSettings, Settings, Wanted, remote_settings
from memfs.core.errors import AlreadyHeld, MemfsError, MountRefused, RemoteUnavailable
from memfs.health import notify
from memfs.progress import Bar, Hidden, Shown
from memfs.state.layout import Layout

READY_TIMEOUT_S = 15.0
FIRST_SYNC_TIMEOUT_S = 60.0
"""A first download may well take longer: the mount is then made while it goes on."""
UNMOUNT_TIMEOUT_S = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class UpOptions:
    """What one call runs, every default filled in."""

    wanted: Wanted
    named_by_flags: list[str]
    """The words that name stores or a session, as the worker takes them too."""
    session_token_file: Path | None
    mount_point: Path
    state: Path
    embedded: bool
    listen: str
    data: Path
    base_url: str | None
    api_key_file: Path | None
    config: Path | None
    settings: Settings
    fuse: bool = True
    """False is directory mode."""


class Hosting:
    """The processes of one `memfs up`.

    Args:
        given: What to run.
        supervisor: Watches the processes and hears the signals.
        directory: Where the processes tell that they serve.
        say: Where one-line messages for the person at the terminal go.
    """

    def __init__(self, given: UpOptions, supervisor: Supervisor, directory: Path, say: Callable[[str], None]) -> None:
        self._options, self._supervisor, self._directory, self._say = given, supervisor, directory, say
        self._server: Child | None = None
        self._worker: Child | None = None
        self._mount: Child | None = None
        self._passed_on = ""
        self._stop_code = 0

    def run(self, check_remote: Callable[[RemoteSettings], None]) -> int:
        """Start everything, watch it until a signal comes, end everything; return the exit code.

        Args:
            check_remote: Asks the remote about the stores before anything serves them; what it raises ends the command.

        Raises:
            MemfsError: What the settings or ``check_remote`` raise, or a process that does not get ready.
        """
        try:
            if code := self._start_all(check_remote):
                return code
            children = [child for child in (self._server, self._worker, self._mount) if child]
            self._supervisor.watch(children, on_tick=self._pass_on)
        finally:
            self._stop_all()
        return self._stop_code

    def _start_all(self, check_remote: Callable[[RemoteSettings], None]) -> int:
        given = self._options
        if given.embedded:
            self._server = Child("server", _server_command(given), self._directory)
            if code := self._start(self._server):
                return code
            if self._supervisor.is_stopping:
                return 0
            given = replace(given, base_url=self._server.status, api_key_file=given.data / "api-key")
            # Started again, it has to be where the worker looks for it, also where port 0 let the kernel choose.
            self._server.command = _server_command(replace(given, listen=self._server.status.rpartition("//")[2]))
        remote = remote_settings(
            given.base_url,
            given.api_key_file,
            settings=given.settings,
            session_id=given.wanted.session_id,
            session_token_file=given.session_token_file,
        )
        check_remote(remote)
        if self._supervisor.is_stopping:
            return 0
        self._worker = Child("worker", _worker_command(given, remote), self._directory, remote.environment)
        if code := self._start(self._worker, FIRST_SYNC_TIMEOUT_S, must_be_ready=False):
            return code
        self._mount = Child("mount", _mount_command(given), self._directory, ends_all=True)
        if code := self._start(self._mount):
            return code
        if not self._supervisor.is_stopping:
            self._say_serving(self._worker)
            notify(ready=True, status=str(given.mount_point))
        return 0

    def _start(self, child: Child, timeout_s: float = READY_TIMEOUT_S, *, must_be_ready: bool = True) -> int:
        """Start a process and wait until it serves or everything is to stop; return its exit code if it ended instead.

        Raises:
            AlreadyHeld, RemoteUnavailable: It is there and does not get ready.
        """
        child.start()
        with _download_shown(child) as show:
            is_ready = child.wait_ready(timeout_s, is_stopping=lambda: self._supervisor.is_stopping, on_tick=show)
        if is_ready:
            return 0
        if (code := child.ended()) is not None and not self._supervisor.is_stopping:
            return code or MemfsError.exit_code  # It said why on standard error.
        if must_be_ready and not self._supervisor.is_stopping:
            kind = RemoteUnavailable if child is self._server else AlreadyHeld
            raise kind(f"the {child.name} did not get ready within {timeout_s:.0f} s", remedy="Its lines above say why")
        return 0

    def _pass_on(self) -> None:
        """Tell our own supervisor what the worker tells us."""
        status = self._worker.status if self._worker else ""
        if status != self._passed_on:
            self._passed_on = status
            notify(status=f"{self._options.mount_point}: {status}")

    def _stop_all(self) -> None:
        most_s = UNMOUNT_TIMEOUT_S + self._options.settings.worker.drain_timeout_s + 2 * READY_TIMEOUT_S
        notify(stopping=True, status="stopping", extend_timeout_s=most_s)
        for child, end in ((self._mount, self._unmount), (self._worker, self._drain), (self._server, self._end_server)):
            if child is not None:
                end(child)
                child.close()

    def _unmount(self, mount: Child) -> None:
        if mount.ended() is None and mount.has_served:
            self._say(f"unmounting {self._options.mount_point}; programs inside it have 5 s to leave")
        mount.stop(UNMOUNT_TIMEOUT_S, hurry=lambda: self._supervisor.is_hurried)
        if self._options.fuse:
            self._clear_stale()

    def _clear_stale(self) -> None:
        """Take down what a killed process left mounted; where that fails, say so and go on: the worker is to drain."""
        from memfs.fuse.checks import clear_stale

        try:
            clear_stale(self._options.mount_point)
        except MountRefused as error:
            self._say(str(error))
            self._stop_code = error.exit_code

    def _drain(self, worker: Child) -> None:
        if worker.ended() is None:
            most_s = self._options.settings.worker.drain_timeout_s
            self._say(f"pushing what is not yet synced, for at most {most_s:.0f} s; Ctrl-C again stops at once")
        timeout_s = self._options.settings.worker.drain_timeout_s + 5.0
        code = worker.stop(timeout_s, hurry=lambda: self._supervisor.is_hurried)
        if worker.has_served and told_unsynced(self._options.state, self._say, is_drained=code == 0):
            self._say("everything is synced")

    def _end_server(self, server: Child) -> None:
        server.stop(READY_TIMEOUT_S)

    def _say_serving(self, worker: Child) -> None:
        from memfs.state.attachments import attached

        stores = attached(Layout(self._options.state))
        for one in stores:
            access = "read_write" if one.is_writable else "read_only"
            typer.echo(f"  {self._options.mount_point / one.slug}  {access}  ({one.name})")
        if not worker.ready:
            self._say(f"the worker: {worker.status or 'the first sync goes on'}")
        if not stores:
            self._say("no store is known yet: they appear once the remote answers")
        self._say("ready. Ctrl-C unmounts, pushes what is left and tells what is not yet synced")


@contextmanager
def _download_shown(child: Child) -> Iterator[Callable[[], None]]:
    """Show a bar on a terminal while the child tells of a download; elsewhere its log lines tell of it."""
    shown: Shown = Bar("first download") if sys.stderr.isatty() else Hidden()

    def show() -> None:
        if child.download is not None:
            shown.show(*child.download)

    try:
        yield show
    finally:
        shown.close()


def told_unsynced(state: Path, say: Callable[[str], None], *, is_drained: bool) -> bool:
    """Tell what is not yet synced once the worker has ended; True where all of at least one store is.

    Args:
        state: The state directory.
        say: Where one-line messages go.
        is_drained: Whether the worker ended in good order: else nothing is certain.
    """
    from memfs.cli.output import printable
    from memfs.state.summary import owed_by_detached, summaries

    if not is_drained:
        say(f"the worker did not drain: what it had not pushed is kept in {state}, pushed at the next start")
        return False
    for one in owed_by_detached(Layout(state)):
        say(f"{one.attachment.name}: {one.pending} not yet synced and no longer attached; kept in {state}")
    stores = summaries(Layout(state))
    unsure = [one for one in stores if one.pending or one.sync_error]
    for one in unsure:
        why = f" ({one.sync_error[1]})" if one.sync_error else ""
        named = ", ".join(one.pending_paths[:3]) + (", …" if one.pending > 3 else "")  # noqa: PLR2004  (one line)
        which = f" ({printable(named)})" if named else ""
        say(f"{one.attachment.name}: {one.pending} not yet synced{which}{why}; kept in {state}")
    return bool(stores) and not unsure


def _server_command(given: UpOptions) -> list[str]:
    return memfs_command(
        "serve", "--no-access-log", "--listen", given.listen, "--data", str(given.data), *_config(given)
    )


def _mount_command(given: UpOptions) -> list[str]:
    fuse = "--fuse" if given.fuse else "--no-fuse"
    return memfs_command("mount", str(given.mount_point), "--state", str(given.state), fuse, *_config(given))


def _worker_command(given: UpOptions, remote: RemoteSettings) -> list[str]:
    return worker_command(
        "--state", str(given.state), "--base-url", remote.base_url, *given.named_by_flags, *_config(given)
    )


def _config(given: UpOptions) -> list[str]:
    return ["--config", str(given.config)] if given.config else []
