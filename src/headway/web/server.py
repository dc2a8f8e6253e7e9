"""Serves the page on this machine alone. Token and port are kept, so that a page finds a server that was restarted."""

from __future__ import annotations

import json
import os
import secrets
import socket
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from threading import Thread
from typing import TYPE_CHECKING, Any

from headway.core.errors import HeadwayError
from headway.project import headway_folder, open_store
from headway.store.folder import make_private_folder

if TYPE_CHECKING:
    from collections.abc import Callable

    import uvicorn

FILE = "web.json"
HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Place:
    port: int
    token: str

    @property
    def address(self) -> str:
        return f"http://{HOST}:{self.port}"

    @property
    def link(self) -> str:
        return f"{self.address}/?token={self.token}"


class Served(HeadwayError):
    """Another process serves this project's page."""

    def __init__(self, place: Place) -> None:
        super().__init__(f"The page of this project is served already, on {place.address}.")
        self.place = place


def kept_place(project: str) -> Place | None:
    """Where the project's page was last served."""
    try:
        with open(os.path.join(headway_folder(project), FILE), encoding="utf-8") as file:
            if os.fstat(file.fileno()).st_mode & 0o077:
                return None  # others may have read it
            kept = json.load(file)
        port, token = kept["port"], kept["token"]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None
    if type(port) is int and 0 < port < 65_536 and isinstance(token, str) and len(token) >= 32 and token.isascii():
        return Place(port, token)
    return None


def keep(project: str, place: Place) -> None:
    folder = headway_folder(project)
    make_private_folder(folder)
    path = os.path.join(folder, FILE)
    draft = f"{path}.{os.getpid()}"
    with suppress(FileNotFoundError):
        os.unlink(draft)
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        json.dump({"port": place.port, "token": place.token}, file)
    os.replace(draft, path)


def listening(project: str, port: int | None) -> tuple[socket.socket, Place]:
    """A socket that listens, on the port that is wanted, else on the one there was, else on any. Raises `Served`."""
    before = kept_place(project)
    token = before.token if before else secrets.token_urlsafe(32)
    wanted = [port] if port is not None else [*([before.port] if before else []), 0]
    for one in wanted:
        bound = _bound(one)
        if bound is not None:
            place = Place(bound.getsockname()[1], token)
            keep(project, place)
            return bound, place
        if before is not None and one == before.port and asked(before, "GET", "/api/project") is not None:
            raise Served(before)
    raise HeadwayError(f"Port {port} is taken; choose another one with --port, or leave it out.")


def _bound(port: int) -> socket.socket | None:
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((HOST, port))
        found.listen(128)
    except OSError:
        found.close()
        return None
    return found


def asked(place: Place, method: str, path: str) -> dict[str, Any] | None:
    """What the server there answers; None if it is not ours, or there is none."""
    headers = {"authorization": f"Bearer {place.token}", "content-type": "application/json"}
    connection = HTTPConnection(HOST, place.port, timeout=5)
    try:
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return json.loads(answer.read()) if answer.status == 200 else None
    except (OSError, HTTPException, ValueError):
        return None
    finally:
        connection.close()


def link_to_open(place: Place) -> str:
    """A link for a browser that is started: others see what it is started with, so it holds for once only."""
    given = asked(place, "POST", "/api/tickets")
    return f"{place.address}/?ticket={given['ticket']}" if given else place.address


def _server(project: str, port: int | None) -> tuple[uvicorn.Server, socket.socket, Place]:
    import uvicorn

    from headway.web.app import web_app

    bound, place = listening(project, port)
    config = uvicorn.Config(
        web_app(open_store(project), project, place.token, place.port),
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        ws="none",
        lifespan="on",
        timeout_graceful_shutdown=2,
    )
    return uvicorn.Server(config), bound, place


def serve(project: str, port: int | None = None, *, ready: Callable[[Place], None] = lambda place: None) -> None:
    """Serves until it is stopped. Raises `Served` if another process does."""
    server, bound, place = _server(project, port)
    ready(place)
    with suppress(KeyboardInterrupt):
        server.run(sockets=[bound])


class Background:
    """The page, served beside something else in the same process."""

    def __init__(self, project: str, port: int | None = None) -> None:
        self._server, self._bound, self.place = _server(project, port)
        self._thread = Thread(target=self._server.run, args=([self._bound],), name="headway web", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """What was started from the page ends, and can be resumed."""
        self._server.should_exit = True
        self._thread.join(10)
