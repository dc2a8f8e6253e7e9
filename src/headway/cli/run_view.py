"""A run on the terminal: the model's words as they come, a line for each call, and the live box under them.

Gets events in the thread that delivers them, so that a slow terminal never slows the run.
"""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from headway.cli.live import LiveBox
from headway.core.events import TODO_LIST_UPDATED, Event
from headway.core.model import MAIN_AGENT, Todo
from headway.core.run_events import (
    ApprovalAnswered,
    ApprovalAsked,
    MessageAdded,
    RoundStarted,
    RunError,
    RunRequested,
    TextDelta,
    ToolFinished,
    ToolStarted,
)
from headway.core.text import neutral_lines, shown
from headway.views.calls import outcome, retry_line
from headway.views.executing import BEGINS, DETAIL, with_its_end
from headway.views.messages import answer_text
from headway.views.terminal import cells, fitted, in_ascii, visible

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
            case MessageAdded():
                self._complete(data)
            case ToolStarted():
                self._end_line()
                self._running[data.call_id] = data.summary
                self._box.note(f"● {data.summary}")
            case ToolFinished():
                self._finished(data)
            case RunError():
                self._failed(data)
            case RoundStarted():
                self._end_line()
                self._said = ""
                self._box.note(f"Round {data.round}/{data.max_rounds}: waiting for the model …")
            case RunRequested():
                self._say("!", f"{_REQUESTED[data.request]} by {shown(event.actor)}")
            case ApprovalAsked():
                self._end_line()
            case ApprovalAnswered() if data.reply == "no":
                self._say("⊘", "no", shown(data.reason, 200))
            case _:
                if event.type == TODO_LIST_UPDATED and event.todos is not None and event.agent == self._agent:
                    self._show_list(event, list(event.todos))

    def _show_list(self, event: Event, todos: list[Todo]) -> None:
        self._box.show(todos)

    def _finished(self, data: ToolFinished) -> None:
        self._say(*outcome(data, self._running.pop(data.call_id, data.tool)))
        for line in data.text.splitlines() if data.effect == "todo" else ():
            if line.startswith("Note: "):  # what a new list dropped
                self._say("!", line.removeprefix("Note: "))
        self._box.note(f"● {next(iter(self._running.values()))}" if self._running else "")

    def _failed(self, data: RunError) -> None:
        self._end_line()
        self._said = ""
        if data.retry_in is not None:  # the last one stands in the summary
            self._say("!", retry_line(data))

    def _stream(self, data: TextDelta) -> None:
        if data.kind == "output":
            last = data.text.rstrip().rpartition("\n")[2]
            if last:
                self._box.note(f"  {last}")
            return
        if data.kind == "progress":
            self._box.note(data.text)
            return
        if data.kind != "text":
            self._box.note("Thinking …")
            return
        self._said += data.text
        *lines, self._line = (self._line + data.text).split("\n")
        for line in lines:
            self._box.say(neutral_lines(line))
        self._box.note(_newest(visible(self._line), self._box.width or 79))

    def _complete(self, data: MessageAdded) -> None:
        """Shows what a terminal that was too slow has missed of an answer."""
        said, self._said = self._said.strip(), ""
        text = answer_text(data.message)
        self._end_line()
        if text and len(said) < len(text) and not text.startswith("(no answer)"):
            self._box.say("(Some of the answer came too fast to show. In full:)" if said else "")
            for line in text.splitlines():
                self._box.say(neutral_lines(line))

    def _end_line(self) -> None:
        if self._line.strip():
            self._box.say(neutral_lines(self._line))
        self._line = ""
        self._box.note("")

    def _say(self, mark: str, what: str, why: str = "") -> None:
        """One line; if it is too long, it is what happened that is cut, not why."""
        width = self._box.width
        if mark == DETAIL:
            self._box.say(f"  {visible(what)}{f': {visible(why)}' if why else ''}")
            return
        if width and mark == BEGINS:
            what = with_its_end(what, width - 4)
        what, why = visible(what), visible(why)
        if self._box.ascii:
            mark = in_ascii(mark)
        if width:
            why = fitted(why, max(width // 2, width - cells(what) - 4))
            what = fitted(what, max(width - cells(why) - 4, 10))
        self._box.say(f"{mark} {what}{f': {why}' if why else ''}")


def _newest(line: str, width: int) -> str:
    """The end of a line, as much as has room."""
    line = line[-width:]
    while cells(line) > width:
        line = line[1:]
    return line
