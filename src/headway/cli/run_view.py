"""A run on the terminal: the model's words as they come, a line for each call, and the live box under them.

Gets events in the thread that delivers them, so that a slow terminal never slows the run.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from headway.cli.live import LiveBox
from headway.core.events import TODO_LIST_UPDATED, Event
from headway.core.run_events import (
    ApprovalAnswered,
    RoundStarted,
    RunError,
    TextDelta,
    ToolFinished,
    ToolStarted,
)
from headway.core.text import neutral_lines, shown
from headway.views.terminal import fitted


class RunView:
    """Use as a context, and give `heard` to the run."""

    def __init__(self, box: LiveBox) -> None:
        self._box = box
        self._lock = threading.RLock()
        self._asking = False
        self._waiting: list[Event] = []
        self._line = ""
        """What the model has said since the last line break."""
        self._running: dict[str, str] = {}
        """Call → what it is, for those that are under way."""

    def heard(self, event: Event) -> None:
        with self._lock:
            if self._asking:
                self._waiting.append(event)
            else:
                self._show(event)

    @contextmanager
    def asking(self) -> Generator[None]:
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
            self._box.note("")

    def _show(self, event: Event) -> None:
        data: Any = event.data
        match data:
            case TextDelta():
                self._stream(data)
            case ToolStarted():
                self._end_line()
                self._running[data.call_id] = data.summary
                self._box.note(f"● {data.summary}")
            case ToolFinished():
                self._say(_outcome(data, self._running.pop(data.call_id, data.tool)))
                self._box.note(f"● {next(iter(self._running.values()))}" if self._running else "")
            case RunError():
                self._end_line()
                wait = data.retry_in
                again = f" Trying again in {wait:.0f} s." if wait else ""
                if wait is not None:  # the last one stands in the summary
                    self._say(f"! {shown(data.message, 500)}{again}")
            case RoundStarted():
                self._end_line()
                self._box.note(f"Round {data.round}/{data.max_rounds}: waiting for the model …")
            case ApprovalAnswered() if data.reply == "no":
                self._say(f"⊘ no{f': {shown(data.reason, 200)}' if data.reason else ''}")
            case _:
                if event.type == TODO_LIST_UPDATED and event.todos is not None and event.agent == "main":
                    self._box.show(list(event.todos))

    def _stream(self, data: TextDelta) -> None:
        if data.kind == "output":
            last = data.text.rstrip().rpartition("\n")[2]
            if last:
                self._box.note(f"  {last}")
            return
        if data.kind != "text":
            self._box.note("Thinking …")
            return
        *lines, self._line = (self._line + data.text).split("\n")
        for line in lines:
            self._box.say(neutral_lines(line))
        width = shutil.get_terminal_size().columns - 1
        self._box.note(fitted(self._line[-width:], width) if self._line else "")

    def _end_line(self) -> None:
        if self._line.strip():
            self._box.say(neutral_lines(self._line))
        self._line = ""
        self._box.note("")

    def _say(self, line: str) -> None:
        self._box.say(fitted(line, shutil.get_terminal_size().columns - 1))


def _outcome(call: ToolFinished, what: str) -> str:
    if call.denied:
        return f"⊘ {what}: not allowed"
    if call.succeeded:
        took = f" ({call.seconds:.1f} s)" if call.seconds >= 1 else ""
        return f"✓ {what}{took}"
    first = call.text.strip().partition("\n")[0]
    why = f"exit code {call.exit_code}" if call.exit_code else shown(first, 120)
    return f"✗ {what}: {why}"
