"""Everything that the OpenAPI document allows, and what it does not, asked of a server by schemathesis.

No answer is a 5xx, none has a status or a shape that the document does not name, and a server's log stays clean. It
runs as a program of its own, with a seed, so that a run finds the same on every machine.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from wire import connected, serving

from memfs.server.serve import StoreServer

PROGRAM = Path(sys.executable).parent / "schemathesis"
OPERATIONS = 23
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "ignored_auth",
    "missing_required_header",
    "unsupported_method",
    "allow_header_conformance",
    "negative_data_rejection",
    "use_after_free",
    "ensure_resource_availability",
)


def asked(server: StoreServer, directory: Path, *, examples: int, phases: str) -> tuple[int, str]:
    """Let schemathesis ask a server and return its exit code and what it said."""
    command: list[str | Path] = [
        PROGRAM, "run", f"{server.url}/openapi.json", "--header", f"Authorization: Bearer {server.api_key}",
        "--checks", ",".join(CHECKS), "--phases", phases, "--max-examples", f"{examples}", "--seed", "1",
        "--workers", "1", "--request-timeout", "30", "--no-color", "--continue-on-failure", "--no-shrink",
        "--generation-database", "none",
    ]  # fmt: skip
    done = subprocess.run(
        command,
        cwd=directory,
        env={"PATH": os.environ["PATH"], "HOME": str(directory), "COLUMNS": "120", "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        check=False,
        timeout=1_000,
    )
    return done.returncode, done.stdout + done.stderr


def seeded(client: httpx.Client) -> None:
    """Make one of each kind of thing, so that there is something to be listed."""
    store = client.post("/v1/memory_stores", json={"name": "n", "metadata": {"k": "v"}}).json()["id"]
    memories = f"/v1/memory_stores/{store}/memories"
    made = client.post(memories, json={"path": "/a/b", "content": "one"}).json()
    client.post(f"{memories}/{made['id']}", json={"content": "two"}).raise_for_status()
    resource = {"type": "memory_store", "memory_store_id": store}
    client.post("/v1/sessions", json={"agent": "a", "environment_id": "e", "resources": [resource]}).raise_for_status()


def is_asked(tmp_path: Path, database: str | None, *, examples: int, phases: str) -> None:
    """Check that a server answers all that schemathesis asks as its document says."""
    with serving(tmp_path / "data", database=database) as server, connected(server) as client:
        seeded(client)
        code, said = asked(server, tmp_path, examples=examples, phases=phases)
        assert client.get("/healthz").status_code == 200
    assert code == 0, said
    assert int(re.findall(r"Tested: +(\d+)", said)[0]) >= OPERATIONS, said


def test_the_document_is_kept_to(tmp_path: Path, new_database: str | None) -> None:
    is_asked(tmp_path, new_database, examples=10, phases="examples,coverage,fuzzing")


@pytest.mark.long
@pytest.mark.timeout(1_100)
def test_the_document_is_kept_to_by_request_upon_request(tmp_path: Path, new_database: str | None) -> None:
    is_asked(tmp_path, new_database, examples=200, phases="examples,coverage,fuzzing,stateful")
