"""The demo's steps: real shell commands, what each must answer, and how that is judged.

A step's commands run in one shell in the stage's directory, where ``a`` and ``b`` are the two mounts. Nothing here is
typed in: what is shown is what the commands printed.
"""

import json
import re
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

NOTES, HANDBOOK = "Team Notes", "Handbook"
STEP_TIMEOUT_S = 20.0
_POLL_S = 0.002


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Where the demo plays."""

    directory: Path
    environ: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a step's commands did: exit code, everything they printed, and what is shown of it."""

    exit_code: int
    output: str
    shown: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step.

    ``expect`` are regular expressions that the output must match; ``fails`` tells that the command itself must be
    refused; ``until`` is a question asked of the stage until it is answered yes, whose milliseconds are shown with
    ``waited_for``; ``then`` looks at what came of it.
    """

    title: str
    commands: tuple[str, ...]
    expect: tuple[str, ...] = ()
    fails: bool = False
    until: Callable[[Stage], bool] | None = None
    waited_for: str = ""
    then: tuple[str, ...] = ()

    def run(self, stage: Stage) -> Outcome:
        """Run the commands, wait for what is to come of them, then run what looks at it."""
        code, output = _shell("\n".join(self.commands), stage)
        if self.until:
            waited_ms = _wait(self.until, stage)
            output += f"{self.waited_for} {waited_ms:.0f} ms\n" if waited_ms >= 0 else "it did not come\n"
            code = code or int(waited_ms < 0)
        if self.then:
            after, more = _shell("\n".join(self.then), stage)
            code, output = code or after, output + more
        return Outcome(exit_code=code, output=output, shown=_cut(output))

    def trouble(self, outcome: Outcome) -> str:
        """Return what is wrong with the outcome, "" when it is the expected one."""
        if (outcome.exit_code != 0) is not self.fails:
            return f"exit code {outcome.exit_code}"
        missing = [pattern for pattern in self.expect if not re.search(pattern, outcome.output)]
        return f"without {missing[0]!r}" if missing else ""


def _tool(**call: object) -> str:
    return f"memfs tool --root a/team-notes <<< '{json.dumps(call)}'"


def _meeting_is_on_b(stage: Stage) -> bool:
    return "Meeting at ten" in (stage.directory / "b/team-notes/acme.md").read_text()


def _both_plans_are_everywhere(stage: Stage) -> bool:
    found = [{path.read_text() for path in (stage.directory / host).glob("team-notes/plan*.md")} for host in "ab"]
    return found[0] == found[1] == {"deploy on Monday\n", "deploy on Friday\n"}


SHOWCASE: tuple[Step, ...] = (
    Step(
        title="Two stores are two directories",
        commands=("ls -R a",),
        expect=("handbook", "team-notes", "README.md", "welcome.md"),
    ),
    Step(
        title="A memory is a file",
        commands=("cat a/team-notes/welcome.md",),
        expect=("the next one knows",),
    ),
    Step(
        title="Every file tool works on it",
        commands=("grep -rn 'never lost' a/handbook | cut -c -100",),
        expect=("a/handbook/",),
    ),
    Step(
        title="Writing a file makes a memory",
        commands=("echo 'Acme Corp prefers e-mail.' > a/team-notes/acme.md", "cat a/team-notes/acme.md"),
        expect=("prefers e-mail",),
    ),
    Step(
        title="Editing in place is one new version",
        commands=("sed -i 's/e-mail/the telephone/' a/team-notes/acme.md", "cat a/team-notes/acme.md"),
        expect=("prefers the telephone",),
    ),
    Step(
        title="A read-only store refuses at once",
        commands=("echo oops > a/handbook/README.md",),
        # The kernel itself answers an ordinary user, for whom the file shows no write bits.
        expect=("Read-only file system|Permission denied",),
        fails=True,
    ),
    Step(
        title="An edit on host A appears on host B",
        commands=(
            "until [ -e b/team-notes/acme.md ]; do sleep 0.1; done",
            "echo 'Meeting at ten.' >> a/team-notes/acme.md",
        ),
        until=_meeting_is_on_b,
        waited_for="on B after",
        then=("cat b/team-notes/acme.md",),
        expect=("prefers the telephone", r"Meeting at ten\."),
    ),
    Step(
        title="Two conflicting edits are both kept",
        commands=(
            "echo 'deploy on Monday' > a/team-notes/plan.md & echo 'deploy on Friday' > b/team-notes/plan.md; wait",
        ),
        until=_both_plans_are_everywhere,
        waited_for="both on A and on B after",
        then=("grep -r . b/team-notes/plan*",),
        expect=("deploy on Monday", "deploy on Friday", r"plan\.conflict-[0-9a-f]{8}\.md:"),
    ),
    Step(
        title="The memory tool: view and create",
        commands=(
            _tool(command="view", path="/memories"),
            _tool(command="create", path="/memories/todo.md", file_text="- write tests\n- ship\n"),
        ),
        expect=("Here're the files and directories up to 2 levels deep", "File created successfully"),
    ),
    Step(
        title="The memory tool: str_replace and insert",
        commands=(
            _tool(command="str_replace", path="/memories/todo.md", old_str="ship", new_str="ship it"),
            _tool(command="insert", path="/memories/todo.md", insert_line=0, insert_text="# To do\n"),
            "cat a/team-notes/todo.md",
        ),
        expect=(r"The memory file has been edited\.", r"The file /memories/todo\.md has been edited\.", "- ship it"),
    ),
    Step(
        title="The memory tool: rename and delete",
        commands=(
            _tool(command="rename", old_path="/memories/todo.md", new_path="/memories/done/todo.md"),
            _tool(command="delete", path="/memories/done"),
        ),
        expect=(
            r"Successfully renamed /memories/todo\.md to /memories/done/todo\.md",
            "Successfully deleted /memories/done",
        ),
    ),
    Step(
        title="Every change is in the version history",
        commands=("memfs versions list 'Team Notes' --path /acme.md",),
        expect=(r"modified +/acme\.md", r"created +/acme\.md"),
    ),
    Step(
        title="How full each store is",
        commands=("df -i a/team-notes a/handbook",),
        expect=(r"memfs +10000 +\d+ +\d+ +\d+%",),
    ),
    Step(
        title="What is synced and what is not",
        commands=("while memfs status --state state-a | grep -q pending; do sleep 0.1; done",),
        then=("memfs status --state state-a",),
        expect=("team-notes +read_write +synced", "handbook +read_only.* +synced"),
    ),
)


def _shell(script: str, stage: Stage) -> tuple[int, str]:
    try:
        done = subprocess.run(  # noqa: S603  (the demo's own commands, shown to the reader)
            ["bash", "-c", script],  # noqa: S607  (whichever bash the reader has)
            cwd=stage.directory,
            env=dict(stage.environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=STEP_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return 124, f"it took longer than {STEP_TIMEOUT_S:.0f} s\n"
    return done.returncode, done.stdout.decode(errors="replace")


def _wait(question: Callable[[Stage], bool], stage: Stage) -> float:
    """Return the milliseconds until the answer is yes, -1 when it never is."""
    began = time.monotonic()
    while time.monotonic() - began < STEP_TIMEOUT_S:
        try:
            if question(stage):
                return (time.monotonic() - began) * 1_000
        except FileNotFoundError:
            pass  # It has not come yet.
        time.sleep(_POLL_S)
    return -1.0


def _cut(output: str) -> str:
    lines = output.splitlines()
    most = 24
    return "\n".join(lines if len(lines) <= most else [*lines[: most - 1], f"… {len(lines) - most + 1} more lines"])
