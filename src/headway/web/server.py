"""Serves the page on this machine alone. Token and port are kept, so that a page finds a server that was restarted."""

from __future__ import annotations

import json
import os
import secrets
import socket
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headway.core.errors import HeadwayError
from headway.project import headway_folder, open_store
from headway.store.folder import make_private_folder

if TYPE_CHECKING:
    from collections.abc import Callable

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
    """A socket that listens, on the port that is wanted, else on the one there was, else on any."""
    before = kept_place(project)
    token = before.token if before else secrets.token_urlsafe(32)
    wanted = [port] if port is not None else [*([before.port] if before else []), 0]
    for one in wanted:
        bound = _bound(one)
        if bound is not None:
            place = Place(bound.getsockname()[1], token)
            keep(project, place)
            return bound, place
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


def serve(project: str, port: int | None = None, *, ready: Callable[[Place], None] = lambda place: None) -> None:
    """Serves until it is stopped."""
    import uvicorn

    from headway.web.app import web_app

    bound, place = listening(project, port)
    app = web_app(open_store(project), project, place.token, place.port)
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        ws="none",
        lifespan="on",
        timeout_graceful_shutdown=2,
    )
    server = uvicorn.Server(config)
    ready(place)
    with suppress(KeyboardInterrupt):
        server.run(sockets=[bound])
