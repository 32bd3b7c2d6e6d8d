"""Further API keys of a server, made as its operator makes them."""

import time

from memfs.core.attachment import Access
from memfs.server.keys import Keys
from memfs.server.serve import StoreServer
from memfs.server.store.stamps import Stamps


def new_key(server: StoreServer, *, workspace: str | None = None, access: Access = Access.READ_WRITE) -> dict[str, str]:
    """Return the header of a new key; ``workspace`` None is the one of the server's first key."""
    keys = Keys(server._database, Stamps(lambda: time.time_ns() // 1_000))
    return {"authorization": f"Bearer {keys.create('of a test', workspace=workspace, access=access).token}"}
