"""Runs that are started from the page: they go on in the server, with the settings of the project."""

from __future__ import annotations

import asyncio
import importlib
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from headway.core.errors import HeadwayError, NoRun, RunRefused
from headway.core.execution_events import ExecutionStarted
from headway.core.logs import logger
from headway.core.model import MAIN_AGENT
from headway.tools.effects import Mode, parse_mode

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping

    from headway.core.runs import Run
    from headway.session import Session
    from headway.settings.model import Settings
    from headway.tools.approvals import Answer, Question


_EVENTS_AT_ONCE = 1_000
_GOES_ON = "A run is already in progress in this session; wait until it ends, or stop it first."


class _RunRequest(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Message(_RunRequest):
    """A message to the agent; without a text, the conversation goes on where it was, in the mode of its last run."""

    action: Literal["message"]
    text: str | None = None
    mode: Mode | None = Field(default=None, strict=False)
    model: str | None = None


class Execute(_RunRequest):
    """All items that can run, or one."""

    action: Literal["execute"]
    only: str | None = None
    mode: Mode | None = Field(default=None, strict=False)
    model: str | None = None
    parallel: int | None = Field(default=None, ge=1, le=64)
    retries: int = Field(default=1, ge=0, le=100)
    keep_going: bool = False
    in_place: bool = False
    require_evidence: bool = False


class Continue(_RunRequest):
    """The last run, where it ended: as it was wanted, in its own mode."""

    action: Literal["continue"]


class Control(_RunRequest):
    action: Literal["stop", "pause", "resume"]


class Rollback(_RunRequest):
    action: Literal["rollback"]
    id: str
    with_later: bool = False


class GivenAnswer(_RunRequest):
    """To a question of a run, by whichever agent."""

    question_id: str
    reply: Literal["once", "always", "offline", "no"]
    reason: str = ""
    agent: str = MAIN_AGENT


ANSWER: TypeAdapter[GivenAnswer] = TypeAdapter(GivenAnswer)
AnyWanted = Annotated[Message | Execute | Continue | Control | Rollback, Field(discriminator="action")]
WANTED: TypeAdapter[AnyWanted] = TypeAdapter(AnyWanted)


class PageRuns:
    """What goes on in this server."""

    def __init__(self, project: str) -> None:
        self._project = project
        self._tasks: dict[str, asyncio.Task[object]] = {}
        self._starting: set[str] = set()

    async def handle_request(self, session: Session, wanted: AnyWanted) -> dict[str, Any]:
        """Does it, or begins it. Raises `HeadwayError`s."""
        match wanted:
            case Control():
                control = {"stop": session.stop_run, "pause": session.pause_run, "resume": session.resume_run}
                await asyncio.to_thread(control[wanted.action])
                return {}
            case Rollback():
                from headway.execute import roll_back

                done = await asyncio.to_thread(
                    lambda: roll_back(session, wanted.id, with_later=wanted.with_later, project=self._project)
                )
                names = ("files", "removed", "with_later", "left", "dependents")
                return {name: list(getattr(done, name)) for name in names}
            case _:
                return await self._start(session, wanted)

    async def _start(self, session: Session, wanted: Message | Execute | Continue) -> dict[str, Any]:
        if session.name in self._starting:
            raise RunRefused(_GOES_ON)
        self._starting.add(session.name)
        try:
            await self._wait_for_end(session)
            return await self._start_run(session, await asyncio.to_thread(_to_begin, session, wanted))
        finally:
            self._starting.discard(session.name)

    async def _wait_for_end(self, session: Session) -> None:
        """Waits for what is left of a run that is over for everyone who watches it."""
        running = self._tasks.get(session.name)
        if running is None or running.done():
            return
        run = await asyncio.to_thread(lambda: session.run)
        if run is not None and not run.is_active:
            await asyncio.wait([running], timeout=10)
        if not running.done():
            raise RunRefused(_GOES_ON)

    async def _start_run(self, session: Session, wanted: Message | Execute) -> dict[str, Any]:
        settings = await asyncio.to_thread(self.settings_for, {"mode": wanted.mode, "model": wanted.model})
        if settings.model is None:
            raise HeadwayError("No model is set; set one with: headway model provider:name")
        if (
            wanted.model
            and wanted.model.startswith("scripted:")
            and wanted.model != (await self._load_settings()).model
        ):
            raise HeadwayError("A script is a file on this machine; name it in the settings, not in a request.")
        before = await asyncio.to_thread(lambda: session.run)
        work = self._run_message(session, wanted, settings) if isinstance(wanted, Message) else None
        task = asyncio.create_task(work or self._run_execution(session, wanted, settings))
        self._tasks[session.name] = task
        task.add_done_callback(partial(self._on_run_done, session.name))

        def has_begun() -> bool:
            run = session.run
            is_new = before is None or run is None or run.id != before.id
            return run is not None and is_new and run.id in session.log.own_runs

        while not task.done() and not await asyncio.to_thread(has_begun):
            await asyncio.sleep(0.02)
        if task.done():
            task.result()  # raises what kept it from beginning
        return {"started": True}

    def _on_run_done(self, name: str, task: asyncio.Task[object]) -> None:
        if self._tasks.get(name) is task:
            del self._tasks[name]
        if not task.cancelled() and (error := task.exception()) and not isinstance(error, HeadwayError):
            logger().error("A run started from the page failed:", exc_info=error)

    @staticmethod
    def load_modules() -> None:
        """What the first run needs, before somebody waits for it."""
        for name in ("headway.settings", "headway.agent.run", "headway.execute.api", "headway.app.execution"):
            importlib.import_module(name)

    async def _load_settings(self) -> Settings:
        return await asyncio.to_thread(self.settings_for)

    def settings_for(self, wanted: Mapping[str, object] = {}) -> Settings:
        """Return those of the project, with what is wanted instead."""
        from headway.settings import load_settings
        from headway.settings.keys import check_value

        for name, value in wanted.items():  # first, since nobody gave flags here
            if value is not None:
                check_value(name, value)
        return load_settings(self._project, wanted).settings

    def _run_message(self, session: Session, wanted: Message, settings: Settings) -> Coroutine[Any, Any, object]:
        from headway.app.runs import run_message

        return run_message(session, wanted.text, settings, settings.make_approvals(_wait_for_page), self._project)

    async def _run_execution(self, session: Session, wanted: Any, settings: Settings) -> object:
        from headway.app.execution import execute_todos
        from headway.execute.options import ExecutionOptions

        options = ExecutionOptions(
            wanted.only,
            str(wanted.mode) if wanted.mode else None,
            wanted.parallel,
            wanted.retries,
            wanted.keep_going,
            wanted.require_evidence,
            wanted.in_place,
        )
        approvals = settings.make_approvals(_wait_for_page)
        return await execute_todos(session, options, settings, approvals, settings.model or "", self._project)

    async def end(self) -> None:
        """Nothing goes on afterwards; what was under way can be resumed."""
        running = [task for task in self._tasks.values() if not task.done()]
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running, timeout=5)


def _to_begin(session: Session, wanted: Message | Execute | Continue) -> Message | Execute:
    """What is wanted, with what the log says of it where it goes on."""
    match wanted:
        case Continue():
            run = session.run
            if run is None:
                raise NoRun("There is no run to continue in this session.")
            if run.execution is not None:
                return _same_execution(session, run)
            return Message(action="message", mode=parse_mode(run.mode))
        case Message(text=None, mode=None) if (run := session.run) is not None:
            return wanted.model_copy(update={"mode": parse_mode(run.mode)})
        case _:
            return wanted


def _same_execution(session: Session, run: Run) -> Execute:
    last = session.version
    while last > 0:
        first = max(last - _EVENTS_AT_ONCE, 0)
        for event in reversed(session.store.events(session.name, first, last - first)):
            if isinstance(event.data, ExecutionStarted) and event.agent == MAIN_AGENT:
                begun = event.data
                return Execute(
                    action="execute",
                    only=begun.only,
                    mode=parse_mode(run.mode),
                    parallel=begun.parallel,
                    retries=begun.retries,
                    keep_going=begun.keep_going,
                    in_place=begun.in_place,
                    require_evidence=bool(begun.require_evidence),
                )
        last = first
    raise NoRun("The log does not say what this run executed; start it anew.")


async def _wait_for_page(question: Question) -> Answer:
    """The question is in the log, where the page finds it; so is the answer."""
    return await asyncio.get_running_loop().create_future()
