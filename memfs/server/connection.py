"""One client's connection: how long it may take to say a request, and to read the answer.

Used by `memfs.server.serve` as uvicorn's protocol. Without it a client that opens connections and says nothing, or a
byte now and then, or never reads what it asked for, holds each of them for ever. Runs on the event loop; a connection
closed here is to the application a client that went away.
"""

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_S = 60.0
"""For a whole request, from its first byte (or the connection's begin) to the last of its body."""
LAST_S = 5.0
"""For the rest of a request once the server is to end: less than it waits for the requests under way."""
READ_S = 60.0
"""Within this a client must have read more of an answer that waits for it."""
_UNFINISHED = frozenset({h11.IDLE, h11.SEND_BODY})


class Connection(H11Protocol):
    """Closes itself when a request is not whole in time. An idle one between two requests is uvicorn's to close."""

    _deadline: asyncio.TimerHandle | None = None
    _reading: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._deadline = self.loop.call_later(REQUEST_S, self._give_up)

    def data_received(self, data: bytes) -> None:
        """Take what came, and look whether the request is whole."""
        super().data_received(data)
        if self.conn.their_state not in _UNFINISHED:
            self._be_patient()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(REQUEST_S, self._give_up)

    def on_response_complete(self) -> None:
        """See to it that the answer is read, and not only written."""
        super().on_response_complete()
        waiting = self.transport.get_write_buffer_size()
        if waiting and self._reading is None:
            self._reading = self.loop.call_later(READ_S, self._look_at_reader, waiting)

    def shutdown(self) -> None:
        """Answer the request under way, if the rest of it comes soon, and close."""
        super().shutdown()
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = self.loop.call_later(LAST_S, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the deadline with the connection."""
        self._be_patient()
        if self._reading is not None:
            self._reading.cancel()
        super().connection_lost(exc)

    def _be_patient(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _look_at_reader(self, before: int) -> None:
        self._reading = None
        waiting = self.transport.get_write_buffer_size()
        if waiting >= before:
            self.transport.abort()
        elif waiting:
            self._reading = self.loop.call_later(READ_S, self._look_at_reader, waiting)

    def _give_up(self) -> None:
        self._deadline = None
        self.transport.abort()
