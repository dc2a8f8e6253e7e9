"""Serves the page on this machine alone. Token and port are kept, so that a page finds a server that was restarted."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import socket
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from http.client import HTTPConnection, HTTPException
from threading import Thread
from typing import IO, TYPE_CHECKING

from headway.core.errors import HeadwayError
from headway.core.text import sanitize_for_display
from headway.project import headway_folder, open_store
from headway.store.folder import make_private_folder
from headway.store.foreign_files import explain_foreign
from headway.store.ordinary_files import open_ordinary
from headway.user_records import project_record_file, read_record, write_record

if TYPE_CHECKING:
    from collections.abc import Callable

    import uvicorn

FILE = "web.json"
LOCK = "web.lock"
HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class ServerPlace:
    port: int
    token: str

    @property
    def address(self) -> str:
        return f"http://{HOST}:{self.port}"

    @property
    def link(self) -> str:
        return f"{self.address}/?token={self.token}"


class AlreadyServed(HeadwayError):
    """Another process serves this project's page."""

    def __init__(self, place: ServerPlace) -> None:
        super().__init__(
            f"The page of this project is already being served at {place.address}; stop that server first."
        )
        self.place = place


def lock_server(project: str) -> IO[str]:
    """Held open as long as this process serves the page. Raises `AlreadyServed` if another one does."""
    folder = headway_folder(project)
    make_private_folder(folder)
    held = os.fdopen(open_ordinary(os.path.join(folder, LOCK), os.O_RDWR | os.O_CREAT), "r+", encoding="utf-8")
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        held.close()
        if place := read_place(project):
            raise AlreadyServed(place) from None
        raise HeadwayError("Another process is already serving the page of this project.") from None
    return held


def read_place(project: str) -> ServerPlace | None:
    """Where the project's page was last served; None where someone else may know the token or have chosen it."""
    path = os.path.join(headway_folder(project), FILE)
    if explain_foreign(path) is not None:
        return None
    try:
        with os.fdopen(open_ordinary(path, os.O_RDONLY), encoding="utf-8") as file:
            if os.fstat(file.fileno()).st_mode & 0o077:
                return None
            kept = json.load(file)
        port, token = kept["port"], kept["token"]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None
    if type(port) is int and 0 < port < 65_536 and isinstance(token, str) and len(token) >= 32 and token.isascii():
        place = ServerPlace(port, token)
        return place if read_record(_record_file(project)) == _to_record(project, place) else None
    return None


def _record_file(project: str) -> str | None:
    return project_record_file("pages", project)


def _to_record(project: str, place: ServerPlace) -> dict[str, str]:
    """Return what shows that the token was made here: a file that came with the project has no such record."""
    return {"project": os.path.realpath(project), "digest": sha256(place.token.encode()).hexdigest()}


def save_place(project: str, place: ServerPlace) -> None:
    folder = headway_folder(project)
    make_private_folder(folder)
    path = os.path.join(folder, FILE)
    draft = f"{path}.{os.getpid()}"
    try:
        with suppress(FileNotFoundError):
            os.unlink(draft)
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            json.dump({"port": place.port, "token": place.token}, file)
        os.replace(draft, path)
        with suppress(OSError):  # without a home folder, each start has a token of its own
            write_record(_record_file(project), _to_record(project, place))
    except OSError as error:
        raise HeadwayError(
            f"'{sanitize_for_display(path, 300)}' could not be written ({error.strerror}); move it out of the way."
        ) from error


def listen(project: str, port: int | None) -> tuple[socket.socket, ServerPlace]:
    """A socket that listens, on the port that is wanted, else on the one there was, else on any.

    Where someone else has the port there was, open pages have shown them their key: it is changed.
    """
    before = read_place(project)
    wanted = [port] if port is not None else [*([before.port] if before else []), 0]
    is_same = before is not None
    for one in wanted:
        bound = _bind(one)
        if bound is not None:
            token = before.token if before and is_same else secrets.token_urlsafe(32)
            place = ServerPlace(bound.getsockname()[1], token)
            save_place(project, place)
            return bound, place
        is_same = is_same and before is not None and one != before.port
    raise HeadwayError(f"Port {port} is already in use; choose another one with --port, or omit --port.")


def _bind(port: int) -> socket.socket | None:
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((HOST, port))
        found.listen(128)
    except OSError:
        found.close()
        return None
    return found


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

    bound, place = listen(project, port)
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
    with lock_server(project):
        server, bound, place = _make_server(project, port)
        ready(place)
        with suppress(KeyboardInterrupt):
            server.run(sockets=[bound])


class BackgroundServer:
    """The page, served beside something else in the same process."""

    def __init__(self, project: str, port: int | None = None) -> None:
        self._only = lock_server(project)
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
