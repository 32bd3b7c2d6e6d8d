"""HTTPS by the server itself: a certificate that clients check, and files that are none."""

import socket
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from commands import Memfs
from wire import serving

from memfs.core.errors import ConfigError
from memfs.server.options import ServerOptions
from memfs.server.serve import StoreServer

SUBJECT = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"]


def certificate(directory: Path) -> tuple[Path, Path]:
    files = directory / "server.pem", directory / "server.key"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *SUBJECT]
    subprocess.run([*command, "-out", files[0], "-keyout", files[1]], check=True, capture_output=True, timeout=30)
    return files


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def secure(tmp_path: Path, files: tuple[Path, Path]) -> Iterator[StoreServer]:
    with serving(tmp_path / "data", tls=files) as server:
        yield server


def test_clients_that_trust_the_certificate_are_served(secure: StoreServer, files: tuple[Path, Path]) -> None:
    headers = {"authorization": f"Bearer {secure.api_key}"}
    trusted = ssl.create_default_context(cafile=files[0])

    answer = httpx.get(f"{secure.url}/v1/memory_stores", headers=headers, verify=trusted)

    assert secure.url.startswith("https://127.0.0.1:")
    assert answer.json() == {"data": [], "next_page": None}


@pytest.mark.parametrize(("trusted", "code"), [(True, 0), (False, 7)])
def test_commands_trust_what_the_environment_does(
    tmp_path: Path, secure: StoreServer, files: tuple[Path, Path], trusted: bool, code: int
) -> None:
    told = {"SSL_CERT_FILE": str(files[0])} if trusted else {}
    memfs = Memfs.at_home(tmp_path, MEMFS_BASE_URL=secure.url, MEMFS_API_KEY=secure.api_key, **told)

    assert memfs.run("stores", "list", "--json").code == code


@pytest.mark.parametrize(
    ("trusted", "called", "said"),
    [
        (False, "https://127.0.0.1", "is not trusted (self-signed certificate). Name the file of its certificate"),
        (True, "https://localhost", "Call it by a name or address that is in its certificate"),
        (True, "http://127.0.0.1", "broke off without an answer"),
    ],
    ids=["not trusted", "another name", "plain"],
)
def test_a_command_says_in_one_line_why_it_gets_no_connection(
    tmp_path: Path, secure: StoreServer, files: tuple[Path, Path], trusted: bool, called: str, said: str
) -> None:
    port = httpx.URL(secure.url).port
    told = {"SSL_CERT_FILE": str(files[0])} if trusted else {}
    memfs = Memfs.at_home(tmp_path, MEMFS_BASE_URL=f"{called}:{port}", MEMFS_API_KEY=secure.api_key, **told)

    refused = memfs.run("stores", "list")

    assert (refused.code, refused.err.count("\n")) == (7, 1)
    assert said in refused.err
    assert ("SSL_CERT_FILE" in refused.err) is not trusted
    if called.startswith("http:"):
        assert f"try https://127.0.0.1:{port} if it serves HTTPS" in refused.err


def test_a_command_that_meets_no_tls_is_told_to_try_without(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as plain:
        url = plain.url.replace("http://", "https://")
        refused = Memfs.at_home(tmp_path, MEMFS_BASE_URL=url, MEMFS_API_KEY=plain.api_key).run("stores", "list")

    assert (refused.code, refused.err.count("\n")) == (7, 1)
    assert f"{url} does not speak TLS as it should (" in refused.err
    assert f"Try {plain.url} if it serves plain HTTP" in refused.err


def test_clients_that_do_not_trust_it_send_nothing(secure: StoreServer) -> None:
    with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
        httpx.get(f"{secure.url}/v1/memory_stores")


def test_plain_http_to_a_tls_port_is_hung_up_on_and_not_logged(secure: StoreServer) -> None:
    address = httpx.URL(secure.url)
    with socket.create_connection((address.host, address.port or 0), timeout=20) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")

        assert b"200" not in connection.recv(1_000)


@pytest.mark.parametrize("broken", ["missing", "garbage", "of another key"])
def test_files_that_are_no_certificate_and_its_key_are_said(
    tmp_path: Path, files: tuple[Path, Path], broken: str
) -> None:
    key = tmp_path / "broken.key"
    if broken == "garbage":
        key.write_text("this is no key")
    if broken == "of another key":
        key = certificate(tmp_path)[1]

    with pytest.raises(ConfigError) as refused:
        StoreServer("127.0.0.1", 0, tmp_path / "data", options=ServerOptions(tls=(files[0], key)))

    assert str(key) in refused.value.message
    assert refused.value.remedy
    assert not (tmp_path / "data").exists()
