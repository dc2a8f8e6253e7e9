"""A session in front of a person: each message becomes a run, one after the other; what is typed meanwhile waits.

Knows what is set for this terminal session and what goes on; how it looks is for the screen, which it tells of changes.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import shlex
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Protocol

from headway.app.advice import explain_error
from headway.app.ask_in_order import AskInOrder
from headway.core.errors import HeadwayError, RunGoesOn, RunRefused
from headway.core.run_events import RunStarted, Usage
from headway.core.text import sanitize_for_display
from headway.project import check_session_name, choose_session_name
from headway.store.leases import this_process
from headway.tools.effects import Mode, parse_mode
from headway.views.terminal import project_line

if TYPE_CHECKING:
    from headway.agent import RunResult
    from headway.cli.options import CommandContext
    from headway.core.events import Event
    from headway.execute.options import ExecutionOptions
    from headway.session import SessionStore
    from headway.settings import LoadedSettings
    from headway.settings.model import Settings
    from headway.tools.approvals import Answer, Approvals, Question
    from headway.web.server import BackgroundServer, ServerPlace

NO_MODEL = (
    "No model is set yet. Everything else works: /help lists the commands.",
    "Set one: /model provider:name (openai:…, anthropic:…, google:…, ollama:…).",
    'Type "demo" for an offline tour.',
)
"""What an error says to type in a shell."""
_MODULES = ("headway.agent", "headway.agent.run", "rich.markdown")
"""What the first message needs, loaded while it is typed."""


class Screen(Protocol):
    """Who shows it."""

    asks: bool
    """Whether somebody is there who can be asked."""

    def handle(self, event: Event) -> None:
        """From any thread."""
        ...

    def show_notice(self, text: str, mark: str = "!") -> None: ...

    def show_sent(self, text: str) -> None:
        """A message is on its way to the model."""
        ...

    def show_run_end(self, result: RunResult, seconds: float) -> None: ...

    def show_execution_end(self, lines: list[str], *, ok: bool) -> None:
        """An execution is over."""
        ...

    def return_unsent(self, texts: list[str]) -> None:
        """Messages that were not sent."""
        ...

    def refresh(self) -> None: ...

    async def ask(self, question: Question) -> Answer: ...

    def edit(self, text: str, suffix: str) -> str | None: ...

    def leave(self) -> None: ...


class Conversation:
    """Also what slash commands know as the place where they were typed (`TerminalSession`)."""

    def __init__(
        self, chosen: CommandContext, store: SessionStore, name: str, *, go_on: bool, mode: str | None, memory: bool
    ) -> None:
        self.chosen = replace(chosen, session=None, live=self, program="/")
        self._store = store
        self._memory = memory
        self._model = chosen.model
        self._mode = mode
        self._mode_told = ""
        """How much the run that goes on was told to ask."""
        self._folder = chosen.folder()
        self._loaded: LoadedSettings | None = None
        self._prepared: asyncio.Task[None] | None = None
        self._run: asyncio.Task[None] | None = None
        self._approvals: Approvals | None = None
        self._screen: Screen | None = None
        self._ask: AskInOrder | None = None
        self._page: BackgroundServer | None = None
        """The page, if it is served here."""
        self._unsubscribe: Callable[[], None] = _nothing
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping = self._failed = False
        self._leaving = False
        self.waiting: list[str] = []
        """Messages that are sent when the run is over."""
        self.executions = 0
        """How often items were to be executed."""
        self.tokens = 0
        """Of the runs of this terminal session."""
        self.session = store.session(name)
        run = self.session.run
        self._had = run.model if run is not None else None
        """The model that the session had last."""
        self._resumed_mode = run.mode if go_on and mode is None and run is not None else ""
        """The mode of the last run, in which the conversation goes on; yolo is for one run."""
        if self._resumed_mode and parse_mode(self._resumed_mode) is not Mode.YOLO:
            self._mode = str(parse_mode(self._resumed_mode))
        self._begins = not go_on
        """Whether the next message begins a new conversation."""
        self._replaced = False
        """Whether another process has begun one since."""

    # for slash commands

    @property
    def model(self) -> str | None:
        """As it was chosen here, else as it is set, else the one that the session had last."""
        return self._model or (self._loaded.settings.model if self._loaded else None) or self._had

    @model.setter
    def model(self, name: str | None) -> None:
        self._model = name

    @property
    def mode(self) -> str:
        """How much is asked now: as a run here has it, for as long as it lasts."""
        return str(self._approvals.mode) if self._approvals is not None else self._session_mode

    @mode.setter
    def mode(self, mode: str) -> None:
        self._mode, self._mode_told = mode, ""
        self._apply_mode()

    @property
    def _session_mode(self) -> str:
        return self._mode or (str(self._loaded.settings.mode) if self._loaded else "default")

    def use_session(self, name: str) -> None:
        """From the thread of a command; done where messages are sent, so that none goes to the wrong session."""
        assert self._loop is not None
        asyncio.run_coroutine_threadsafe(self._switch_session(check_session_name(name)), self._loop).result()

    async def _switch_session(self, name: str) -> None:
        if self.is_running:
            raise HeadwayError("A run is in progress here; stop it with Ctrl+C before you change the session.")
        session = self._store.session(name)
        unsubscribe = session.subscribe(self._handle_event)
        self._unsubscribe()
        self.session, self._unsubscribe = session, unsubscribe
        self.tokens = 0
        self._begins = False
        self.make_current()

    def execute(self, options: ExecutionOptions) -> None:
        """From the thread of a command, which does not wait for it."""
        assert self._loop is not None
        asyncio.run_coroutine_threadsafe(self._start_execution(options), self._loop).result()

    async def _start_execution(self, options: ExecutionOptions) -> None:
        if self.is_running:
            raise HeadwayError("A run is in progress here; wait for it, or stop it with Ctrl+C first.")
        self.executions += 1
        self._run = asyncio.create_task(self._run_work(partial(self._run_execution, options), options.model))
        self._run.add_done_callback(self._on_run_done)

    def edit(self, text: str, suffix: str) -> str | None:
        assert self._screen is not None
        return self._screen.edit(text, suffix)

    @property
    def is_in_memory(self) -> bool:
        """Whether everything goes when the terminal session ends."""
        return self._memory

    def serve(self, port: int | None) -> ServerPlace:
        """From the thread of a command."""
        if self._memory:
            raise HeadwayError("This session exists only in memory, so a page cannot show it; start without --memory.")
        from headway.app.server_places import AlreadyServed
        from headway.web.server import PAGE, BackgroundServer

        if self._page is not None and not self._page.is_alive:
            self._close_page()
        if self._page is None:
            self._page = BackgroundServer(self._folder, port)
        if port not in (None, self._page.place.port):
            raise AlreadyServed(self._page.place, PAGE.what)
        return self._page.place

    def _close_page(self) -> None:
        if self._page is not None:
            self._page.stop()
            self._page = None

    def leave(self) -> None:
        assert self._screen is not None
        self._screen.leave()

    # what goes on

    @property
    def is_running(self) -> bool:
        return self._run is not None

    @property
    def has_failed(self) -> bool:
        """Whether the last run did, or could not begin."""
        return self._failed

    @property
    def is_current(self) -> bool:
        """Whether other commands use this session too."""
        return choose_session_name(self._store, os.environ) == self.session.name

    @property
    def how_to_continue(self) -> str:
        """What resumes the conversation from a shell."""
        named = "" if self.is_current else f" --session {shlex.quote(sanitize_for_display(self.session.name))}"
        return f"headway --continue{named}"

    @property
    def project_line(self) -> str:
        return project_line(self._folder)

    @property
    def is_loaded(self) -> bool:
        return self._loaded is not None

    def begin(self, screen: Screen) -> None:
        """On the event loop, when there is somewhere to show it."""
        self._screen = screen
        self._ask = AskInOrder(screen.ask) if screen.asks else None
        self._loop = asyncio.get_running_loop()
        self._unsubscribe = self.session.subscribe(self._handle_event)
        self._prepared = asyncio.create_task(self._load_ahead())

    def _handle_event(self, event: Event) -> None:
        assert self._screen is not None
        if isinstance(event.data, Usage):
            self.tokens += event.data.input_tokens + event.data.output_tokens
        elif isinstance(event.data, RunStarted) and event.data.new_conversation:
            self._replaced = not event.data.holder.startswith(this_process(""))
        self._screen.handle(event)
        if self._ask is not None:
            self._ask.note_shown(event)

    def make_current(self) -> None:
        with suppress(HeadwayError):
            self._store.set_current(self.session.name)

    async def _load_ahead(self) -> None:
        """Loads what the first message needs, out of the way of what is typed."""
        assert self._screen is not None
        try:
            self._loaded = await asyncio.to_thread(self._load_settings)
        except HeadwayError as error:
            self._screen.show_notice(explain_error(error, "/"), "❌")
            return
        for notice in self._loaded.notices:
            self._screen.show_notice(notice)
        if line := self._explain_resumed_mode():
            self._screen.show_notice(line, " ")
        try:
            if line := await asyncio.to_thread(self._loaded.settings.explain_sandbox):
                self._screen.show_notice(line, " ")
        except HeadwayError as error:
            self._screen.show_notice(explain_error(error, "/"), "❌")
        if self.model is None and self._screen.asks:
            for line in NO_MODEL:
                self._screen.show_notice(line, " ")
        self._screen.refresh()
        await asyncio.to_thread(_load_modules)

    def _explain_resumed_mode(self) -> str:
        if self._resumed_mode in ("", "default"):
            return ""
        if self._mode is not None:
            return f"The mode is that of the last run, {self._mode}; change it with /mode."
        return "" if self.mode == Mode.YOLO else f"The last run was in yolo mode; this one asks as {self.mode} does."

    async def reload(self) -> None:
        """Takes over what was set meanwhile."""
        with suppress(HeadwayError):  # told by whoever needs it
            self._loaded = await asyncio.to_thread(self._load_settings)
        self._apply_mode()

    def _apply_mode(self) -> None:
        """A run that goes on asks as much as is wanted now, if that is something else than before."""
        if self._approvals is not None and self._session_mode != self._mode_told:
            self._mode_told = self._session_mode
            self._approvals.mode = Mode(self._session_mode)

    def _load_settings(self) -> LoadedSettings:
        return self.chosen.settings(mode=self._mode)

    def send(self, text: str) -> None:
        """A message of the person's: sent now, or when the run is over."""
        assert self._screen is not None
        if self.is_running:
            self.waiting.append(text)
            self._screen.refresh()
        else:
            self._screen.show_sent(text)
            self._run = asyncio.create_task(self._run_work(partial(self._run_message, text)))
            self._run.add_done_callback(self._on_run_done)

    def _on_run_done(self, run: asyncio.Task[None]) -> None:
        """What waits has its turn. A run that was given up before it began has told nobody."""
        assert self._screen is not None
        self._run = self._approvals = None
        if run.cancelled():
            self._screen.show_notice("Stopped.")
        elif error := run.exception():
            self._screen.show_notice(
                f"Something went wrong ({type(error).__name__}: {sanitize_for_display(str(error), 200)}).", "❌"
            )
        if self.waiting and self._failed:  # the next would fail as well, or go on from something half done
            given_back, self.waiting = self.waiting, []
            self._screen.return_unsent(given_back)
        elif self.waiting and not self._leaving:
            self.send(self.waiting.pop(0))
        self._screen.refresh()

    async def has_no_model(self) -> bool:
        """When it is known."""
        if self._prepared is not None:
            await asyncio.shield(self._prepared)
        return self._loaded is not None and self.model is None

    async def _run_work(
        self, work: Callable[[Settings, Approvals, str], Awaitable[None]], needed: str | None = None
    ) -> None:
        """Does it with what is set now; with the model that is needed, if that is said, else the one there is."""
        assert self._screen is not None and self._prepared is not None
        self._stopping = self._failed = False
        try:
            await asyncio.shield(self._prepared)
            self._loaded = await asyncio.to_thread(self._load_settings)
            if self.model is None and needed is None:
                self._failed = True
                for line in NO_MODEL:
                    self._screen.show_notice(line, " ")
                return
            settings = self._loaded.settings
            if self._memory:
                limits = settings.limits.model_copy(update={"kept_bytes": 0})
                settings = settings.model_copy(update={"limits": limits})
            self._approvals = settings.make_approvals(self._ask)
            self._approvals.mode = Mode(self._session_mode)
            self._mode_told = self._session_mode
            await work(settings, self._approvals, needed or self.model or "")
        except HeadwayError as error:
            self._failed = True
            self._screen.show_notice(explain_error(error, "/"), "❌")

    async def _run_message(self, text: str, settings: Settings, approvals: Approvals, model: str) -> None:
        from headway.app.runs import run_message

        assert self._screen is not None
        began = time.monotonic()
        begins, self._begins = self._begins, False
        if self._replaced and not begins:
            self._screen.show_notice("Another process started a new conversation here; this message continues it.")
        self._replaced = False
        try:
            result = await run_message(
                self.session, text, settings, approvals, self._folder, model=model, new_conversation=begins
            )
        except HeadwayError as error:  # it could not begin
            self._begins = begins
            if isinstance(error, RunGoesOn):
                how = "wait for it, stop it, or start another session with /session new."
                raise RunRefused(f"{error.what}: {how}") from error
            raise
        self._failed = result.reason == "error"
        self._screen.show_run_end(result, time.monotonic() - began)

    async def _run_execution(
        self, options: ExecutionOptions, settings: Settings, approvals: Approvals, model: str
    ) -> None:
        from headway.app.execution import execute_todos, result_lines

        assert self._screen is not None
        result = await execute_todos(self.session, options, settings, approvals, model, self._folder)
        self._failed = not result.ok
        lines = result_lines(self.session, result, options, "/")
        self._screen.show_execution_end(lines, ok=result.ok)

    def stop(self) -> list[str]:
        """Ends the run; the second time without waiting for it. What was not sent yet is given back."""
        given_back, self.waiting = self.waiting, []
        if self._run is None:
            return given_back
        if not self._stopping:
            self._stopping = True
            with suppress(HeadwayError):
                self.session.stop_run()
                return given_back
        self._run.cancel()
        return given_back

    async def end(self) -> None:
        """Nothing goes on afterwards."""
        self._leaving = True
        for patience in (2, 1):
            if self._run is not None:
                self.stop()  # the second time it is cancelled
                await asyncio.wait({self._run}, timeout=patience)
        await asyncio.to_thread(self._close_page)
        self._unsubscribe()


def _load_modules() -> None:
    for name in _MODULES:
        with suppress(ImportError):
            importlib.import_module(name)


def _nothing() -> None:
    pass
