"""A server in a process of its own, asked over plain sockets: what is sent is exactly what a test says."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
from collections.abc import Generator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, urlencode

from tests.support import processes, warm
from tests.support.processes import WAIT, Form, Pipe, Process, Started

from headway.web.security import sign

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from headway.web.app import Site

Headers = Mapping[str, str] | list[tuple[str, str]]
JSON = {"Content-Type": "application/json"}

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


def environment(folder: Path, **more: str) -> dict[str, str]:
    """The environment of a person who has set nothing, at home beside the folder."""
    home = folder.parent / f"{folder.name}-home"
    return processes.environment(HOME=str(home), XDG_CONFIG_HOME=str(home / "config"), **more)


def program(folder: Path, name: str, *words: str, **environ: str) -> warm.Order:
    """`headway` or `TodoWrite` as in a shell in the folder."""
    env = environment(folder, **environ)
    return warm.Order(kind=warm.PROGRAM, name=name, words=[*words], folder=str(folder), env=env)


def writer(folder: Path, name: str, number: int, pause: float = 0) -> Started:
    """A process that makes that many changes of several kinds, one after the other."""
    return Started(processes.python(WRITER, folder, name, number, pause, env=environment(folder)))


_KEEP = """if (location.origin === "http://%s" && !sessionStorage.getItem("headway.tab")) {
  const [name, secret] = "%s".split(".");
  sessionStorage.setItem("headway.tab", JSON.stringify({ name, secret }));
}"""


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


def serve(folder: str) -> None:
    """What a server does, in its process."""
    from headway.web.server import serve

    serve(folder, ready=lambda place: print(place.port, place.token, flush=True))


def serve_files_to_keep(folder: str) -> None:
    """As `serve`, but a browser may keep what comes with the page: to load it takes longer than most tests."""
    from headway.web.app import Site

    send = Site.static

    async def send_to_keep(self: Site, request: Request) -> Response:
        answer = await send(self, request)
        answer.headers["cache-control"] = "private, max-age=3600"
        return answer

    Site.static = send_to_keep
    serve(folder)


def serve_impatiently(folder: str) -> None:
    """As `serve`, but requests must arrive at once."""
    from headway.web import connections

    connections.PATIENCE = 0.3
    serve(folder)


class Server:
    def __init__(self, folder: Path, function: str = "serve", **environ: str) -> None:
        """`function`: what its process does, one of those above."""
        self.folder = folder
        self._environ = environment(folder, **environ)
        self._errors = folder.parent / f"{folder.name}.err"
        self._function = f"tests.web.serving:{function}"
        self.cookie = ""
        """What a browser has since a tab of it was let in."""
        self.start()

    def start(self) -> None:
        order = processes.function(self._function, self.folder, folder=self.folder, env=self._environ)
        self._out = Pipe()
        with self._errors.open("wb") as errors, open(os.devnull, "rb") as nothing:
            self._process = Process((nothing.fileno(), self._out.other, errors.fileno()), order)
        os.close(self._out.other)
        self._process.keep()
        self._is_stopped = False
        try:
            port, self.token = self._out.line().split()
        except AssertionError:
            raise AssertionError(self._errors.read_text(encoding="utf-8")) from None
        self.port = int(port)

    def stop(self) -> str:
        """Ends it as Ctrl+C does, if it goes on; what it wrote to standard error."""
        if not self._is_stopped:
            with suppress(ProcessLookupError):
                self._process.signal(signal.SIGTERM)
            self._process.wait()
            self._out.close()
            self._is_stopped = True
        return self._errors.read_text(encoding="utf-8")

    @property
    def pid(self) -> int:
        return self._process.id

    @property
    def is_alive(self) -> bool:
        return not self._process.has_ended

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def let_in(self) -> str:
        """What a new tab gets in its address: its name and its secret."""
        first = self.send("GET", f"/?token={self.token}", {"Host": self.host})
        self.cookie = first.headers["set-cookie"].partition(";")[0]
        return first.headers["location"].removeprefix("/#tab=")

    def tab_script(self) -> str:
        """What every tab of a browser executes first, so that it has been let in."""
        return _KEEP % (self.host, self.let_in())

    def tab_key(self, tab: str) -> str:
        """What the tab makes of that for this start of the server."""
        name, _, secret = tab.partition(".")
        proof = self.send("GET", f"/api/entry?tab={name}&nonce={'n' * 16}", {"Host": self.host}).data
        assert proof["proof"] == sign(secret, "server", str(self.port), "n" * 16, proof["start"])
        return f"{name}.{sign(secret, 'key', proof['start'])}"

    def as_page(self) -> dict[str, str]:
        """The headers of a new tab."""
        key = self.tab_key(self.let_in())
        return {"Host": self.host, "Cookie": self.cookie, "Authorization": f"Tab {key}"}

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
