"""How a server is to be run: what follows from what was chosen."""

import json

from memfs.core.limits import Limits
from memfs.server.options import ServerOptions


def test_a_body_may_hold_the_largest_memory_however_it_is_escaped() -> None:
    limits = Limits(memory_bytes=1_000)
    body = {"path": "/" + "\x00" * limits.path_bytes, "content": "\x00" * limits.memory_bytes}

    assert len(json.dumps(body)) <= ServerOptions(limits=limits).body_cap


def test_a_chosen_size_of_a_body_holds() -> None:
    assert ServerOptions(body_bytes=2_000).body_cap == 2_000


def test_no_representation_shows_the_databases_password() -> None:
    assert "hush" not in repr(ServerOptions(database="postgresql://me:hush@db/x"))
