"""The first key: in a file for its owner only, made once however many start, and never shown."""

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from memfs.core.errors import ConfigError
from memfs.server.first_key import key_in


def test_many_first_starts_agree_on_one_key(tmp_path: Path) -> None:
    path = tmp_path / "api-key"

    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(lambda _: key_in(path), range(16)))

    assert found == {path.read_text().strip()}
    assert [one.name for one in tmp_path.iterdir()] == ["api-key"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("umask", [0, 0o022, 0o277])
def test_a_new_key_is_for_its_owner_only_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        key_in(tmp_path / "api-key")
    finally:
        os.umask(before)

    assert stat.S_IMODE((tmp_path / "api-key").stat().st_mode) == 0o600


def test_a_key_file_that_is_no_text_is_refused_without_showing_a_byte_of_it(tmp_path: Path) -> None:
    (tmp_path / "api-key").write_bytes(b"\xe4" * 40)

    with pytest.raises(ConfigError, match="it is no text") as refused:
        key_in(tmp_path / "api-key")

    assert "e4" not in str(refused.value).replace(str(tmp_path), "")


def test_a_sessions_token_is_no_first_key(tmp_path: Path) -> None:
    (tmp_path / "api-key").write_text("memfs-session-of-somebody-else\n")

    with pytest.raises(ConfigError, match="a session's token") as refused:
        key_in(tmp_path / "api-key")

    assert "somebody" not in str(refused.value)
