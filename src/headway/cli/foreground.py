"""Work in front of a person, or of a program: what happens is shown as it does, and Ctrl+C ends it in order."""

from __future__ import annotations

import asyncio
import importlib
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Generic, TypeVar

import click

from headway.cli.options import print_json
from headway.core.codec import to_event_dict
from headway.core.errors import HeadwayError
from headway.core.model import MAIN_AGENT
from headway.core.run_events import RunStarted

if TYPE_CHECKING:
    from headway.cli.live import LiveBox
    from headway.cli.run_view import RunView
    from headway.core.events import Event
    from headway.session import Session
    from headway.tools.approvals import Ask

T = TypeVar("T")
INTERRUPTED = 130
_PATIENCE = 3_600.0
"""Seconds that a reader of the output gets for what it has not read at the end."""


class ForegroundRun(Generic[T]):
    def __init__(self, session: Session, *, heard: Callable[[Event], None] = lambda event: None) -> None:
        """`heard` is told of every event, before it is shown."""
        self._session = session
        self._heard = heard
        self._interrupted = False
        self.asks = False
        """Whether somebody could be asked."""
        self._unprinted: OSError | None = None
        """Why nothing more can be printed."""
        self._main: asyncio.Future[T] | None = None

    def run(
        self, work: Callable[[Ask | None], Awaitable[T]], view: Callable[[LiveBox], RunView] | None
    ) -> tuple[T | None, int]:
        """What came of the work, and 0; or nothing, and the exit code. Without a view, events are printed as JSON."""
        signal.signal(signal.SIGTERM, _interrupt)
        try:
            result = self._run_printing_events(work) if view is None else self._run_with_view(work, view)
        except (asyncio.CancelledError, KeyboardInterrupt):
            return None, self._exit_code_of_output_error() or INTERRUPTED
        code = self._exit_code_of_output_error()
        return (None, code) if code else (result, 0)

    def _exit_code_of_output_error(self) -> int:
        """1, if the output could not be written for another reason than that nobody reads it; else 0."""
        if self._unprinted is None or isinstance(self._unprinted, BrokenPipeError):
            return 0
        click.echo(f"Error: the answer could not be printed ({self._unprinted.strerror}).", err=True)
        return 1

    def _run_printing_events(self, work: Callable[[Ask | None], Awaitable[T]]) -> T:
        """For programs: one event per line."""

        def tell(event: Event) -> None:
            print_json(to_event_dict(event, self._session.name), indent=None)
            sys.stdout.flush()

        return asyncio.run(self._run_until_stopped(work, tell, None))

    def _run_with_view(self, work: Callable[[Ask | None], Awaitable[T]], view_of: Callable[[LiveBox], RunView]) -> T:
        from headway.app.ask_in_order import AskInOrder
        from headway.cli.live import LiveBox
        from headway.cli.terminal_ask import TerminalQuestioner

        with LiveBox(silent=True) as box:
            view = view_of(box)
            ask = AskInOrder(TerminalQuestioner(view)) if sys.stdin.isatty() and sys.stdout.isatty() else None
            self.asks = ask is not None

            todos = self._session.todos  # as they are before it begins, however late its events come

            def tell(event: Event) -> None:
                if isinstance(event.data, RunStarted) and event.agent == self._session.agent_id and todos:
                    box.show_quietly(todos)
                view.handle(event)
                if ask is not None:
                    ask.note_shown(event)

            try:
                return asyncio.run(self._run_until_stopped(work, tell, ask))
            finally:
                view.close()

    async def _run_until_stopped(
        self, work: Callable[[Ask | None], Awaitable[T]], tell: Callable[[Event], None], ask: Ask | None
    ) -> T:
        run = self._session.run
        has_begun = run is None or not run.is_active

        def handle_event(event: Event) -> None:
            nonlocal has_begun
            has_begun = has_begun or isinstance(event.data, RunStarted)
            if not has_begun:  # of another run, which keeps this one away
                return
            self._heard(event)
            try:
                tell(event)
            except OSError as error:  # nobody reads any more, or there is no room for it
                if self._unprinted is None:
                    self._unprinted = error
                    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
                    self._stop()

        with _defer_signals():
            importlib.import_module("headway.agent.run")
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._stop)
        # Of all agents: what works for this one has names of its own.
        unsubscribe = self._session.agent(MAIN_AGENT).subscribe(handle_event, to_the_end=_PATIENCE)
        self._main = asyncio.ensure_future(work(ask))
        try:
            return await self._main
        finally:
            await asyncio.to_thread(unsubscribe)

    def _stop(self) -> None:
        """The first time it asks the run to end; the second time it does not wait."""
        if not self._interrupted:
            self._interrupted = True
            with suppress(HeadwayError):
                self._session.stop_run()
                return
        if self._main is not None:
            self._main.get_loop().call_soon_threadsafe(self._main.cancel)


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


@contextmanager
def _defer_signals() -> Generator[None]:
    """Hold signals back until the import is done, then raise KeyboardInterrupt.

    In the middle of an import, the exception can get lost, or leave one of Python's import locks taken for ever.
    """
    came: list[int] = []

    def note(number: int, frame: object) -> None:
        came.append(number)

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if came:
        raise KeyboardInterrupt
