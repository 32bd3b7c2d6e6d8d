"""The edge of the worker: each refused argument is one line and its exit code."""

from pathlib import Path

import pytest

from memfs import logs
from worker.__main__ import main


@pytest.mark.parametrize(
    ("arguments", "expected", "message"),
    [
        ([], 2, "no store is named"),
        (["--store", "a", "--store", "a"], 2, "named twice"),
        ([word for number in range(9) for word in ("--store", f"s{number}")], 2, "at most eight|at most 8"),
        (["--store", ":ro"], 2, "has no name"),
        (["--session", "sesn_1", "--store", "a"], 2, "exclude each other"),
        (["--store", "a", "--session-token-file", "/x"], 2, "for no session"),
        (["--session", "sesn_1", "--session-token-file", "/nonexistent/token"], 3, "session token file"),
        (["--unknown"], 2, "unrecognized arguments: --unknown"),
        (["--store", "a", "--poll", "0"], 2, "--poll"),
        (["--store", "a", "--base-url", "ftp://x"], 3, "no http"),
        (["--store", "a", "--base-url", "http://127.0.0.1:1"], 3, "no API key"),
        (["--store", "a", "--api-key-file", "/nonexistent/key"], 3, "cannot be read"),
        (["--config", "/nonexistent/memfs.toml"], 3, "cannot be read"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    arguments: list[str], expected: int, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(logs, "set_up", lambda _level: None)  # this process keeps its own log
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))

    code = main(["--state", str(tmp_path / "state"), *arguments])

    said = capsys.readouterr().err
    assert expected == code
    assert said.startswith("memfs: ")
    assert 1 == len(said.splitlines())
    assert any(part in said for part in message.split("|"))
    assert not (tmp_path / "state").exists()
