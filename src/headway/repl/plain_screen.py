"""The terminal session without a screen: piped, or on a terminal that cannot be drawn on. A line is a message."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import TYPE_CHECKING, TextIO

from headway.app.advice import explain_result
from headway.cli.terminal_ask import discard_typed
from headway.core.errors import HeadwayError
from headway.core.events import ListDelta
from headway.core.model import EXECUTOR
from headway.core.text import neutralize_lines, sanitize_for_display
from headway.repl.markdown import LineStream
from headway.repl.renderer import Renderer
from headway.repl.transcript import Transcript
from headway.views.terminal import has_unicode, to_visible

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headway.agent import RunResult
    from headway.core.events import Event
    from headway.core.model import Todo
    from headway.repl.conversation import Conversation
    from headway.tools.approvals import Answer, Question


NOTHING_TO_DO = (
    "Headway is a coding agent with a todo list: start it in a terminal, pipe messages to it (one per line), or "
    'run a single task with headway run "Fix the failing test"; headway --help lists all commands.\n'
)


async def run_conversation(work: Conversation, enter: Callable[[], None]) -> int:
    """Take lines until there are none; 1 if the last run failed, 2 if there was no line.

    `enter` is called before the first one is taken.
    """
    screen = PlainScreen(work)
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, screen.interrupt)
    line = None if screen.asks else await screen.first_line()
    if screen.over:
        return screen.code
    if line is None and not screen.asks:
        sys.stderr.write(NOTHING_TO_DO)
        return 2
    enter()
    sys.stderr.write(f"{work.project_line}\n")  # apart from what commands print with --json
    work.begin(screen)
    try:
        if line is not None:
            await screen.submit(line)
        while not screen.over:
            line = await screen.read(screen.prompt)
            if line is None:
                break
            await screen.submit(line.strip())
    finally:
        await work.end()
        screen.drain()
    return screen.code


class _InputLines:
    """Lines of standard input. Waiting for one can be given up, which a thread in `readline` could not."""

    def __init__(self) -> None:
        self._read = b""
        self._over = False

    async def read_line(self) -> str | None:
        while b"\n" not in self._read and not self._over:
            await self._read_more()
        line, found, self._read = self._read.partition(b"\n")
        return line.decode(errors="replace") if line or found else None

    def discard(self) -> None:
        """What was typed before a question was there cannot be meant as its answer."""
        self._read = b""
        discard_typed()

    async def _read_more(self) -> None:
        if sys.stdin is None:
            self._over = True
            return
        loop = asyncio.get_running_loop()
        ready = asyncio.Event()
        descriptor = sys.stdin.fileno()
        try:
            loop.add_reader(descriptor, ready.set)
        except OSError:  # an ordinary file, which never makes anyone wait
            ready.set()
        try:
            await ready.wait()
        finally:
            loop.remove_reader(descriptor)
        data = os.read(descriptor, 65_536)
        self._over = not data
        self._read += data


class PlainScreen:
    def __init__(self, work: Conversation) -> None:
        self._work = work
        self._transcript = Transcript(LineStream())
        stdin: TextIO | None = sys.stdin
        self._interactive = self.asks = stdin is not None and stdin.isatty()
        self._pen = Renderer(ascii=not has_unicode(sys.stdout))
        self._lines = _InputLines()
        self._reading: asyncio.Task[str | None] | None = None
        self._events: list[Event] = []
        self._rows: dict[str, str] = {}
        """id → how the item was printed last."""
        self._changed = False
        """Whether the list changed since the last line was taken."""
        self.over = False
        self.code = 0

    @property
    def prompt(self) -> str:
        if not self._interactive:
            return ""
        return "[PLAN] > " if self._work.session.plan_mode else "> "

    async def first_line(self) -> str | None:
        """Read the first line that is not blank."""
        line = await self.read("")
        while line is not None and not line.strip():
            line = await self.read("")
        return line and line.strip()

    async def read(self, prompt: str) -> str | None:
        if prompt:
            sys.stdout.write(prompt)
            sys.stdout.flush()
        self._reading = asyncio.create_task(self._lines.read_line())
        try:
            return await self._reading
        except asyncio.CancelledError:
            if not self.over:  # not the reading was given up, but whoever reads
                raise
            return None
        finally:
            self._reading.cancel()
            self._reading = None

    def interrupt(self) -> None:
        """Ctrl+C: stops the run; when there is none, leaves."""
        if self._work.is_running:
            self._work.stop()
            return
        self.code, self.over = 130, True
        if self._reading is not None:
            self._reading.cancel()

    async def submit(self, line: str) -> None:
        if not line:
            return
        from headway.repl import slash

        self._changed = False
        self._show_changes(self._work.session.todos, printed=False)

        if line.startswith(slash.SLASHES):
            before = self._work.executions
            text, code = await asyncio.to_thread(slash.run_with_exit_code, line, self._work.chosen)
            self._print(text)
            self.code = 1 if code else self.code
            self.drain(listed=self._work.is_running)
            await self._wait_until_done()
            if self._work.executions > before and self._work.has_failed:
                self.code = 1
            return
        if line == "demo" and await self._work.has_no_model():
            from headway.repl.tour import run_tour

            await asyncio.to_thread(run_tour)
            return
        self.code = 1
        self._work.send(line)
        await self._wait_until_done()

    async def _wait_until_done(self) -> None:
        while self._work.is_running:
            await asyncio.sleep(0.02)
            self.drain()

    def handle(self, event: Event) -> None:
        self._events.append(event)

    def drain(self, *, listed: bool = True) -> None:
        """Prints what was heard, and which items changed if they are to be shown."""
        while self._events:
            event = self._events.pop(0)
            mine = event.agent == self._work.session.agent_id
            if isinstance(event.data, ListDelta) and mine and event.todos is not None:
                self._changed = True
                # What an execution does to the list has lines of its own.
                self._show_changes(event.todos, printed=listed and event.actor != EXECUTOR)
            for piece in self._transcript.handle(event):
                why = f": {to_visible(piece.why)}" if piece.why else ""
                if piece.kind == "markdown":
                    self._write(piece.text)
                else:
                    self._print(f"{piece.mark} {to_visible(piece.text)}{why}" if piece.kind == "line" else piece.text)

    def _show_changes(self, todos: Sequence[Todo], *, printed: bool) -> None:
        from headway.views.box import list_changed_rows, to_row_texts

        rows = to_row_texts(todos, ascii=self._pen.ascii)
        if printed and (changed := list_changed_rows(self._rows, rows)):
            self._print("\n".join(changed))
        self._rows = rows

    def _show_list(self) -> None:
        from headway.views.box import box_lines

        if self._changed:
            self._changed = False
            self._print("\n".join(box_lines(self._work.session.todos, ascii=self._pen.ascii)))

    def _print(self, text: str) -> None:
        if text:
            self._write(text.rstrip("\n"))

    def _write(self, text: str) -> None:
        sys.stdout.write(self._pen.to_plain(neutralize_lines(text)) + "\n")
        sys.stdout.flush()

    def show_notice(self, text: str, mark: str = "!") -> None:
        self._print(f"{mark} {text}" if mark.strip() else f"  {text}")

    def return_unsent(self, texts: list[str]) -> None:
        pass  # a line is read when the one before is done: nothing waits

    def show_sent(self, text: str) -> None:
        pass

    def show_run_end(self, result: RunResult, seconds: float) -> None:
        from headway.views.run_summary import format_end

        self.drain()
        self._show_list()
        self.code = 0 if result.ok else 1
        if error := explain_result(result, "/"):
            self.show_notice(sanitize_for_display(error, 1_000), "❌")
        tokens = result.input_tokens + result.output_tokens
        self._print(format_end(result.reason, result.rounds, seconds, tokens, result.cost))

    def show_execution_end(self, lines: list[str], *, ok: bool) -> None:
        self.drain()
        self._show_list()
        self.code = 0 if ok else 1
        self._print("\n".join(lines))

    def refresh(self) -> None:
        pass

    async def ask(self, question: Question) -> Answer:
        from headway.app.questions import parse_reply, question_text, to_printable
        from headway.tools.approvals import Answer, Reply

        self.drain()
        self._print(question_text(to_printable(question.preview, ascii=self._pen.ascii)))
        self._lines.discard()
        while True:
            offline = "o: yes, without the network, " if question.in_sandbox else ""
            line = await self.read(f"  y: yes, {offline}a: allow {question.allowed_by_always}, n: no, or n REASON > ")
            if line is None:
                return Answer(Reply.NO, "the input ended")
            if answer := parse_reply(line, in_sandbox=question.in_sandbox):
                return answer

    def edit(self, text: str, suffix: str) -> str | None:
        from headway.cli.editor import edit_text

        if not self._interactive:
            raise HeadwayError("An editor needs a terminal.")
        return edit_text(text, suffix)

    def leave(self) -> None:
        self.over = True
