"""Serves the page on this machine alone. Token and port are kept, so that a page finds a server that was restarted."""

from __future__ import annotations

import json
import socket
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from threading import Thread
from typing import TYPE_CHECKING

from headway.app.server_places import HOST, PAGE, ServerPlace
from headway.app.server_places import AlreadyServed as AlreadyServed
from headway.project import open_store

if TYPE_CHECKING:
    from collections.abc import Callable

    import uvicorn


def make_ticket_link(place: ServerPlace) -> str:
    """A link for a browser that is started: others see what it is started with, so it holds for once only."""
    headers = {"authorization": f"Bearer {place.token}", "content-type": "application/json"}
    connection = HTTPConnection(HOST, place.port, timeout=5)
    try:
        connection.request("POST", "/api/tickets", headers=headers)
        return f"{place.address}/?ticket={json.loads(connection.getresponse().read())['ticket']}"
    except (OSError, HTTPException, ValueError, LookupError):
        return place.address
    finally:
        connection.close()


def _make_server(project: str, port: int | None) -> tuple[uvicorn.Server, socket.socket, ServerPlace]:
    import uvicorn

    from headway.web.app import make_web_app
    from headway.web.connections import Connection

    bound, place = PAGE.listen(project, port)
    app, end_streams = make_web_app(open_store(project), project, place.token, place.port)

    class Server(uvicorn.Server):
        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            end_streams()
            await super().shutdown(sockets)

    config = uvicorn.Config(
        app,
        http=Connection,
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        ws="none",
        lifespan="on",
        timeout_graceful_shutdown=2,
    )
    return Server(config), bound, place


def serve(project: str, port: int | None = None, *, ready: Callable[[ServerPlace], None] = lambda place: None) -> None:
    """Serves until it is stopped. Raises `AlreadyServed` if another process does."""
    with PAGE.lock(project):
        server, bound, place = _make_server(project, port)
        ready(place)
        with suppress(KeyboardInterrupt):
            server.run(sockets=[bound])


class BackgroundServer:
    """The page, served beside something else in the same process."""

    def __init__(self, project: str, port: int | None = None) -> None:
        self._only = PAGE.lock(project)
        try:
            self._server, self._bound, self.place = _make_server(project, port)
        except BaseException:
            self._only.close()
            raise
        self._thread = Thread(target=self._server.run, args=([self._bound],), name="headway web", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """What was started from the page ends, and can be resumed."""
        self._server.should_exit = True
        self._thread.join(10)
        self._only.close()

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()
