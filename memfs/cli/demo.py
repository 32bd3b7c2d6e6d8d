"""``memfs demo``: one embedded server, two stores, two independent mounts, and the main job shown step by step.

This module sets the stage in a temporary directory and clears it whatever happens; `memfs.cli.showcase` has the steps.
"""

import asyncio
import os
import random
import shutil
import sys
import tempfile
import time
from importlib.metadata import metadata
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

import memfs
from memfs.cli.children import Child, Supervisor, memfs_command
from memfs.cli.showcase import HANDBOOK, NOTES, SHOWCASE, Stage, Step

READY_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 30.0
POLL_S = 0.2
WELCOME = "# Team notes\n\nWhat one agent learns here, the next one knows.\n"


def demo(
    keep: Annotated[bool, typer.Option("--keep", help="Leave it running until Ctrl-C, and tell what to try.")] = False,
) -> None:
    """Show the main job: agents' memory as files, on two mounts, in sync. Needs nothing but this machine."""
    console = Console(highlight=False, soft_wrap=True)
    supervisor = Supervisor(lambda message: console.print(f"memfs: {message}"), random.random)
    directory = Path(tempfile.mkdtemp(prefix="memfs-demo-"))
    children: list[Child] = []
    failed: list[str] = []
    began, took_s = time.monotonic(), 0.0
    try:
        stage = _set_up(directory, children, supervisor, console)
        if stage:
            failed = _show(stage, supervisor, console)
            took_s = time.monotonic() - began
            if keep and not supervisor.is_stopping:
                _keep(stage, children, supervisor, console)
    finally:
        failed += _clear(directory, children)
    if supervisor.is_stopping and not keep:
        raise typer.Exit(130)
    if stage is None:
        console.print("The demo could not be set up: see above.", style="bold red")
        raise typer.Exit(1)
    if failed:
        console.print(
            f"{len(failed)} of the demo's steps went wrong: {'; '.join(failed)}", style="bold red", markup=False
        )
        raise typer.Exit(1)
    console.print(f"[bold green]Every step came out as expected[/], in {took_s:.0f} s. Nothing is left behind.")


def _set_up(directory: Path, children: list[Child], supervisor: Supervisor, console: Console) -> Stage | None:
    """Start the server and the two hosts; None when something did not start, which its log then told."""

    def started(name: str, *command: str) -> Child | None:
        child = Child(name, memfs_command(*command), directory, log=directory / f"{name}.log")
        children.append(child)
        child.start()
        if child.wait_ready(READY_TIMEOUT_S, is_stopping=lambda: supervisor.is_stopping):
            return child
        if not supervisor.is_stopping:
            told = (directory / f"{name}.log").read_text(encoding="utf-8", errors="replace")
            console.print(f"{name} did not start:\n{told}", style="red", markup=False)
        return None

    console.print("Setting up one server and two hosts …")
    server = started("server", "serve", "--listen", "127.0.0.1:0", "--data", str(directory / "server"))
    if server is None:
        return None
    key_file = directory / "server" / "api-key"
    asyncio.run(_fill(server.status, key_file.read_text(encoding="ascii").strip()))
    for host in ("a", "b"):
        (directory / host).mkdir()
        settings = directory / f"{host}.toml"
        settings.write_text(_settings(directory, host, server.status, key_file), encoding="utf-8")
        if started(f"host-{host}", "up", "--config", str(settings)) is None:
            return None
    environ = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        "MEMFS_BASE_URL": server.status,
        "MEMFS_API_KEY": key_file.read_text(encoding="ascii").strip(),
        "COLUMNS": "110",
    }
    return Stage(directory=directory, environ=environ)


def _show(stage: Stage, supervisor: Supervisor, console: Console) -> list[str]:
    """Run the steps; returns the titles of those that did not come out as they should."""
    failed = []
    for number, step in enumerate(SHOWCASE, 1):
        if supervisor.is_stopping:
            break
        console.print(f"\n[bold cyan]{number:2}. {step.title}[/]")
        for command in step.commands:
            console.print(f"$ {command}", style="bold", markup=False)
        trouble = _run_step(step, stage, console)
        if trouble and not supervisor.is_stopping:
            console.print(f"   ✗ {trouble}", style="bold red", markup=False)
            failed.append(f"{number}. {step.title} ({trouble})")
    console.print()
    return failed


def _run_step(step: Step, stage: Stage, console: Console) -> str:
    outcome = step.run(stage)
    for line in outcome.shown.splitlines():
        console.print(f"   {line}", style="dim" if console.is_terminal else "", markup=False)
    return step.trouble(outcome)


def _keep(stage: Stage, children: list[Child], supervisor: Supervisor, console: Console) -> None:
    console.print(
        f"It runs on until Ctrl-C. In another terminal:\n"
        f"  cd {stage.directory}; export PATH={stage.environ['PATH'].partition(os.pathsep)[0]}:$PATH\n"
        f"  ls -R a b                       # the same stores on two hosts\n"
        f"  echo hello > a/team-notes/hi.md; sleep 1; cat b/team-notes/hi.md\n"
        f"  memfs status --state state-a    # what is synced, what is not\n"
        f"  tail host-a.log host-b.log server.log",
        markup=False,
    )
    supervisor.watch(children)


def _clear(directory: Path, children: list[Child]) -> list[str]:
    """Stop everything in order and remove the directory; returns what could not be cleared."""
    for child in reversed(children):
        child.stop(STOP_TIMEOUT_S)
        child.close()
    mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
    if str(directory) in mounts:
        return [f"something is still mounted below {directory}"]
    shutil.rmtree(directory)
    return []


def _settings(directory: Path, host: str, base_url: str, key_file: Path) -> str:
    return f"""\
[remote]
base_url = "{base_url}"
api_key_file = "{key_file}"

[state]
dir = "{directory / f"state-{host}"}"

[mount]
point = "{directory / host}"

[worker]
poll_s = {POLL_S}

[[stores]]
store = "{NOTES}"

[[stores]]
store = "{HANDBOOK}"
access = "read_only"
instructions = "How memfs works. Look here before asking."
"""


async def _fill(base_url: str, api_key: str) -> None:
    from memfs.remote.http import HttpRemote

    remote = HttpRemote(base_url, api_key)
    try:
        notes = await remote.create_store(NOTES, description="What the team's agents learn")
        await remote.create_memory(notes.id, "/welcome.md", WELCOME)
        handbook = await remote.create_store(HANDBOOK, description="The documents of memfs itself")
        for path, text in _documents().items():
            await remote.create_memory(handbook.id, path, text)
    finally:
        await remote.aclose()


def _documents() -> dict[str, str]:
    """Return this repository's own documents by store path; an installed package has its README at least."""
    root = Path(memfs.__file__).parent.parent
    files = [root / "README.md", *sorted((root / "docs").glob("*.md"))]
    if all(file.exists() for file in files):
        return {f"/{file.relative_to(root)}": file.read_text(encoding="utf-8") for file in files}
    return {"/README.md": str(metadata("memfs").json["description"])}
