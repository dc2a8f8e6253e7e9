"""The terminal session on a screen: what was said scrolls away above, the list and the input stay below.

prompt_toolkit has the lower part and the keys; what is printed for good is written above it in one go with its
redrawing, so that nothing flickers. Nothing here decides anything: messages go to `Work`, commands to `slash`.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections import deque
from typing import TYPE_CHECKING

from prompt_toolkit.application import Application, run_in_terminal
from prompt_toolkit.application.current import get_app_session
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.output.vt100 import Vt100_Output

from headway.core.events import TODO_LIST_UPDATED
from headway.core.run_events import ToolFinished
from headway.core.text import shown
from headway.repl.completer import SlashCompleter
from headway.repl.drawing import Pen
from headway.repl.keys import bindings
from headway.repl.layout import layout
from headway.repl.transcript import Piece, Transcript

if TYPE_CHECKING:
    from headway.agent import RunResult
    from headway.core.events import Event
    from headway.core.model import Todo
    from headway.core.session import Session
    from headway.repl.work import Work
    from headway.tools.approvals import Answer, Question

_LOOK_EVERY = 0.25
"""Seconds between looks at what others changed."""
_TAIL = 500
"""Lines that are written again when the size of the terminal changes."""


class _Output(Vt100_Output):
    """Nothing reaches the terminal while it is held: a line above and the lower part come in one go."""

    held = False

    @property
    def responds_to_cpr(self) -> bool:
        return False  # the lower part is as high as what is in it, wherever it stands

    def flush(self) -> None:
        if not self.held:
            super().flush()


class TerminalScreen:
    asks = True

    def __init__(self, work: Work, pen: Pen, history: str | None) -> None:
        self.work = work
        self.pen = pen
        self.transcript = Transcript()
        self.todos: list[Todo] = []
        self.planning = False
        self.box_hidden = False
        self.question: Question | None = None
        self._answer: asyncio.Future[Answer] | None = None
        self._draft = ""
        """What was being typed when a question came."""
        self._events: deque[Event] = deque()
        self._tail: deque[str] = deque(maxlen=_TAIL)
        self._spoke = False
        """Whether the model spoke last: what it says next is another paragraph."""
        self._suspended = False
        self._unprinted: list[str] = []
        self._commands: set[asyncio.Task[None]] = set()
        self._leaving = False
        self._loop = asyncio.get_running_loop()
        kept: History = FileHistory(history) if history else InMemoryHistory()
        self.input = Buffer(
            multiline=True, history=kept, completer=SlashCompleter(work.chosen), complete_while_typing=True
        )
        output = _Output.from_pty(sys.stdout)
        assert isinstance(output, _Output)
        self.output = output
        self._size = self.output.get_size()
        self.app: Application[None] = Application(
            layout=layout(self),
            key_bindings=bindings(self),
            output=self.output,
            input=get_app_session().input,
            erase_when_done=True,
            color_depth=None if pen.colour else ColorDepth.DEPTH_1_BIT,
            before_render=self._before_render,
            after_render=self._after_render,
        )

    async def run(self) -> None:
        self._look()
        self.work.begin(self)
        looking = asyncio.create_task(self._look_again())
        try:
            await self.app.run_async(pre_run=self._begun, handle_sigint=False)
        finally:
            looking.cancel()
            await self.work.end()
            self._drain()
            self.output.held = False
            for text in self._unprinted:
                self.output.write_raw(text)
            self.output.flush()

    def _begun(self) -> None:
        self._loop.call_soon(self._write)

    def greet(self, session: Session | None) -> None:
        """Says hello; in a session that goes on, what was said last."""
        if session is None:
            self._say("Headway. Say what is to be done; /help lists the commands, Ctrl+P plans first.", "dim")
            return
        from headway.repl.main import last_words

        asked, answered = last_words(session)
        self._say(f"Going on in {shown(session.name)}.", "dim")
        if asked:
            self._say(f"> {shown(asked, 500)}", "bold")
        if answered:
            self._print(self.pen.markdown(answered[-4_000:], self._size.columns) + "\n")

    # what happens

    def heard(self, event: Event) -> None:
        """Events come in threads of their own, often many at once."""
        self._events.append(event)
        if len(self._events) == 1:
            self._loop.call_soon_threadsafe(self._drain)

    def _drain(self) -> None:
        pieces: list[Piece] = []
        listed = False
        while self._events:
            event = self._events.popleft()
            pieces += self.transcript.heard(event)
            listed = listed or event.type == TODO_LIST_UPDATED
            if isinstance(event.data, ToolFinished) and event.data.tool == "create_plan" and event.data.ok:
                self._print(self._pieces(pieces))
                pieces = []
                self._show_plan()
        self._print(self._pieces(pieces))
        if listed:
            self.todos = self.work.session.todos
        self.planning = self.work.session.plan_mode
        self.app.invalidate()

    def _look(self) -> None:
        state = self.work.session.state
        self.todos = [*state.list_of(self.work.session.agent_id).items.values()]
        self.planning = state.plan_mode

    async def _look_again(self) -> None:
        """Others change the list too; and what goes on is shown with how long it has."""
        seen = self.work.session.version
        while True:
            await asyncio.sleep(_LOOK_EVERY)
            version = self.work.session.version
            if version != seen or self.work.is_running:
                seen = version
                self._look()
                self.app.invalidate()

    def _show_plan(self) -> None:
        plan = self.work.session.plan
        if plan is not None:
            from headway.views.plan import plan_lines

            self._say("\n".join(plan_lines(plan)))
            self.tell("/plan to-todos makes the list of it, /plan edit changes it, /plan off ends plan mode.", " ")

    def changed(self) -> None:
        self._look()
        self.app.invalidate()

    def tell(self, text: str, mark: str = "!") -> None:
        self._say(f"{mark} {text}".rstrip() if mark.strip() else f"  {text}", "yellow" if mark == "!" else "")

    def ended(self, result: RunResult, seconds: float) -> None:
        from headway.views.run_summary import end_line

        mark = "❌" if result.reason == "error" else "✓" if result.ok else "!"
        said = end_line(result.reason, result.rounds, seconds, result.input_tokens + result.output_tokens, result.cost)
        self._drain()
        if result.error:
            self.tell(shown(result.error, 1_000), "❌")
        self._print(self.pen.line(mark, said, "", self._size.columns) + "\n")
        if result.reason == "max_rounds":
            self.tell("Type go on to let it continue.", " ")

    # printing

    def _say(self, text: str, style: str = "") -> None:
        self._spoke = False
        self._print(self.pen.styled(text, style, self._size.columns) + "\n")

    def _pieces(self, pieces: list[Piece]) -> str:
        width, drawn = self._size.columns, ""
        for piece in pieces:
            if piece.kind == "markdown":
                between = "\n" if self._spoke else ""
                drawn += f"{between}{self.pen.markdown(piece.text, width)}\n"
            else:
                drawn += f"{self.pen.line(piece.mark, piece.text, piece.why, width - 1)}\n"
            self._spoke = piece.kind == "markdown"
        return drawn

    def _print(self, text: str) -> None:
        """Writes above the lower part. `text` is drawn, and ends in a line break."""
        if not text:
            return
        self._tail.extend(text.split("\n")[:-1])
        self._unprinted.append(text.replace("\n", "\r\n"))
        self._write()

    def _write(self) -> None:
        if self._suspended or not self.app.is_running or not self._unprinted:
            return
        self.output.held = True
        self.app.renderer.erase()
        for text in self._unprinted:
            self.output.write_raw(text)
        self._unprinted = []
        self.app.invalidate()

    def _before_render(self, app: Application[None]) -> None:
        size = self.output.get_size()
        if size == self._size:
            return
        self._size = size
        # Lines of the old width have moved: what was said last is written anew.
        self.output.held = True
        self.output.erase_screen()
        self.output.cursor_goto(0, 0)
        for line in [*self._tail][-max(size.rows - 2, 1) :]:
            self.output.write_raw(f"{line}\r\n")
        app.renderer.reset()

    def _after_render(self, app: Application[None]) -> None:
        self.output.held = False
        self.output.flush()

    # what the person does

    @property
    def size(self) -> tuple[int, int]:
        """(columns, rows)."""
        return self._size.columns, self._size.rows

    def entered(self, text: str) -> None:
        if self._answer is not None:
            self._answered(text)
            return
        from headway.repl.slash import SLASHES

        words = text.strip()
        if not words:
            return
        if words.startswith(SLASHES):
            self.sent(words)
            self._spawn(self._commanded(words))
        elif words == "demo" and self.work.is_loaded and self.work.model is None:
            self._spawn(self._demo())
        else:
            self.work.send(words)

    def sent(self, text: str) -> None:
        prompt = "[PLAN] > " if self.planning else "> "
        self._say(f"{prompt}{text}", "bold")

    def _spawn(self, work: object) -> None:
        assert asyncio.iscoroutine(work)
        task = asyncio.create_task(work)
        self._commands.add(task)
        task.add_done_callback(self._over)

    def _over(self, task: asyncio.Task[None]) -> None:
        self._commands.discard(task)
        if not task.cancelled() and (error := task.exception()):
            self.tell(f"That went wrong ({type(error).__name__}: {shown(str(error), 200)}).", "❌")
        self._leave_if_wanted()

    def _leave_if_wanted(self) -> None:
        if self._leaving and not self._commands and self.app.is_running and not self.app.is_done:
            self.app.exit()

    async def _commanded(self, line: str) -> None:
        from headway.repl import slash

        said = await asyncio.to_thread(slash.run, line, self.work.chosen)
        if said.strip():
            self._say(said.rstrip("\n"))
        await self.work.reload()
        self.changed()

    async def _demo(self) -> None:
        import subprocess

        await self._apart(lambda: subprocess.run([sys.executable, "-m", "headway", "demo"], check=False))

    async def _apart(self, work: object) -> None:
        assert callable(work)
        self._suspended = True
        try:
            await run_in_terminal(work, in_executor=True)
        finally:
            self._suspended = False
            self._write()

    def edit(self, text: str, suffix: str) -> str | None:
        """Called in the thread of a command."""
        from headway.cli.editor import edited

        result: list[str | None] = []
        asyncio.run_coroutine_threadsafe(self._apart(lambda: result.append(edited(text, suffix))), self._loop).result()
        return result[0] if result else None

    def leave(self) -> None:
        self._leaving = True
        self._loop.call_soon_threadsafe(self._leave_if_wanted)

    def stop(self) -> None:
        given_back = self.work.stop()
        if given_back:
            self.input.text = "\n".join([*given_back, self.input.text]).strip()
            self.input.cursor_position = len(self.input.text)
        self.app.invalidate()

    def show_output(self) -> None:
        """What the last call answered, in full."""
        if not self.transcript.calls:
            self.tell("No call has answered yet.", " ")
            return
        what, call = self.transcript.calls.pop()
        self.transcript.calls.appendleft((what, call))
        self._print(self.pen.line("●", what, "", self._size.columns - 1) + "\n")
        diff = getattr(call, "diff", None)
        self._print((self.pen.diff(diff, self._size.columns) if diff else self._indented(call.text)) + "\n")

    def _indented(self, text: str) -> str:
        return self.pen.styled("\n".join(f"    {line}" for line in text.splitlines()), "dim", self._size.columns)

    def toggle_plan(self) -> None:
        session = self.work.session
        session.set_plan_mode(not session.plan_mode)
        if not session.plan_mode and session.plan is not None:
            self.tell("There is a plan: /plan to-todos makes the list of it, /plan show shows it.", " ")
        self.changed()

    def toggle_box(self) -> None:
        self.box_hidden = not self.box_hidden
        self.app.invalidate()

    # questions

    async def ask(self, question: Question) -> Answer:
        self._drain()
        self.question = question
        self._answer = self._loop.create_future()
        self._draft = self.input.text
        self.input.reset()
        preview, width = question.preview, self._size.columns
        self._print(self.pen.line("?", preview.line, "", width - 1) + "\n")
        if preview.command and preview.command not in preview.line:
            self._print(self._indented(preview.command) + "\n")
        if preview.diff:
            self._print(self.pen.diff(preview.diff, width) + "\n")
        self.app.invalidate()
        try:
            return await self._answer
        finally:
            self.question = self._answer = None
            self.input.text = self._draft
            self.input.cursor_position = len(self._draft)
            self.app.invalidate()

    def _answered(self, text: str) -> None:
        from headway.cli.terminal_ask import understood

        assert self._answer is not None and self.question is not None
        answer = understood(text)
        if answer is None:
            self.tell("Answer with y (yes), a (always in this run) or n (no; a reason may follow).", " ")
        elif not self._answer.done():
            said = {"once": "yes", "always": f"always ({self.question.tool})"}.get(answer.reply)
            if said:
                self._print(self.pen.line("✓", said, "", self._size.columns - 1) + "\n")
            self._answer.set_result(answer)

    def elapsed(self, since: float) -> str:
        seconds = int(time.monotonic() - since)
        return f" {seconds} s" if seconds else ""
