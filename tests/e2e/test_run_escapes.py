"""A hostile command inside `memfs run` gets nowhere: every attempt of `escapes`, as root and as an ordinary user."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from commands import RunningServer
from running_inside import UID, USERS, Inside, inside

ESCAPES = Path(__file__).parents[1] / "escapes.py"
NAMES = re.findall(r"^@attempt\ndef (\w+)", ESCAPES.read_text(), re.MULTILINE)


def given(one: Inside) -> str:
    """Put a configuration and a key file into the home, and say where everything is."""
    config, key_file = one.home / "settings.toml", one.home / "key"
    config.write_text("[worker]\npoll_s = 1\n")
    key_file.write_text(one.memfs.environ["MEMFS_API_KEY"])
    if one.user == "ordinary" and os.geteuid() == 0:
        for path in (config, key_file):
            os.chown(path, UID, UID)
    places = {"home": one.home, "state": one.state, "config": config, "key_file": key_file}
    return json.dumps({name: str(path) for name, path in places.items()} | {"yek": key_file.read_text()[::-1]})


@pytest.fixture(scope="module", params=USERS)
def got(
    store_server: RunningServer, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> dict[str, str]:
    """What each attempt got inside, all made by one command."""
    one = inside(store_server, tmp_path_factory.mktemp("escapes"), request.param)
    (one.home / "escapes.py").write_bytes(ESCAPES.read_bytes())
    told = given(one)
    options = ("-c", one.home / "settings.toml", "--api-key-file", one.home / "key")
    done = one.run("python3", "-I", one.home / "escapes.py", told, options=options)
    assert 0 == done.code, done.err
    found: dict[str, str] = json.loads(done.out)
    assert sorted(NAMES) == sorted(found)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_the_attempt_gets_nothing(name: str, got: dict[str, str]) -> None:
    assert "" == got[name]


def test_outside_the_same_attempts_do_get_something(store_server: RunningServer, tmp_path: Path) -> None:
    """The attempts are good ones: as the same user without a sandbox, they find what they look for."""
    one = inside(store_server, tmp_path, "root")
    told = given(one)
    assert 0 == one.run("true").code
    names = ("list_the_state", "read_the_key_file", "read_the_configuration", "replace_the_configuration")
    names += ("write_into_the_state", "see_a_process_outside", "signal_processes_outside")
    names += ("find_the_key_in_the_environment",)

    done = subprocess.run(
        [sys.executable, "-I", ESCAPES, told, *names],
        env=one.memfs.environ,
        capture_output=True,
        check=True,
        timeout=60,
    )

    assert {} == {name: got for name, got in json.loads(done.stdout).items() if not got}
