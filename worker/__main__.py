"""The edge of the worker process: arguments, settings and environment in, one line and an exit code out.

``memfs-worker`` or ``python -I -m worker``; `memfs sync` and `memfs up` start it so. A flag wins over the environment,
the environment over the configuration. The API key, or a session's token, comes from a file or the environment, never
from an argument.
"""

import argparse
import asyncio
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from memfs import logs
from memfs.config import (
    DEFAULT_BASE_URL,
    RemoteSettings,
    Settings,
    Wanted,
    default_state,
    load,
    remote_settings,
    wanted,
)
from memfs.core.attachment import WantedStore
from memfs.core.conflicts import ConflictPolicy
from memfs.core.errors import ConfigError, MemfsError, UsageError
from memfs.core.limits import Limits
from memfs.core.names import Names
from memfs.core.worker_requests import encode_reply
from memfs.progress import Bar, Hidden, Shown
from memfs.remote.http import HttpRemote
from memfs.remote.retrying import Retrying
from memfs.state.attachments import attached, attached_session
from memfs.state.layout import Layout
from worker.attaching import AttachedSession
from worker.service import Options, answer_once, serve, sync_once

ATTEMPTS = 3
"""How often a call is made before its failure shuts the gate for the whole remote."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message, remedy="See `memfs-worker --help`")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the worker and return its exit code."""
    # Until the service listens to it, the signal that asks for a look must not end the process.
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    try:
        given = _parser().parse_args(arguments)
        settings = load(given.config)
        logs.set_up(settings.logging.level)
        asyncio.run(_run(given, settings))
    except MemfsError as error:
        sys.stderr.write(f"memfs: {error}\n")
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    return 0


async def _run(given: argparse.Namespace, settings: Settings) -> None:
    layout = Layout((given.state or settings.state.dir or default_state()).absolute())
    asked = wanted(given.session, given.store, settings)
    if not asked.session_id and not asked.stores:
        asked = _as_before(layout)
    asked.check()
    session = AttachedSession(asked.session_id) if asked.session_id else None
    found = _remote_settings(given, settings, asked.session_id)
    options = Options(
        layout=layout,
        wanted=asked.stores,
        session=session,
        names=Names(settings.names.local_only, settings.names.held_back),
        limits=Limits(),
        clock=time,
        poll_s=given.poll or settings.worker.poll_s,
        drain_timeout_s=given.drain_timeout or settings.worker.drain_timeout_s,
        policy=ConflictPolicy(settings.worker.conflicts),
        shown=_shown(),
    )
    remote = Retrying(
        HttpRemote(found.base_url, found.api_key, is_session_token=found.is_session_token),
        attempts=ATTEMPTS,
        check=session.check if session else lambda: None,
    )
    try:
        if given.control:
            reply = await answer_once(options, remote, sys.stdin.buffer.readline())
            sys.stdout.buffer.write(encode_reply(reply))
        else:
            await (sync_once if given.once else serve)(options, remote)
    finally:
        await remote.aclose()


def _remote_settings(given: argparse.Namespace, settings: Settings, session_id: str) -> RemoteSettings:
    try:
        return remote_settings(
            given.base_url,
            given.api_key_file,
            settings=settings,
            session_id=session_id,
            session_token_file=given.session_token_file,
        )
    except ConfigError:
        if not given.control:
            raise
        # Most of what is asked here needs no remote: what does is refused by it.
        return RemoteSettings(base_url=given.base_url or DEFAULT_BASE_URL, api_key="none")


def _shown() -> Shown | None:
    """Return what shows a first download: on a terminal a bar, ours or the supervisor's, elsewhere the log."""
    if not sys.stderr.isatty():
        return None
    return Hidden() if "NOTIFY_SOCKET" in os.environ else Bar("first download")


def _as_before(layout: Layout) -> Wanted:
    """Return what is attached: a session, or the stores as they were named."""
    if session_id := attached_session(layout):
        return Wanted(session_id=session_id)
    return Wanted(
        stores=[
            WantedStore(store=one.store_id, access=one.access, instructions=one.instructions)
            for one in attached(layout)
        ]
    )


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="memfs-worker", description="Keep attached memory stores in sync with their remote.")
    parser.add_argument("-c", "--config", type=Path, metavar="FILE", help="the configuration, memfs.toml")
    parser.add_argument("--state", type=Path, metavar="DIR", help="the state directory")
    parser.add_argument("--base-url", metavar="URL", help="where the stores are")
    parser.add_argument("--api-key-file", type=Path, metavar="FILE", help="the file that holds the API key")
    parser.add_argument(
        "--store", action="append", metavar="NAME_OR_ID[:ro]", help="a store to sync; may be given several times"
    )
    parser.add_argument("--session", metavar="ID", help="sync the stores of this session")
    parser.add_argument("--session-token-file", type=Path, metavar="FILE", help="the file that holds its token")
    parser.add_argument("--poll", type=_seconds, metavar="SECONDS", help="between two looks for remote edits")
    parser.add_argument("--drain-timeout", type=_seconds, metavar="SECONDS", help="longest time to drain at the end")
    parser.add_argument("--once", action="store_true", help="sync until nothing is left to do, then exit")
    parser.add_argument("--control", action="store_true", help="answer the one request on standard input, then exit")
    return parser


def _seconds(text: str) -> float:
    seconds = float(text)
    if not seconds > 0:
        raise ValueError(text)
    return seconds


if __name__ == "__main__":
    sys.exit(main())
