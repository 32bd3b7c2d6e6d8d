"""A host that gives a server too little: no descriptor for another client, a directory that may only be read."""

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from commands import MEMFS, RUN_TIMEOUT_S, serving

FEW = 48
"""Descriptors: some more than a server needs for itself."""
WITH_FEW = ["sh", "-c", f'ulimit -n {FEW}; exec "$@"', "sh"]
# A root that may no more with files than their owner may.
LIKE_ANYONE = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []


@contextmanager
def clients(url: httpx.URL, count: int) -> Iterator[None]:
    """Connect so many clients that say nothing."""
    held = []
    try:
        for _ in range(count):
            held.append(socket.create_connection((url.host, url.port or 0), timeout=20))  # noqa: PERF401  (closed even if one fails)
        yield
    finally:
        for one in held:
            one.close()


def test_clients_past_the_last_descriptor_wait_and_are_told_of_in_one_line(tmp_path: Path) -> None:
    """And are served once others have gone."""
    command = [*WITH_FEW, MEMFS, "serve", "--listen", "127.0.0.1:0", "--data", tmp_path / "data", "--no-access-log"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        try:
            assert running.stdout is not None
            assert running.stderr is not None
            url = httpx.URL(running.stdout.readline().split()[4])
            with clients(url, 2 * FEW):
                told = running.stderr.readline()
            answer = httpx.get(f"{url}/healthz", timeout=20)
        finally:
            running.terminate()
        rest = running.communicate(timeout=20)[1].splitlines()

    assert answer.status_code == 200
    assert "new connections have to wait: Too many open files. Raise the limit" in told
    # Beside it only what the server's own threads cannot do meanwhile, each once.
    assert "connections" not in "".join(rest)
    assert len(rest) <= 4
    assert rest[-1].endswith("stopped")
    assert running.returncode == 0


def test_a_server_takes_as_many_descriptors_as_it_may(tmp_path: Path) -> None:
    command = ["sh", "-c", 'ulimit -Sn 64; exec "$@"', "sh", MEMFS, "serve", "--listen", "127.0.0.1:0"]
    with subprocess.Popen([*command, "--data", tmp_path / "data"], stdout=subprocess.PIPE, text=True) as running:
        try:
            assert running.stdout is not None
            assert running.stdout.readline().startswith("serving")
            limits = Path(f"/proc/{running.pid}/limits").read_text().splitlines()
        finally:
            running.terminate()

    (files,) = [line.split() for line in limits if line.startswith("Max open files")]
    assert int(files[3]) > 64


@pytest.mark.parametrize(
    ("modes", "said"),
    [
        ({".": 0o500}, "the data directory {data} cannot be used (it cannot be written)"),
        ({"memfs.db": 0o400}, "the database {data}/memfs.db cannot be opened (Permission denied)"),
        ({"memfs.db": 0}, "the database {data}/memfs.db cannot be opened (Permission denied)"),
        ({"api-key": 0}, "the key file {data}/api-key cannot be used (Permission denied)"),
    ],
    ids=["directory", "database read-only", "database", "key"],
)
def test_what_this_user_may_not_use_is_said_in_one_line(tmp_path: Path, modes: dict[str, int], said: str) -> None:
    data = tmp_path / "data"
    with serving(data):
        pass
    for name, mode in modes.items():
        (data / name).chmod(mode)
    words = ["serve", "--listen", "127.0.0.1:0", "--data", data]
    try:
        refused = subprocess.run(
            [*LIKE_ANYONE, MEMFS, *words], capture_output=True, text=True, timeout=RUN_TIMEOUT_S, check=False
        )
    finally:
        data.chmod(0o700)

    assert (refused.returncode, refused.stdout) == (3, "")
    assert refused.stderr.startswith(f"memfs: {said.format(data=data)}. Check")
    assert refused.stderr.count("\n") == 1
