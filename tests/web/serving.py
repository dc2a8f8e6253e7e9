"""A server in a process of its own, asked over plain sockets: what is sent is exactly what a test says."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

WAIT = 30.0
"""Seconds after which something that was waited for does not come any more. Nothing here takes a tenth of it."""
Form = dict[str, Any]
Headers = Mapping[str, str] | list[tuple[str, str]]
JSON = {"Content-Type": "application/json"}
_SERVE = """
import sys
from headway.web.server import serve
serve(sys.argv[1], ready=lambda place: print(place.port, place.token, flush=True))
"""

WRITER = """
import sys, time, headway
session = headway.open(sys.argv[1], sys.argv[2])
for number in range(int(sys.argv[3])):
    match number % 4:
        case 0: session.add(f"Item {number}")
        case 1: session.update("a", notes=f"Note {number}")
        case 2: session.move("a", 1 + number % 3)
        case _: session.set_plan_mode(number % 8 == 3)
    time.sleep(float(sys.argv[4]))
"""
"""Changes a session, named with its folder, so many times, with so many seconds after each."""


def until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + WAIT
    while not holds():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.02)


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Without what the machine's user has set."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("HEADWAY_")}
    home = folder.parent / f"{folder.name}-home"
    home.mkdir(exist_ok=True)
    return own | {"HOME": str(home), "XDG_CONFIG_HOME": str(home / "config")} | more


class Answer(NamedTuple):
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def data(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> Form:
        return self.data["error"]

    @property
    def text(self) -> str:
        return self.body.decode("utf-8")


class Told(NamedTuple):
    """An event of a stream."""

    kind: str
    id: str | None
    data: Any


class Stream:
    """What a page hears of a session."""

    def __init__(self, sock: socket.socket, answer: http.client.HTTPResponse) -> None:
        self._sock = sock
        self._answer = answer

    def next(self) -> Told:
        """The next event of the session; raises `EOFError` when the server has ended."""
        while (told := self._next()).kind == "sessions":
            pass
        return told

    def sessions(self) -> list[Form]:
        """The sessions of the project, when they are told next."""
        while (told := self._next()).kind != "sessions":
            pass
        return told.data

    def _next(self) -> Told:
        fields: dict[str, str] = {}
        while True:
            try:
                line = self._answer.readline()
            except (http.client.IncompleteRead, ConnectionError):
                raise EOFError from None
            if not line:
                raise EOFError
            text = line.decode("utf-8").rstrip("\r\n")
            if text and not text.startswith(":"):
                name, _, value = text.partition(": ")
                assert name not in fields, "an event has each field once"
                fields[name] = value
            elif not text and "data" in fields:
                return Told(fields["event"], fields.get("id"), json.loads(fields["data"]))

    def until(self, version: int) -> list[Told]:
        """All events up to a version."""
        heard = [self.next()]
        while heard[-1].data["version"] < version:
            heard.append(self.next())
        return heard

    def close(self) -> None:
        self._answer.close()
        self._sock.close()


class Server:
    def __init__(self, folder: Path, **environ: str) -> None:
        self.folder = folder
        self._environ = environment(folder, **environ)
        self._errors = folder.parent / f"{folder.name}.err"
        self.start()

    def start(self) -> None:
        with self._errors.open("w", encoding="utf-8") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _SERVE, str(self.folder)],
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=self.folder,
                env=self._environ,
                text=True,
            )
        assert self._process.stdout is not None
        words = self._process.stdout.readline().split()
        assert words, self._errors.read_text(encoding="utf-8")
        self.port, self.token = int(words[0]), words[1]

    def stop(self) -> str:
        """Ends it as Ctrl+C does; what it wrote to standard error."""
        self._process.terminate()
        self._process.communicate(timeout=WAIT)
        return self._errors.read_text(encoding="utf-8")

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def cookie(self) -> str:
        return f"headway-{self.port}={self.token}"

    @property
    def own(self) -> dict[str, str]:
        """The headers of whoever may ask."""
        return {"Host": self.host, "Authorization": f"Bearer {self.token}"}

    # exactly what is said

    def raw(self, request: bytes, method: str = "GET") -> Answer:
        with closing(socket.create_connection(("127.0.0.1", self.port), timeout=WAIT)) as sock:
            sock.sendall(request)
            with closing(http.client.HTTPResponse(sock, method=method)) as answer:
                answer.begin()
                return Answer(answer.status, answer.headers, answer.read())

    def send(self, method: str, path: str, headers: Headers, body: bytes = b"") -> Answer:
        """A request with these headers and no others, but for its length and its end."""
        return self.raw(_request(method, path, headers, body), method)

    # as a page does

    def get(self, path: str) -> Answer:
        return self.send("GET", path, self.own)

    def put(self, path: str, value: object, method: str = "PUT") -> Answer:
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        return self.send(method, path, {**self.own, **JSON}, body)

    def post(self, path: str, value: object) -> Answer:
        return self.put(path, value, "POST")

    def delete(self, path: str) -> Answer:
        return self.send("DELETE", path, {**self.own, **JSON})

    def change(self, name: str, kind: str, **fields: object) -> Answer:
        return self.post(f"{at(name)}/changes", {"kind": kind, **fields})

    def made(self, name: str, kind: str, **fields: object) -> Form:
        answer = self.change(name, kind, **fields)
        assert answer.status == 200, answer.body
        return answer.data

    def run(self, name: str, action: str, **fields: object) -> Answer:
        return self.post(f"{at(name)}/run", {"action": action, **fields})

    def state(self, name: str) -> Form:
        answer = self.get(at(name))
        assert answer.status == 200, answer.body
        return answer.data

    @contextmanager
    def stream(
        self, name: str, after: int | None = None, last: str | None = None, log: str | None = None
    ) -> Generator[Stream]:
        query = urlencode({key: value for key, value in (("after", after), ("log", log)) if value is not None})
        headers = self.own | ({} if last is None else {"Last-Event-ID": last})
        with self._streaming(f"{at(name)}/stream?{query}", headers) as stream:
            yield stream

    @contextmanager
    def stream_of_all(self) -> Generator[Stream]:
        """Of the sessions, without one of them."""
        with self._streaming("/api/stream", self.own) as stream:
            yield stream

    @contextmanager
    def _streaming(self, path: str, headers: Headers) -> Generator[Stream]:
        sock = socket.create_connection(("127.0.0.1", self.port), timeout=WAIT)
        sock.sendall(_request("GET", path, headers))
        answer = http.client.HTTPResponse(sock, method="GET")
        answer.begin()
        stream = Stream(sock, answer)
        try:
            assert answer.status == 200, answer.read()
            assert (answer.getheader("content-type") or "").startswith("text/event-stream")
            yield stream
        finally:
            stream.close()


def at(name: str) -> str:
    return f"/api/sessions/{quote(name, safe='')}"


def _request(method: str, path: str, headers: Headers, body: bytes = b"") -> bytes:
    pairs = [*headers.items()] if isinstance(headers, Mapping) else headers
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in pairs)]
    lines += [f"Content-Length: {len(body)}"] if body else []
    return "\r\n".join([*lines, "Connection: close", "", ""]).encode("utf-8") + body


# what a page knows


def applied(state: Form, told: Form) -> Form:
    """The state of a page after what it is told."""
    if told.get("whole"):
        return {name: value for name, value in told.items() if name not in ("whole", "from")}
    assert told["from"] == state["version"], "a change begins where the one before ended"
    items = {todo["id"]: todo for todo in [*state["todos"], *told.get("items", [])]}
    order = told.get("order", [todo["id"] for todo in state["todos"]])
    names = ("version", "can_undo", "can_redo", "title", "plan", "plan_mode", "run", "questions")
    return {**state, **{name: told[name] for name in names if name in told}, "todos": [items[one] for one in order]}


def item(todo_id: str, *needs: str, **fields: object) -> Form:
    return {"id": todo_id, "content": f"Do {todo_id}", "depends_on": list(needs), **fields}
