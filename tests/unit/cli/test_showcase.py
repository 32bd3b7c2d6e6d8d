"""The demo's steps judge what really happened: a wrong outcome is named."""

import os
from pathlib import Path

import pytest

from memfs.cli.showcase import SHOWCASE, Stage, Step


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(directory=tmp_path, environ=dict(os.environ))


@pytest.mark.parametrize(
    ("step", "trouble"),
    [
        (Step(title="t", commands=("echo hello",), expect=("hel+o",)), ""),
        (Step(title="t", commands=("echo hello",), expect=("hello", "bye")), "without 'bye'"),
        (Step(title="t", commands=("echo hello; exit 3",), expect=("hello",)), "exit code 3"),
        (Step(title="t", commands=("echo no >&2; false",), expect=("no",), fails=True), ""),
        (Step(title="t", commands=("true",), fails=True), "exit code 0"),
        (Step(title="t", commands=("true",), then=("false",)), "exit code 1"),
        (Step(title="t", commands=("echo x > made",), until=lambda s: (s.directory / "made").exists()), ""),
    ],
)
def test_a_step_is_judged_by_exit_code_and_output(stage: Stage, step: Step, trouble: str) -> None:
    assert step.trouble(step.run(stage)) == trouble


def test_what_does_not_come_is_a_failure(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memfs.cli.showcase.STEP_TIMEOUT_S", 0.05)
    step = Step(title="t", commands=("true",), until=lambda _: False, waited_for="there after")

    outcome = step.run(stage)

    assert step.trouble(outcome) == "exit code 1"
    assert "it did not come" in outcome.output


def test_a_command_that_hangs_is_ended(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memfs.cli.showcase.STEP_TIMEOUT_S", 0.2)

    assert Step(title="t", commands=("exec sleep 30",)).run(stage).exit_code == 124


def test_long_output_is_cut_and_says_so(stage: Stage) -> None:
    shown = Step(title="t", commands=("seq 100",)).run(stage).shown

    assert shown.splitlines()[-1] == "… 77 more lines"


def test_every_step_expects_something() -> None:
    assert not [step.title for step in SHOWCASE if not (step.expect or step.fails)]
