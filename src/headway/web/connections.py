"""Connections to the server. uvicorn waits for ever for the rest of a request; here a request must arrive in time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio

PATIENCE = 15.0
"""Seconds in which a request must arrive whole, from when its connection was opened or its first byte came."""
_INCOMPLETE = (h11.IDLE, h11.SEND_BODY)


class Connection(H11Protocol):
    """Closed when a request on it is not complete in time, however slowly its bytes keep coming."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self._wait_for_request()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state in _INCOMPLETE:
            self._wait_for_request()
        else:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait_for_request(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(PATIENCE, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
