"""Where a server of the project listens and which token it asks for: kept, so that clients find one that was restarted.

One kind of server has one place in a project: the page, the MCP server over HTTP.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import socket
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import IO

from headway.core.errors import HeadwayError
from headway.core.text import sanitize_for_display
from headway.project import headway_folder
from headway.store.folder import make_private_folder
from headway.store.foreign_files import explain_foreign
from headway.store.ordinary_files import open_ordinary
from headway.user_records import project_record_file, read_record, write_record

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
    """Another process serves this for the project."""

    code = "already_served"

    def __init__(self, place: ServerPlace, what: str) -> None:
        super().__init__(
            f"The {what} of this project is already being served at {place.address}; stop that server first."
        )
        self.place = place


@dataclass(frozen=True, slots=True)
class ServerKind:
    """What is served, and under which name its place is kept."""

    name: str
    what: str
    records: str
    """The folder of the records that show which tokens were made here."""

    def lock(self, project: str) -> IO[str]:
        """Held open as long as this process serves it. Raises `AlreadyServed` if another one does."""
        folder = headway_folder(project)
        make_private_folder(folder)
        path = os.path.join(folder, f"{self.name}.lock")
        held = os.fdopen(open_ordinary(path, os.O_RDWR | os.O_CREAT), "r+", encoding="utf-8")
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            held.close()
            if place := self.read_place(project):
                raise AlreadyServed(place, self.what) from None
            raise HeadwayError(f"Another process is already serving the {self.what} of this project.") from None
        return held

    def _file(self, project: str) -> str:
        return os.path.join(headway_folder(project), f"{self.name}.json")

    def _record_file(self, project: str) -> str | None:
        return project_record_file(self.records, project)

    def read_place(self, project: str) -> ServerPlace | None:
        """Where it was last served; None where someone else may know the token or have chosen it."""
        path = self._file(project)
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
            return place if read_record(self._record_file(project)) == _to_record(project, place) else None
        return None

    def save_place(self, project: str, place: ServerPlace) -> None:
        make_private_folder(headway_folder(project))
        path = self._file(project)
        draft = f"{path}.{os.getpid()}"
        try:
            with suppress(FileNotFoundError):
                os.unlink(draft)
            with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
                json.dump({"port": place.port, "token": place.token}, file)
            os.replace(draft, path)
            with suppress(OSError):  # without a home folder, each start has a token of its own
                write_record(self._record_file(project), _to_record(project, place))
        except OSError as error:
            raise HeadwayError(
                f"'{sanitize_for_display(path, 300)}' could not be written ({error.strerror}); move it out of the way."
            ) from error

    def listen(self, project: str, port: int | None) -> tuple[socket.socket, ServerPlace]:
        """A socket that listens, on the port that is wanted, else on the one there was, else on any.

        Where someone else has the port there was, clients have shown them their key: it is changed.
        """
        before = self.read_place(project)
        wanted = [port] if port is not None else [*([before.port] if before else []), 0]
        is_same = before is not None
        for one in wanted:
            bound = _bind(one)
            if bound is not None:
                token = before.token if before and is_same else secrets.token_urlsafe(32)
                place = ServerPlace(bound.getsockname()[1], token)
                self.save_place(project, place)
                return bound, place
            is_same = is_same and before is not None and one != before.port
        raise HeadwayError(f"Port {port} is already in use; choose another one.").with_advice("choose_port")


PAGE = ServerKind("web", "page", "pages")
MCP_SERVER = ServerKind("mcp", "MCP server", "mcp-servers")


def _to_record(project: str, place: ServerPlace) -> dict[str, str]:
    """Return what shows that the token was made here: a file that came with the project has no such record."""
    return {"project": os.path.realpath(project), "digest": sha256(place.token.encode()).hexdigest()}


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
