"""What the command line may ask of the worker: each request is answered here, on the control thread.

`Control.answer` is called by `worker.control_socket` for the worker that runs, and by `worker.service.answer_once` for
one request where none does.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from typing import Any, assert_never

from memfs.core.errors import MemfsError, NotFound
from memfs.core.worker_requests import (
    Drain,
    EmptyTrash,
    Reply,
    Resolve,
    RestoreTrash,
    Resume,
    WorkerRequest,
    decode_request,
    refused,
)
from memfs.tree.trash import empty
from worker.resolving import resolve, restore_trash
from worker.resuming import accept, restore
from worker.runner import Runner

log = logging.getLogger(__name__)


class Control:
    """Answers requests about the stores of one worker.

    Args:
        runners: The stores that are attached now, by id.
        drain: Syncs what is owed, for at most so many seconds.
    """

    def __init__(self, runners: Callable[[], Mapping[str, Runner]], drain: Callable[[float], Any]) -> None:
        self._runners = runners
        self._drain = drain

    async def answer(self, line: bytes) -> Reply:
        """Do what is asked; an error that memfs foresees is a reply."""
        try:
            return Reply(facts=await self._act(decode_request(line)))
        except MemfsError as error:
            return refused(error)
        except OSError as error:
            return Reply(code=MemfsError.code, message=f"the worker could not do it: {error.strerror or error}")

    async def _act(self, request: WorkerRequest) -> dict[str, Any]:
        match request:
            case Resolve():
                return await resolve(self._runner(request.store_id).replica, request)
            case RestoreTrash():
                return await restore_trash(self._runner(request.store_id).replica, request)
            case Resume():
                replica = self._runner(request.store_id).replica
                is_halted = replica.state.braking.halt is not None
                count = (accept(replica) if request.accept else await restore(replica)) if is_halted else 0
                return {"was_halted": is_halted, "count": count}
            case EmptyTrash():
                trash = self._runner(request.store_id).replica.layout.trash
                count = await asyncio.to_thread(empty, trash, time.time() - request.older_than_s)
                log.info("deleted %d files of %s for good", count, trash)
                return {"count": count}
            case Drain():
                await self._drain(request.timeout_s)
                return {"unsynced": self.unsynced()}
            case _:
                assert_never(request)

    def unsynced(self) -> list[str]:
        """Return what is not the same on both sides, as ``SLUG/PATH``."""
        return [
            f"{runner.replica.attachment.slug}{path}"
            for runner in self._runners().values()
            for path in runner.unsynced()
        ]

    def _runner(self, store_id: str) -> Runner:
        runner = self._runners().get(store_id)
        if runner is None:
            raise NotFound(f"the worker has no store {store_id} attached", remedy="See `memfs status`")
        return runner
