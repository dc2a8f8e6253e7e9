"""A run on the terminal: the model's words as they come, a line for each call, and the live box under them.

Gets events in the thread that delivers them, so that a slow terminal never slows the run.
"""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from headway.cli.live import LiveBox
from headway.core.events import Event, ListDelta
from headway.core.model import MAIN_AGENT, Todo
from headway.core.run_events import (
    ApprovalAnswered,
    ApprovalAsked,
    MessageAdded,
    RoundStarted,
    RunControlRequested,
    RunError,
    TextDelta,
    ToolFinished,
    ToolStarted,
)
from headway.core.text import neutralize_lines, sanitize_for_display
from headway.views.call_lines import format_call_outcome, format_retry
from headway.views.execution_lines import BEGINS, DETAIL, shorten_start_line
from headway.views.spoken_words import answer_text
from headway.views.terminal import count_cells, fit_to_width, to_ascii, to_visible

_REQUESTED = {"pause": "Paused after this round", "resume": "Resumed", "stop": "Stopped"}


class RunView:
    """Give `heard` to the run, and close it at the end."""

    def __init__(self, box: LiveBox, agent: str = MAIN_AGENT) -> None:
        """`agent`: whose list the box shows."""
        self._box = box
        self._agent = agent
        self._lock = threading.RLock()
        self._asking = False
        self._waiting: list[Event] = []
        self._line = ""
        """What the model has said since the last line break."""
        self._running: dict[str, str] = {}
        """Call → what it is, for those that are under way."""
        self._said = ""
        """What was shown of the answer that comes in."""

    def handle(self, event: Event) -> None:
        with self._lock:
            if self._asking:
                self._waiting.append(event)
            else:
                self._show(event)

    @contextmanager
    def pause_for_question(self) -> Generator[None]:
        """While it lasts, nothing is drawn: the terminal is the person's."""
        with self._lock:
            self._end_line()
            self._box.hide()
            self._asking = True
        try:
            yield
        finally:
            with self._lock:
                self._asking = False
                self._box.unhide()
                waiting, self._waiting = self._waiting, []
                for event in waiting:
                    self._show(event)

    def close(self) -> None:
        with self._lock:
            self._end_line()
            self._box.show_note("")

    def _show(self, event: Event) -> None:
        data: Any = event.data
        match data:
            case TextDelta():
                self._show_text(data)
            case MessageAdded():
                self._show_missed(data)
            case ToolStarted():
                self._end_line()
                self._running[data.call_id] = data.summary
                self._box.show_note(f"● {data.summary}")
            case ToolFinished():
                self._show_call_end(data)
            case RunError():
                self._show_error(data)
            case RoundStarted():
                self._end_line()
                self._said = ""
                self._box.show_note(f"Round {data.round}/{data.max_rounds}: waiting for the model …")
            case RunControlRequested():
                self._print_outcome("!", f"{_REQUESTED[data.request]} by {sanitize_for_display(event.actor)}")
            case ApprovalAsked():
                self._end_line()
            case ApprovalAnswered() if data.reply == "no":
                self._print_outcome("⊘", "no", sanitize_for_display(data.reason, 200))
            case _:
                if isinstance(event.data, ListDelta) and event.todos is not None and event.agent == self._agent:
                    self._show_list(event, list(event.todos))

    def _show_list(self, event: Event, todos: list[Todo]) -> None:
        self._box.show(todos)

    def _show_call_end(self, data: ToolFinished) -> None:
        self._print_outcome(*format_call_outcome(data, self._running.pop(data.call_id, data.tool)))
        for line in data.text.splitlines() if data.effect == "todo" else ():
            if line.startswith("Note: "):  # what a new list dropped
                self._print_outcome("!", line.removeprefix("Note: "))
        self._box.show_note(f"● {next(iter(self._running.values()))}" if self._running else "")

    def _show_error(self, data: RunError) -> None:
        self._end_line()
        self._said = ""
        if data.retry_in is not None:  # the last one stands in the summary
            self._print_outcome("!", format_retry(data))

    def _show_text(self, data: TextDelta) -> None:
        if data.kind == "output":
            last = data.text.rstrip().rpartition("\n")[2]
            if last:
                self._box.show_note(f"  {last}")
            return
        if data.kind == "progress":
            self._box.show_note(data.text)
            return
        if data.kind != "text":
            self._box.show_note("Thinking …")
            return
        self._said += data.text
        *lines, self._line = (self._line + data.text).split("\n")
        for line in lines:
            self._box.print_line(neutralize_lines(line))
        self._box.show_note(_take_end(to_visible(self._line), self._box.width or 79))

    def _show_missed(self, data: MessageAdded) -> None:
        """Shows what a terminal that was too slow has missed of an answer."""
        said, self._said = self._said.strip(), ""
        text = answer_text(data.message)
        self._end_line()
        if text and len(said) < len(text) and not text.startswith("(no answer)"):
            self._box.print_line("(Some of the answer came too fast to show. In full:)" if said else "")
            for line in text.splitlines():
                self._box.print_line(neutralize_lines(line))

    def _end_line(self) -> None:
        if self._line.strip():
            self._box.print_line(neutralize_lines(self._line))
        self._line = ""
        self._box.show_note("")

    def _print_outcome(self, mark: str, what: str, why: str = "") -> None:
        """One line; if it is too long, it is what happened that is cut, not why."""
        width = self._box.width
        if mark == DETAIL:
            self._box.print_line(f"  {to_visible(what)}{f': {to_visible(why)}' if why else ''}")
            return
        if width and mark == BEGINS:
            what = shorten_start_line(what, width - 4)
        what, why = to_visible(what), to_visible(why)
        if self._box.ascii:
            mark = to_ascii(mark)
        if width:
            why = fit_to_width(why, max(width // 2, width - count_cells(what) - 4))
            what = fit_to_width(what, max(width - count_cells(why) - 4, 10))
        self._box.print_line(f"{mark} {what}{f': {why}' if why else ''}")


def _take_end(line: str, width: int) -> str:
    """The end of a line, as much as has room."""
    line = line[-width:]
    while count_cells(line) > width:
        line = line[1:]
    return line
