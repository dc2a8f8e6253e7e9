"""The server's routes: the page, the API under `/api`, and one stream per session. Everything goes through the core.

Errors come back as `{"error": {"message", …}}`: 400 for what is not understood, 404 for what is not there, 409 for what
goes against the state, 422 for what breaks the rules, 503 while the store is busy.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from importlib import resources
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError
from sse_starlette.sse import EventSourceResponse
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from headway.core.clock import now
from headway.core.errors import (
    ClaimRefused,
    HeadwayError,
    InvalidPlan,
    InvalidTodos,
    NoPlan,
    NoRun,
    NothingToUndo,
    NotRunnable,
    RunRefused,
    SessionNotFound,
    StoreBusy,
    StoreError,
    TodoNotFound,
)
from headway.core.json_text import BadJson, read_json
from headway.core.log import Log
from headway.core.rules import DuplicateKeys
from headway.core.session import Session
from headway.core.text import shown, some
from headway.project import session_name
from headway.tools.violations import violations
from headway.web.changes import CHANGE, made
from headway.web.hub import Gone, Hub
from headway.web.runs import ANSWER, WANTED, GivenAnswer, Runs
from headway.web.security import Guard
from headway.web.wire import event_record, session_record, state_record

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable

    from starlette.requests import Request
    from starlette.types import ASGIApp

    from headway.core.store import Store

MAX_BODY = 2_000_000
MOST_EVENTS = 1_000
PING = 15
_TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_STATUS: tuple[tuple[type[HeadwayError], int], ...] = (
    (InvalidTodos, 422),
    (InvalidPlan, 422),
    (TodoNotFound, 404),
    (SessionNotFound, 404),
    (NoRun, 409),
    (NoPlan, 409),
    (NothingToUndo, 409),
    (RunRefused, 409),
    (NotRunnable, 409),
    (ClaimRefused, 409),
    (StoreBusy, 503),
    (StoreError, 503),
)


class BadRequest(HeadwayError):
    pass


class Site:
    """One project, served."""

    def __init__(self, store: Store, project: str) -> None:
        self._store = store
        self._hub = Hub(store)
        self._runs = Runs(project)
        self._files = {
            entry.name: entry.read_bytes()
            for entry in resources.files("headway.web").joinpath("static").iterdir()
            if entry.is_file()
        }

    def routes(self) -> list[Route]:
        session = "/api/sessions/{name}"
        return [
            Route("/", self.page),
            Route("/static/{file}", self.static),
            Route("/api/sessions", answered(self.sessions)),
            Route(session, answered(self.state)),
            Route(f"{session}/events", answered(self.events)),
            Route(f"{session}/stream", answered(self.stream)),
            Route(f"{session}/changes", answered(self.change), methods=["POST"]),
            Route(f"{session}/plan", answered(self.plan), methods=["PUT", "DELETE"]),
            Route(f"{session}/run", answered(self.run), methods=["POST"]),
            Route(f"{session}/answers", answered(self.answer), methods=["POST"]),
            Route(f"{session}/current", answered(self.make_current), methods=["POST"]),
            Route(f"{session}/report", answered(self.report)),
        ]

    # the page

    async def page(self, request: Request) -> Response:
        return self._file("index.html")

    async def static(self, request: Request) -> Response:
        return self._file(request.path_params["file"])

    def _file(self, name: str) -> Response:
        """By its name among those that came with Headway: no path is ever opened."""
        content = self._files.get(name)
        kind = _TYPES.get(name.rpartition(".")[2])
        if content is None or kind is None:
            raise HTTPException(404)
        return Response(content, media_type=kind)

    # reading

    async def sessions(self, request: Request) -> Response:
        return JSONResponse(await asyncio.to_thread(self._sessions))

    def _sessions(self) -> list[dict[str, Any]]:
        current = self._store.current()
        return [
            session_record(info, self._named(info.name).state, current=info.name == current)
            for info in self._store.sessions()
        ]

    def _named(self, name: str) -> Session:
        return Session(Log(self._store, name))

    def _session(self, request: Request) -> Session:
        """The session that is asked for, which must be there."""
        name = session_name(request.path_params["name"])
        if not self._store.version(name):
            raise SessionNotFound(f"There is no session '{shown(name)}' in this project.")
        return self._named(name)

    async def state(self, request: Request) -> Response:
        session = await asyncio.to_thread(self._session, request)
        return JSONResponse(await asyncio.to_thread(lambda: state_record(session, session.state)))

    async def events(self, request: Request) -> Response:
        session = await asyncio.to_thread(self._session, request)
        after, limit = _number(request, "after", 0), _number(request, "limit", 200)
        events = await asyncio.to_thread(self._store.events, session.name, after, min(limit, MOST_EVENTS))
        return JSONResponse([event_record(event, session.name) for event in events])

    async def stream(self, request: Request) -> Response:
        session = await asyncio.to_thread(self._session, request)
        said = request.headers.get("last-event-id") or request.query_params.get("after") or "0"
        after = int(said) if said.isascii() and said.isdecimal() and len(said) < 16 else 0
        channel = await asyncio.to_thread(self._hub.channel, session.name)
        return EventSourceResponse(self._told(channel.follow(after)), ping=PING)

    async def _told(self, changes: AsyncIterator[Any]) -> AsyncIterator[dict[str, str]]:
        try:
            async for change in changes:
                yield {"event": "change", "id": str(change.version), "data": change.text}
        except Gone:
            yield {"event": "gone", "data": "{}"}

    async def report(self, request: Request) -> Response:
        session = await asyncio.to_thread(self._session, request)
        kind = request.query_params.get("format", "html")
        if kind not in ("html", "json", "md"):
            raise BadRequest("A report is html, json or md.")
        from headway.cli.report import report_text

        text = await asyncio.to_thread(report_text, session, kind, now())
        types = {"html": "text/html", "json": "application/json", "md": "text/markdown"}
        # The report has its style within it; it needs nothing else.
        policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'"
        headers = {"content-security-policy": policy}
        return Response(text, media_type=types[kind], headers=headers)

    # changing

    async def change(self, request: Request) -> Response:
        change = await _read(request, CHANGE)
        name = session_name(request.path_params["name"])
        session = self._named(name)
        if change.kind != "add":  # the first item begins a session
            session = await asyncio.to_thread(self._session, request)
        answer = await asyncio.to_thread(made, session, change)
        return JSONResponse({"version": session.version, **answer})

    async def plan(self, request: Request) -> Response:
        session = await asyncio.to_thread(self._session, request)
        if request.method == "DELETE":
            await asyncio.to_thread(session.clear_plan)
        else:
            plan = await _json(request)
            await asyncio.to_thread(session.set_plan, plan)
        return JSONResponse({"version": session.version})

    async def run(self, request: Request) -> Response:
        wanted = await _read(request, WANTED)
        session = await asyncio.to_thread(self._session, request)
        return JSONResponse(await self._runs.want(session, wanted))

    async def answer(self, request: Request) -> Response:
        given: GivenAnswer = await _read(request, ANSWER)
        session = await asyncio.to_thread(self._session, request)
        asked = session.agent(given.agent)
        answer = await asyncio.to_thread(asked.answer, given.question_id, given.reply, given.reason)
        return JSONResponse({"reply": answer.reply, "reason": answer.reason})

    async def make_current(self, request: Request) -> Response:
        session = await asyncio.to_thread(self._session, request)
        await asyncio.to_thread(self._store.set_current, session.name)
        return JSONResponse({})

    @asynccontextmanager
    async def lifespan(self, app: object) -> AsyncGenerator[None]:
        yield
        await self._runs.end()


def answered(handler: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
    """With an error as data."""

    async def answer(request: Request) -> Response:
        try:
            return await handler(request)
        except HeadwayError as error:
            return JSONResponse({"error": _error(error)}, _status(error))

    return answer


def _status(error: HeadwayError) -> int:
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 400)


def _error(error: HeadwayError) -> dict[str, Any]:
    record: dict[str, Any] = {"kind": type(error).__name__, "message": str(error)}
    if isinstance(error, InvalidTodos | InvalidPlan):
        record["violations"] = list(error.violations)
    return record


async def _json(request: Request) -> Any:
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MAX_BODY:
            raise BadRequest(f"The request is longer than {MAX_BODY:,} bytes; send less at once.")
    try:
        return read_json(bytes(body).decode("utf-8"))
    except (BadJson, UnicodeDecodeError) as error:
        raise BadRequest(f"The request is no valid JSON ({shown(str(error), 200)}); send one JSON object.") from None


async def _read(request: Request, kind: TypeAdapter[Any]) -> Any:
    value = await _json(request)
    if isinstance(value, DuplicateKeys) and value.repeated:
        raise BadRequest(f"These fields are there twice: {some(value.repeated)}; send each once.")
    try:
        return kind.validate_python(value)
    except ValidationError as error:
        lines = "\n".join(f"- {line}" for line in violations(error, value))
        raise BadRequest(f"The request was not understood; correct this and send it again:\n{lines}") from None


def _number(request: Request, name: str, default: int) -> int:
    text = request.query_params.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) < 16):
        raise BadRequest(f"`{name}` is a whole number, not '{shown(text)}'.")
    return int(text)


async def _http_error(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    words = {404: "There is nothing here.", 405: "That cannot be done here."}
    return JSONResponse({"error": {"kind": "HTTP", "message": words.get(status, "That did not work.")}}, status)


def web_app(store: Store, project: str, token: str, port: int) -> ASGIApp:
    site = Site(store, project)
    app = Starlette(routes=site.routes(), lifespan=site.lifespan, exception_handlers={HTTPException: _http_error})
    return Guard(app, token, port)
