"""What a run says on the terminal, event by event: what is printed for good, and what is only under way.

Knows nothing of the screen: the terminal session draws it in colour, the plain one prints it as it is.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from headway.core.events import Event, PlanUpdated
from headway.core.execution_events import AttemptStarted
from headway.core.model import is_person
from headway.core.run_events import (
    ApprovalAnswered,
    ApprovalAsked,
    MessageAdded,
    RoundStarted,
    RunControlRequested,
    RunError,
    RunFinished,
    RunStarted,
    TextDelta,
    ToolFinished,
    ToolStarted,
)
from headway.core.text import sanitize_for_display
from headway.repl.markdown import LineStream, MarkdownStream
from headway.views.call_lines import format_call_outcome, format_retry
from headway.views.execution_lines import ExecutionLines
from headway.views.spoken_words import answer_text

if TYPE_CHECKING:
    from headway.core.plans import Plan
    from headway.session import Session

_REQUESTED = {"pause": "Paused after this round", "resume": "Resumed", "stop": "Stopped"}
_KEPT = 100
"""Calls whose output can still be looked at."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Something to be printed."""

    kind: Literal["markdown", "line", "text"]
    text: str
    mark: str = ""
    why: str = ""


class Transcript:
    """`heard` gives what is to be printed; the rest is what goes on."""

    def __init__(self, stream: MarkdownStream | LineStream | None = None) -> None:
        """`stream` says in which parts an answer that comes in is printed; without one, in blocks of Markdown."""
        self._stream = stream or MarkdownStream()
        self._said: list[str] = []
        """What was shown of the answer that comes in."""
        self.running: dict[str, tuple[str, float]] = {}
        """Call → what it is and when it began."""
        self.output = ""
        """The last line that a running call printed."""
        self.doing = ""
        """What is waited for."""
        self.since = 0.0
        self.calls: deque[tuple[str, ToolFinished]] = deque(maxlen=_KEPT)
        """What they were, and what came of them."""
        self._plan: Plan | None = None
        self.executing = ExecutionLines()
        self._looked = 0
        """At how many of the last calls a person has looked."""

    def find_earlier_call(self) -> tuple[str, ToolFinished]:
        """The last call; asked again, the one before, and so on."""
        self._looked = self._looked % len(self.calls) + 1
        return self.calls[-self._looked]

    @property
    def rest(self) -> str:
        """What the model is saying and has not ended."""
        return self._stream.rest

    def handle(self, event: Event) -> list[Piece]:
        lines = [Piece("line", what, mark, why) for mark, what, why in self.executing.handle(event)]
        if isinstance(event.data, AttemptStarted):
            self._note_activity("")
        if self.executing.is_hidden(event):
            if isinstance(event.data, ApprovalAsked):
                lines.append(Piece("line", self.executing.describe_todo(event), "?"))
            return lines
        return [*lines, *self._handle(event)]

    def _handle(self, event: Event) -> list[Piece]:
        data: Any = event.data
        match data:
            case TextDelta():
                return self._handle_delta(data)
            case MessageAdded():
                return self._handle_message(data)
            case ToolStarted():
                self.running[data.call_id] = (data.summary, time.monotonic())
                self._note_activity("")
                return self._end_text()
            case ToolFinished():
                return self._handle_call_end(data)
            case RunStarted() if not data.max_rounds:
                self._note_activity("Saving the project's files")
                return self._end_text()
            case RoundStarted():
                self._said = []
                self._note_activity(f"Round {data.round}/{data.max_rounds}: waiting for the model")
                return self._end_text()
            case RunError() if data.retry_in is not None:  # the last one is told at the end
                self._said = []
                return [*self._end_text(), Piece("line", format_retry(data), "!")]
            case RunControlRequested() if data.request != "stop" or not is_person(event.actor):  # told at the end
                return [Piece("line", f"{_REQUESTED[data.request]} by {sanitize_for_display(event.actor)}", "!")]
            case ApprovalAnswered() if data.reply == "no":
                return [Piece("line", "no", "⊘", sanitize_for_display(data.reason, 200))]
            case RunFinished():
                self.running.clear()
                self._note_activity("")
                return self._end_text()
            case PlanUpdated():
                self._plan = data.plan
                return []
            case _:
                return []

    def _note_activity(self, what: str) -> None:
        self.doing, self.since = what, time.monotonic()

    def _handle_delta(self, data: TextDelta) -> list[Piece]:
        if data.kind == "output":
            self.output = data.text.rstrip().rpartition("\n")[2] or self.output
            return []
        if data.kind == "progress":
            self._note_activity(data.text)
            return []
        if data.kind != "text":
            if self.doing != "Thinking":
                self._note_activity("Thinking")
            return []
        self.doing = ""
        self._said.append(data.text)
        return [Piece("markdown", block) for block in self._stream.feed(data.text)]

    def _end_text(self) -> list[Piece]:
        return [Piece("markdown", block) for block in self._stream.end()]

    def _handle_message(self, data: MessageAdded) -> list[Piece]:
        """Shows also what a terminal that was too slow has missed of an answer."""
        said, self._said = "".join(self._said).strip(), []
        text = answer_text(data.message)
        pieces = self._end_text()
        if text and len(said) < len(text) and not text.startswith("(no answer)"):
            if said:
                pieces.append(Piece("line", "Some of the answer came too fast to show. In full:", "!"))
            pieces.append(Piece("markdown", text))
        return pieces

    def _handle_call_end(self, data: ToolFinished) -> list[Piece]:
        what, _ = self.running.pop(data.call_id, (data.tool, 0.0))
        self.output = ""
        self.calls.append((what, data))
        self._looked = 0
        mark, line, why = format_call_outcome(data, what)
        pieces = [*self._end_text(), Piece("line", line, mark, why)]
        if data.tool == "create_plan" and data.ok and self._plan is not None:
            pieces += _plan_pieces(self._plan)
        for note in data.text.splitlines() if data.effect == "todo" else ():
            if note.startswith("Note: "):  # what a new list dropped
                pieces.append(Piece("line", note.removeprefix("Note: "), "!"))
        return pieces


def _plan_pieces(plan: Plan) -> list[Piece]:
    from headway.views.plan import plan_lines

    how = "/plan to-todos turns it into todos, /plan edit changes it, /plan off leaves plan mode."
    return [Piece("text", "\n".join(plan_lines(plan))), Piece("line", how, " ")]


def find_last_words(session: Session) -> tuple[str, str]:
    """(what the person asked last, what the model said last) in a session that goes on."""
    asked = answered = ""
    for event in session.events():
        if event.agent != session.agent_id:
            continue
        if isinstance(event.data, RunStarted):
            if event.data.max_rounds:  # an execution has none, and nobody said its task
                asked, answered = event.data.task, ""
        elif isinstance(event.data, MessageAdded):
            answered = answer_text(event.data.message) or answered
    return asked, answered
