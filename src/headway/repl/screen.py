"""The terminal session on a screen: what was said scrolls away above, the list and the input stay below.

prompt_toolkit has the lower part and the keys; what is printed for good is written above it in one go with its
redrawing, so that nothing flickers. Nothing here decides anything: messages go to `Work`, commands to `slash`.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from prompt_toolkit.application import Application, run_in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.output import ColorDepth

from headway.app.advice import explain_result
from headway.core.errors import HeadwayError
from headway.core.events import ListDelta, PlanModeChanged
from headway.core.logs import logger
from headway.core.text import sanitize_for_display
from headway.repl.completer import SlashCompleter
from headway.repl.keys import FLUSH_AFTER, EscapeInput, make_key_bindings
from headway.repl.layout import make_layout
from headway.repl.printer import Printer, has_typed_ahead
from headway.repl.renderer import Renderer
from headway.repl.transcript import Piece, Transcript, find_last_words
from headway.views.execution_lines import explain_pause
from headway.views.plan import list_todos_of_plan
from headway.views.terminal import to_visible

if TYPE_CHECKING:
    from headway.agent import RunResult
    from headway.core.events import Event
    from headway.core.model import Todo
    from headway.repl.conversation import Conversation
    from headway.tools.approvals import Answer, Question

_NEW = 0.5
"""Seconds in which what was typed ahead is read."""
_LOOK_EVERY = 0.25
"""Seconds between looks at what others changed."""


class TerminalScreen:
    asks = True

    def __init__(self, work: Conversation, pen: Renderer, history: str | None) -> None:
        self.work = work
        self.pen = pen
        self.paper = Printer(pen)
        self.transcript = Transcript()
        self.todos: list[Todo] = []
        self.planning = False
        self.pause = ""
        """Why the run waits."""
        self._executing_mode: str | None = None
        """Of an execution by another process."""
        self.version = 0
        self.box_hidden = False
        self.question: Question | None = None
        self._answer: asyncio.Future[Answer] | None = None
        self._draft = ""
        """What was being typed when a question came."""
        self._events: deque[Event] = deque()
        self._entered: deque[str] = deque()
        self._commands: set[asyncio.Task[None]] = set()
        self._leaving = False
        self._began = 0.0
        self._typed_ahead = has_typed_ahead()
        self._loop = asyncio.get_running_loop()
        kept: History = FileHistory(history) if history else InMemoryHistory()
        self.input = Buffer(
            multiline=True, history=kept, completer=SlashCompleter(work.chosen), complete_while_typing=True
        )
        self.app: Application[None] = Application(
            layout=make_layout(self),
            key_bindings=make_key_bindings(self),
            output=self.paper.output,
            input=EscapeInput(sys.stdin, self.escape, lambda: bool(self.input.text) or not self.work.is_running),
            erase_when_done=True,
            color_depth=None if pen.colour else ColorDepth.DEPTH_1_BIT,
            before_render=self.paper.before_render,
            after_render=self.paper.after_render,
        )
        self.app.ttimeoutlen = FLUSH_AFTER

    async def run(self) -> None:
        self._refresh_state()
        self.work.begin(self)
        looking = asyncio.create_task(self._refresh_regularly())
        try:
            self._loop.set_exception_handler(self._handle_loop_error)
            await self.app.run_async(pre_run=self._on_start, handle_sigint=False, set_exception_handler=False)
        except (EOFError, OSError):  # the terminal is gone
            pass
        finally:
            looking.cancel()
            await self.work.end()
            self._drain()
            self.paper.end()

    @property
    def is_new(self) -> bool:
        """Whether what comes may have been typed before it was there."""
        return self._typed_ahead and time.monotonic() < self._began + _NEW

    def _on_start(self) -> None:
        self._began = time.monotonic()
        self._loop.call_soon(self.paper.begin, self.app)

    def _handle_loop_error(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Something went wrong where nobody waits for it. A terminal that is gone ends the session."""
        error = context.get("exception")
        if isinstance(error, OSError | EOFError):
            self.leave()
        elif error is not None:
            logger().error("The terminal session failed:", exc_info=error)

    def greet(self, *, resumes: bool) -> None:
        """Say hello; in a conversation that is resumed, what was said last."""
        session = self.work.session
        self.paper.print_text(self.work.project_line, "dim")
        if resumes:
            asked, answered = find_last_words(session)
            self.paper.print_text(f"Resuming {sanitize_for_display(session.name)}.", "dim")
            if asked:
                self.paper.print_text(f"> {sanitize_for_display(asked, 500)}", "bold")
            if answered:
                self.paper.print_pieces([Piece("markdown", answered[-4_000:])])
        else:
            self.paper.print_text(
                ("Headway. What would you like to do? /help lists the commands, Ctrl+P turns plan mode on."), "dim"
            )
        run = session.run
        if run is None:
            return
        if run.is_active:
            self.show_notice("A run is in progress in this session, in another process; its work is shown here.", " ")
        elif run.reason in ("finished", "all_done"):
            if not resumes:
                self.show_notice(f"This is a new conversation; {self.work.how_to_continue} resumes the last one.", " ")
        elif run.execution is not None:
            self.show_notice("The last execution was interrupted. Type /todos execute-all to continue.", " ")
        elif resumes:
            self.show_notice('The last run was interrupted. Type "go on" to continue, or a new message.', " ")
        else:
            self.show_notice(f"The last run was interrupted; {self.work.how_to_continue} resumes it.", " ")

    # what happens

    def handle(self, event: Event) -> None:
        """Events come in threads of their own, often many at once."""
        self._events.append(event)
        if len(self._events) == 1:
            self._loop.call_soon_threadsafe(self._drain)

    def _drain(self) -> None:
        pieces: list[Piece] = []
        listed = False
        while self._events:
            event = self._events.popleft()
            pieces += self.transcript.handle(event)
            listed = listed or isinstance(event.data, ListDelta | PlanModeChanged)
        self.paper.print_pieces(pieces)
        if listed:
            self._refresh_state()
        self.app.invalidate()

    def _refresh_state(self) -> None:
        try:
            state = self.work.session.state
        except HeadwayError:  # the file is gone or busy: said by whatever needs it
            return
        self.version = state.version
        self.todos = [*state.list_of(self.work.session.agent_id).items.values()]
        self.planning = state.plan_mode
        self.pause = explain_pause(state, self.work.session.agent_id)
        run = self.work.session.run
        execution = run.execution if run is not None and run.is_active else None
        self._executing_mode = execution.mode if execution is not None and not self.work.is_running else None

    @property
    def mode(self) -> str:
        """The mode in force: of an execution, as long as it lasts, else of this terminal session."""
        return self._executing_mode or self.work.mode

    async def _refresh_regularly(self) -> None:
        """Others change the list too; and what goes on is shown with how long it has."""
        while True:
            await asyncio.sleep(_LOOK_EVERY)
            before = self.version
            self._refresh_state()
            if self.version != before or self.work.is_running:
                self.app.invalidate()

    def refresh(self) -> None:
        self._refresh_state()
        self.app.invalidate()

    def show_notice(self, text: str, mark: str = "!") -> None:
        self.paper.print_text(
            f"{mark} {text}".rstrip() if mark.strip() else f"  {text}", "yellow" if mark == "!" else ""
        )

    def show_run_end(self, result: RunResult, seconds: float) -> None:
        from headway.views.run_summary import format_end

        mark = "❌" if result.reason == "error" else "✓" if result.ok else "!"
        said = format_end(
            result.reason, result.rounds, seconds, result.input_tokens + result.output_tokens, result.cost
        )
        self._drain()
        if error := explain_result(result, "/"):
            self.show_notice(sanitize_for_display(error, 1_000), "❌")
        self.paper.print_text(f"{mark} {said}", "green" if result.ok else "yellow")
        if result.reason == "max_rounds":
            self.show_notice('Type "go on" to let it continue.', " ")

    def show_execution_end(self, lines: list[str], *, ok: bool) -> None:
        self._drain()
        self.paper.print_text("\n".join(lines), "green" if ok else "yellow")

    # what the person does

    @property
    def size(self) -> tuple[int, int]:
        """(columns, rows)."""
        return self.paper.columns, self.paper.rows

    def remember(self, text: str) -> None:
        """For the arrow keys, this time and later: without keys and tokens."""
        from headway.core.secrets import redact

        safe = redact(text)
        if [*self.input.history.get_strings()][-1:] != [safe]:
            self.input.history.append_string(safe)

    def submit(self, text: str) -> None:
        from headway.repl.slash import SLASHES

        words = text.strip()
        if self._answer is not None and not words.startswith(SLASHES):
            self._take_answer(text)
        elif words:
            self._entered.append(words)
            if len(self._entered) == 1:
                self._spawn(self._process_entered())

    async def _process_entered(self) -> None:
        """What was entered, in its order: a message that was typed after a command is sent when that is done."""
        from headway.repl.slash import SLASHES

        while self._entered:
            words = self._entered[0]
            try:
                if words.startswith(SLASHES):
                    self.show_sent(words)
                    await self._run_command(words)
                elif words == "demo" and await self.work.has_no_model():
                    await self._run_demo()
                else:
                    self.work.send(words)
            finally:
                self._entered.popleft()

    def show_sent(self, text: str) -> None:
        prompt = "[PLAN] > " if self.planning else "> "
        self.paper.print_text(prompt + text.replace("\n", "\n" + " " * len(prompt)), "bold")

    def _spawn(self, work: object) -> None:
        assert asyncio.iscoroutine(work)
        task = asyncio.create_task(work)
        self._commands.add(task)
        task.add_done_callback(self._on_task_done)

    def _on_task_done(self, task: asyncio.Task[None]) -> None:
        self._commands.discard(task)
        if not task.cancelled() and (error := task.exception()):
            self.show_notice(
                f"Something went wrong ({type(error).__name__}: {sanitize_for_display(str(error), 200)}).", "❌"
            )
        self._leave_if_wanted()

    def _leave_if_wanted(self) -> None:
        if self._leaving and not self._commands and self.app.is_running and not self.app.is_done:
            self.app.exit()

    async def _run_command(self, line: str) -> None:
        from headway.repl import slash

        before = self.work.session
        said = await asyncio.to_thread(slash.run_slash_command, line, self.work.chosen)
        if said.strip():
            self.paper.print_text(said.rstrip("\n"))
        if self.work.session is not before and self.work.session.version:
            self.greet(resumes=True)
        await self.work.reload()
        self.refresh()

    async def _run_demo(self) -> None:
        """The tour that is offered where there is no model."""
        from headway.repl.tour import run_tour

        await self._run_in_thread(run_tour)

    async def _run_in_thread(self, work: object) -> None:
        assert callable(work)
        self.paper.suspended = True
        self.paper.release()
        try:
            await run_in_terminal(work, in_executor=True)
        finally:
            self.paper.suspended = False
            self.paper.write()

    def edit(self, text: str, suffix: str) -> str | None:
        """Called in the thread of a command."""
        from headway.cli.editor import edit_text

        result: list[str | None] = []
        asyncio.run_coroutine_threadsafe(
            self._run_in_thread(lambda: result.append(edit_text(text, suffix))), self._loop
        ).result()
        return result[0] if result else None

    def interrupt(self) -> None:
        """A signal; in an editor, Ctrl+C is the editor's."""
        if not self.paper.suspended:
            self.stop()

    def leave(self) -> None:
        self._leaving = True
        self._loop.call_soon_threadsafe(self._leave_if_wanted)

    def stop(self) -> None:
        self.return_unsent(self.work.stop())

    def escape(self) -> bool:
        """Stop the run, if one goes on."""
        if not self.work.is_running:
            return False
        self.stop()
        return True

    def return_unsent(self, texts: list[str]) -> None:
        """Puts them before what is being typed."""
        if texts and self.question is not None:
            self._draft = "\n".join([*texts, self._draft]).strip()
        elif texts:
            self.input.text = "\n".join([*texts, self.input.text]).strip()
            self.input.cursor_position = len(self.input.text)
        self.app.invalidate()

    def show_output(self) -> None:
        """What the last call answered, in full."""
        if not self.transcript.calls:
            self.show_notice("No tool call has finished yet.", " ")
            return
        what, call = self.transcript.find_earlier_call()
        self.paper.print_line("●", what)
        diff = call.diff
        self.paper.print_drawn(self.pen.draw_diff(diff, self.paper.columns) if diff else self._indent(call.text))

    def _indent(self, text: str) -> str:
        return self.pen.draw_styled("\n".join(f"    {line}" for line in text.splitlines()), "dim", self.paper.columns)

    def toggle_plan(self) -> None:
        self._spawn(self._toggle_plan())

    async def _toggle_plan(self) -> None:
        session = self.work.session
        try:
            state = await asyncio.to_thread(lambda: session.state)
            await asyncio.to_thread(session.set_plan_mode, not state.plan_mode)
        except HeadwayError as error:
            self.show_notice(str(error), "❌")
            return
        on = not state.plan_mode
        self.show_notice("Plan mode is on: the agent plans but changes nothing" if on else "Plan mode is off")
        if not on and state.plan is not None and not list_todos_of_plan(state.plan, self.todos):
            self.show_notice("There is a plan: /plan to-todos turns it into todos, /plan show shows it.", " ")
        self.refresh()

    def toggle_box(self) -> None:
        self.box_hidden = not self.box_hidden
        self.app.invalidate()

    # questions

    async def ask(self, question: Question) -> Answer:
        from headway.app.questions import to_printable

        self._drain()
        self.question = question
        self._answer = self._loop.create_future()
        self._draft = self.input.text
        self.input.reset()
        preview = to_printable(question.preview, ascii=self.pen.ascii)
        self.paper.print_text(f"? {to_visible(preview.line)}", "bold")  # all of it, however long
        for text in preview.details:
            is_diff = text is preview.diff
            self.paper.print_drawn(self.pen.draw_diff(text, self.paper.columns) if is_diff else self._indent(text))
        self.app.invalidate()
        try:
            return await self._answer
        finally:
            self._end_question()

    def _end_question(self) -> None:
        """Gives back what was being typed, at once: what is typed next is no answer any more."""
        if self.question is None:
            return
        self.question = self._answer = None
        self.input.text = self._draft
        self.input.cursor_position = len(self._draft)
        self.app.invalidate()

    def _take_answer(self, text: str) -> None:
        from headway.app.questions import parse_reply

        assert self._answer is not None and self.question is not None
        answer = parse_reply(text, in_sandbox=self.question.in_sandbox)
        if answer is None:
            offline = ", o (yes, without the network)" if self.question.in_sandbox else ""
            self.show_notice(
                f"Answer y (yes){offline}, a (always in this run) or n (no, optionally with a reason).", " "
            )
            if text.strip():
                self._draft = "\n".join([self._draft, text]).strip()
                self.show_notice("What you typed returns to the input after the question.", " ")
        elif not self._answer.done():
            said = {
                "once": "yes",
                "offline": "yes, without the network",
                "always": f"always ({self.question.tool})",
            }.get(answer.reply)
            if said:
                self.paper.print_line("✓", said)
            self._answer.set_result(answer)
            self._end_question()

    def format_elapsed(self, since: float) -> str:
        seconds = int(time.monotonic() - since)
        return f" {seconds} s" if seconds else ""
