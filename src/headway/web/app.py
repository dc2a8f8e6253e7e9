"""The server's routes: the page, the API under `/api`, and the streams. Everything goes through the core."""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager, suppress
from importlib import resources
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import unquote

from sse_starlette.sse import EventSourceResponse
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from headway.core.clock import now
from headway.core.errors import HeadwayError, QuestionNotKept, SessionNotFound
from headway.core.rules import is_object
from headway.core.text import sanitize_for_display
from headway.project import check_session_name
from headway.session import Session
from headway.views.pictures.drawing import STYLE as PICTURE_STYLE
from headway.web.board import SessionBoard
from headway.web.changes import CHANGE, apply_change
from headway.web.hub import Hub, SessionGone
from headway.web.item_events import item_events
from headway.web.merged_streams import merge_streams
from headway.web.pictures import Timelines, TimelineView, graph_record
from headway.web.requests import BadRequest, answer_errors, answer_http_error, read_body, read_number, read_valid
from headway.web.runs import ANSWER, WANTED, GivenAnswer, PageRuns
from headway.web.security import Guard, Tickets
from headway.web.wire import to_event_record, to_state_record, whole_question

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable

    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send

    from headway.session import SessionStore

MOST_EVENTS = 1_000
MOST_STEPS = 1_000
LONGEST_DIFF = 1_000_000
"""Characters of an item's diff that are sent."""
PING = 4
"""Seconds between signs of life in a stream; the page takes a server that gives none for hung."""
_TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
StreamItem = dict[str, str]


class Site:
    """One project, served."""

    def __init__(self, store: SessionStore, project: str, tickets: Tickets) -> None:
        self._store = store
        self._project = project
        self._hub = Hub(store)
        self._board = SessionBoard(store)
        self._runs = PageRuns(project)
        self._tickets = tickets
        self._timelines = Timelines(store)
        self._ending = asyncio.Event()
        self._files = {
            entry.name: entry.read_bytes()
            for entry in resources.files("headway.web").joinpath("static").iterdir()
            if entry.is_file()
        }
        self._files["pictures.css"] = PICTURE_STYLE.encode()

    def routes(self) -> list[Route]:
        session = "/api/sessions/{name}"
        return [
            Route("/", self.page),
            Route("/static/{file}", self.static),
            Route("/api/project", answer_errors(self.about)),
            Route("/api/stream", answer_errors(self.board)),
            Route("/api/tickets", answer_errors(self.ticket), methods=["POST"]),
            Route("/api/sessions", answer_errors(self.sessions)),
            Route(session, answer_errors(self.state)),
            Route(f"{session}/events", answer_errors(self.events)),
            Route(f"{session}/stream", answer_errors(self.stream)),
            Route(f"{session}/changes", answer_errors(self.change), methods=["POST"]),
            Route(f"{session}/plan", answer_errors(self.plan), methods=["PUT", "DELETE"]),
            Route(f"{session}/run", answer_errors(self.run), methods=["POST"]),
            Route(f"{session}/answers", answer_errors(self.answer), methods=["POST"]),
            Route(f"{session}/questions/{{id}}", answer_errors(self.question)),
            Route(f"{session}/current", answer_errors(self.make_current), methods=["POST"]),
            Route(f"{session}/todos/{{id}}/diff", answer_errors(self.diff)),
            Route(f"{session}/report", answer_errors(self.report)),
            Route(f"{session}/graph", answer_errors(self.graph)),
            Route(f"{session}/timeline", answer_errors(self.timeline)),
        ]

    # the page

    async def page(self, request: Request) -> Response:
        return self._serve_file("index.html")

    async def static(self, request: Request) -> Response:
        return self._serve_file(request.path_params["file"])

    def _serve_file(self, name: str) -> Response:
        """By its name among those that came with Headway: no path is ever opened."""
        content = self._files.get(name)
        kind = _TYPES.get(name.rpartition(".")[2])
        if content is None or kind is None:
            raise HTTPException(404)
        return Response(content, media_type=kind)

    # reading

    async def about(self, request: Request) -> Response:
        """What is set for the project, for whoever starts a run here."""
        settings = await asyncio.to_thread(self._runs.settings_for)
        name = os.path.basename(os.path.abspath(self._project))
        record = {"name": name, "model": settings.model, "mode": str(settings.mode), "parallel": settings.parallel}
        with suppress(HeadwayError):  # said by the run that cannot begin
            record["sandbox"] = await asyncio.to_thread(settings.commands_sandbox) is not None
        return JSONResponse(record)

    async def ticket(self, request: Request) -> Response:
        """For a browser that is to be opened on the page."""
        return JSONResponse({"ticket": self._tickets.issue()})

    async def sessions(self, request: Request) -> Response:
        return JSONResponse(await asyncio.to_thread(self._board.list_records))

    def _open_session(self, name: str) -> Session:
        return self._store.session(name)

    def _require_session(self, request: Request) -> Session:
        """The session that is asked for, which must be there."""
        name = _session_name(request)
        if not self._store.version(name):
            raise SessionNotFound(f"There is no session '{sanitize_for_display(name)}' in this project.")
        return self._open_session(name)

    async def state(self, request: Request) -> Response:
        session = await asyncio.to_thread(self._require_session, request)
        return JSONResponse(await asyncio.to_thread(to_state_record, session))

    async def events(self, request: Request) -> Response:
        session = await asyncio.to_thread(self._require_session, request)
        after, limit = read_number(request, "after", 0), min(read_number(request, "limit", 200), MOST_EVENTS)
        whole = request.query_params.get("whole") == "1"
        item = request.query_params.get("item")

        def read() -> Response:
            if item is None:
                events = self._store.events(session.name, after, limit)
            else:
                events = item_events(session, item, after, limit)
            return JSONResponse([to_event_record(event, session.name, whole=whole) for event in events])

        return await asyncio.to_thread(read)

    async def question(self, request: Request) -> Response:
        """An open question with all that would run, however long it is."""
        session = await asyncio.to_thread(self._require_session, request)
        question_id = unquote(request.path_params["id"])
        record = await asyncio.to_thread(whole_question, session, question_id)
        # One that was answered a moment ago is no fault of who asks for it.
        return JSONResponse(record or {"question_id": question_id, "exact": False})

    async def diff(self, request: Request) -> Response:
        """What an item changed in the project's files."""
        from headway.execute import diff_todo

        session = await asyncio.to_thread(self._require_session, request)
        todo_id = unquote(request.path_params["id"])
        text = await asyncio.to_thread(lambda: diff_todo(session, todo_id, project=self._project))
        return JSONResponse({"diff": text[:LONGEST_DIFF], "cut": len(text) > LONGEST_DIFF})

    # telling

    async def board(self, request: Request) -> Response:
        return self._make_stream(self._stream_sessions())

    async def stream(self, request: Request) -> Response:
        session = await asyncio.to_thread(self._require_session, request)
        said = request.headers.get("last-event-id") or request.query_params.get("after") or "0"
        after = int(said) if said.isascii() and said.isdecimal() and len(said) < 16 else 0
        channel = await asyncio.to_thread(self._hub.channel, session.name)
        changes = self._stream_changes(channel.follow(after, request.query_params.get("log")))
        return self._make_stream(changes, self._stream_sessions())

    def _make_stream(self, *streams: AsyncGenerator[StreamItem]) -> Response:
        return EventSourceResponse(merge_streams(*streams, self._wait_for_end()), ping=PING, shutdown_grace_period=2)

    async def _wait_for_end(self) -> AsyncGenerator[StreamItem]:
        """Nothing, as long as the server goes on."""
        await self._ending.wait()
        for nothing in ():
            yield nothing

    def end_streams(self) -> None:
        """Pages connect again when there is a server again."""
        self._ending.set()

    async def _stream_changes(self, changes: AsyncIterator[Any]) -> AsyncGenerator[StreamItem]:
        try:
            async for change in changes:
                yield {"event": "change", "id": str(change.version), "data": change.text}
        except SessionGone:
            yield {"event": "gone", "data": "{}"}

    async def _stream_sessions(self) -> AsyncGenerator[StreamItem]:
        async for text in self._board.follow():
            yield {"event": "sessions", "data": text}

    async def report(self, request: Request) -> Response:
        session = await asyncio.to_thread(self._require_session, request)
        kind = request.query_params.get("format", "html")
        if kind not in ("html", "json", "md"):
            raise BadRequest("The format of a report must be html, json or md.")
        from headway.app.reports import render_report

        text = await asyncio.to_thread(render_report, session, kind, now())
        types = {"html": "text/html", "json": "application/json", "md": "text/markdown"}
        # The report has its style within it; it needs nothing else.
        policy = (
            "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'; "
            "base-uri 'none'; form-action 'none'"
        )
        headers = {"content-security-policy": policy}
        return Response(text, media_type=types[kind], headers=headers)

    async def graph(self, request: Request) -> Response:
        session = await asyncio.to_thread(self._require_session, request)
        return JSONResponse(await asyncio.to_thread(graph_record, session, request.query_params.get("item")))

    async def timeline(self, request: Request) -> Response:
        session = await asyncio.to_thread(self._require_session, request)
        view = TimelineView(
            read_number(request, "width", 960),
            read_number(request, "names", 112),
            request.query_params.get("zone"),
            request.query_params.get("item"),
        )
        return JSONResponse(await asyncio.to_thread(self._timelines.record, session, view))

    # changing

    async def change(self, request: Request) -> Response:
        change = await read_valid(request, CHANGE)
        session = self._open_session(_session_name(request))
        if change.kind not in ("add", "begin"):  # the first item begins a session
            session = await asyncio.to_thread(self._require_session, request)
        answer = await asyncio.to_thread(apply_change, session, change)
        if change.kind == "begin":  # as every new session is, wherever it is begun
            await asyncio.to_thread(self._store.set_current, session.name)
        return JSONResponse({"version": session.version, **answer})

    async def plan(self, request: Request) -> Response:
        session = await asyncio.to_thread(self._require_session, request)
        if request.method == "DELETE":
            await asyncio.to_thread(session.clear_plan)
        else:
            plan = await read_body(request)
            steps = cast("list[object] | None", plan.get("steps")) if is_object(plan) else None
            if isinstance(steps, list) and len(steps) > MOST_STEPS:
                raise BadRequest(f"A plan sent from the page can have at most {MOST_STEPS:,} steps.")
            await asyncio.to_thread(session.set_plan, plan)
        return JSONResponse({"version": session.version})

    async def run(self, request: Request) -> Response:
        wanted = await read_valid(request, WANTED)
        session = await asyncio.to_thread(self._require_session, request)
        return JSONResponse(await self._runs.handle_request(session, wanted))

    async def answer(self, request: Request) -> Response:
        given: GivenAnswer = await read_valid(request, ANSWER)
        session = await asyncio.to_thread(self._require_session, request)
        return JSONResponse(await asyncio.to_thread(_record_answer, session, given))

    async def make_current(self, request: Request) -> Response:
        session = await asyncio.to_thread(self._require_session, request)
        await asyncio.to_thread(self._store.set_current, session.name)
        return JSONResponse({})

    @asynccontextmanager
    async def lifespan(self, app: object) -> AsyncGenerator[None]:
        loading = asyncio.create_task(asyncio.to_thread(self._runs.load_modules))
        yield
        await self._runs.end()
        await asyncio.wait([loading])
        await asyncio.to_thread(self._store.close)


def _record_answer(session: Session, given: GivenAnswer) -> dict[str, str]:
    """Record an answer; what cannot be shown here cannot be allowed here, whoever asked."""
    question = whole_question(session, given.question_id) if given.reply != "no" else None
    if question is not None and not question["exact"]:
        raise QuestionNotKept
    answer = session.agent(given.agent).answer(given.question_id, given.reply, given.reason)
    return {"reply": answer.reply, "reason": answer.reason}


def _session_name(request: Request) -> str:
    return check_session_name(unquote(request.path_params["name"]))


def make_web_app(store: SessionStore, project: str, token: str, port: int) -> tuple[ASGIApp, Callable[[], None]]:
    """The server's application, and what ends its streams."""
    tickets = Tickets()
    site = Site(store, project, tickets)
    app = Starlette(routes=site.routes(), lifespan=site.lifespan, exception_handlers={HTTPException: answer_http_error})

    async def as_it_came(scope: Scope, receive: Receive, send: Send) -> None:
        """A slash in a session's name is encoded in an address, and must not become one between two parts of it."""
        if scope["type"] == "http":
            scope = {**scope, "path": scope["raw_path"].decode("ascii", "replace")}
        await app(scope, receive, send)

    return Guard(as_it_came, token, tickets, port), site.end_streams
