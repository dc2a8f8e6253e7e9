"""What goes on while items are executed: a line for each that begins and ends, and what each is at right now. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from headway.core.events import ListDelta, PlanModeChanged
from headway.core.execution_events import (
    AttemptFinished,
    AttemptStarted,
    ExecutionFinished,
    ExecutionStarted,
    ModeChanged,
)
from headway.core.model import Status
from headway.core.run_events import RoundStarted, TextDelta, ToolFinished, ToolStarted
from headway.core.text import SENTENCE_ENDS, sanitize_for_display
from headway.views.evidence_words import evidence_mark, evidence_word
from headway.views.run_summary import format_duration
from headway.views.terminal import count_cells, fit_to_width, to_visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headway.core.events import Event
    from headway.core.model import State, Todo

    Line = tuple[str, str, str]
    """(mark, what, why). One with the mark `DETAIL` says more about the line before, and is never cut."""

BEGINS = "▶"
DETAIL = " "
PAUSED_BY_PLAN_MODE = "Execution paused until plan mode is off"
ASKS = {
    "default": "asks before writes and commands",
    "auto_edit": "asks before commands",
    "sandboxed": "asks about nothing in the sandbox",
    "yolo": "never asks",
}
_END = re.compile(r"(?: ⏱ [^⏱]{1,60})?(?: \((?:attempt \d+|again, alone)\))?$")
MAX_ID = 40
MAX_TEXT = 100
_PATH = 300


class ExecutionLines:
    """Give it every event; it gives lines to print, and `doing` is what goes on."""

    def __init__(self) -> None:
        self._items: dict[str, AttemptStarted] = {}
        """Sub-agent → the item that it works on."""
        self._at: dict[str, str] = {}
        self._levels: dict[str, str] = {}
        """Item → how sure it is that it is done, as its list says."""
        self.side_by_side = False
        """Whether several items run at once: what their models say would be all mixed up."""
        self._goes_on = False

    def is_hidden(self, event: Event) -> bool:
        """Whether the event is one of several that go on at once, of which only `doing` tells."""
        return self.side_by_side and event.agent in self._items

    def describe_todo(self, event: Event) -> str:
        """`step-2: Write the parser`, if the event is of the run of an item; else nothing."""
        item = self._items.get(event.agent)
        return f"{sanitize_for_display(item.item_id, MAX_ID)}: {item.content}" if item else ""

    def activity_lines(self) -> list[str]:
        """What each item is at, in the order in which they began."""
        return [
            f"{sanitize_for_display(item.item_id, MAX_ID)}  {self._at.get(agent) or item.content}"
            for agent, item in self._items.items()
        ]

    def handle(self, event: Event) -> list[Line]:
        data = event.data
        match data:
            case ExecutionStarted():
                self.side_by_side, self._goes_on = data.parallel > 1, True
                self._items.clear()
                return [(DETAIL, format_mode(data.mode), ""), *([("!", data.note, "")] if data.note else [])]
            case ModeChanged():
                return [(DETAIL, format_mode(data.mode), "")]
            case ExecutionFinished():
                self._goes_on = False
                return []
            case PlanModeChanged() if self._goes_on:
                now = "is paused until plan mode is off" if data.on else "is no longer paused by plan mode"
                return [("⏸" if data.on else "!", f"The execution {now}", "")]
            case AttemptStarted():
                self._items[data.agent] = data
                return started_lines(data)
            case AttemptFinished():
                item = self._items.pop(data.agent, None)
                self._at.pop(data.agent, None)
                level = self._levels.get(data.item_id)
                return [format_attempt_end(data, item.content if item else "", level), *detail_lines(data)]
            case ListDelta():
                self._note_list_change(data)
                return []
            case _:
                if event.agent in self._items:
                    self._follow_attempt(event.agent, data)
                return []

    def _note_list_change(self, delta: ListDelta) -> None:
        for todo_id, fields in delta.changed.items():
            if "evidence" in fields:
                level: object = getattr(fields["evidence"][1], "level", None)
                self._levels.pop(todo_id, None)
                if level is not None:
                    self._levels[todo_id] = str(level)

    def _follow_attempt(self, agent: str, data: object) -> None:
        match data:
            case ToolStarted():
                self._at[agent] = data.summary
            case ToolFinished() | RoundStarted():
                self._at[agent] = "waiting for the model …"
            case TextDelta() if data.kind == "text":
                self._at[agent] = "answering …"
            case _:
                pass


def format_execution(state: State, agent: str) -> str:
    """That items are being executed, in which mode, and what holds that up; empty if none are."""
    run = state.runs.get(agent)
    if run is None or not run.is_active or run.execution is None:
        return ""
    what = "Stopping" if run.stopping else explain_pause(state, agent) or "Executing"
    return f"{what} · {format_mode(run.execution.mode)}"


def explain_pause(state: State, agent: str) -> str:
    """Why the agent's run waits; empty if it does not."""
    if not state.is_paused(agent):
        return ""
    if not state.runs[agent].paused:
        return PAUSED_BY_PLAN_MODE
    return "Pausing after this round" if state.is_pausing(agent) else "Paused"


def format_mode(mode: str) -> str:
    return f"Mode: {mode} ({ASKS[mode]})" if mode in ASKS else f"Mode: {sanitize_for_display(mode)}"


def started_lines(data: AttemptStarted) -> list[Line]:
    """`▶ [2/5] Implement JWT ⏱ 45min`, and what else there is to know."""
    time = f" ⏱ {data.estimated_time}" if data.estimated_time else ""
    again = " (again, alone)" if data.alone else f" (attempt {data.attempt})" if data.attempt > 1 else ""
    lines = [(BEGINS, f"[{data.index}/{data.total}] {sanitize_for_display(data.content, MAX_TEXT)}{time}{again}", "")]
    if data.restored:
        number = len(data.restored)
        what = "1 file to its" if number == 1 else f"{number} files to their"
        lines.append((DETAIL, f"Restored {what} state before the previous attempt: {_join_names(data.restored)}", ""))
    return lines


def shorten_start_line(line: str, width: int) -> str:
    """A line that begins an item, in so many cells: of one that is too long, the time and the attempt stay."""
    found = _END.search(line)
    assert found is not None
    end = to_visible(found[0])
    return fit_to_width(line[: found.start()], max(width - count_cells(end), 10)) + end


def format_attempt_end(data: AttemptFinished, content: str, level: str | None = None) -> Line:
    """`✓ s2: Implement JWT (verified, 4.2 s, 2 files)`, or why it is not completed."""
    what = (
        f"{sanitize_for_display(data.item_id, MAX_ID)}: {sanitize_for_display(content, MAX_TEXT)}"
        if content
        else sanitize_for_display(data.item_id, MAX_ID)
    )
    match data.outcome:
        case "completed":
            files = f", {len(data.files)} file{'' if len(data.files) == 1 else 's'}" if data.files else ""
            return evidence_mark(level), f"{what} ({evidence_word(level)}, {format_duration(data.seconds)}{files})", ""
        case "conflict":
            return "!", what, f"{data.reason} It will run again on its own."
        case "cancelled":
            return "⊘", what, data.reason
        case "interrupted":
            return "⏸", what, f"stopped, since it was {data.taken_away} meanwhile" if data.taken_away else "interrupted"
        case _:
            return "✗", what, _add_retry(data)


def _add_retry(data: AttemptFinished) -> str:
    if not data.again:
        return data.reason
    end = "" if data.reason.rstrip("”").endswith(SENTENCE_ENDS) else "."
    return f"{data.reason}{end} Retrying."


def detail_lines(data: AttemptFinished) -> list[Line]:
    """What a person has to know of the files, besides how many changed."""
    lines: list[str] = []
    if data.removed:
        lines.append(f"removed: {_join_names(data.removed)}")
    if data.not_merged:
        nothing = data.outcome == "completed" and not data.files
        lines += ["None of its changes were merged into the project's files."] if nothing else []
        lines.append(f"not merged (ignored, copied or linked): {_join_names(data.not_merged)}")
    if data.by_others:
        lines.append(f"changed during the attempt, but not by its file tools: {_join_names(data.by_others)}")
    if data.committed:
        lines.append("Its commits were merged as uncommitted changes.")
    if data.worktree and data.taken_away:
        lines.append(f"Its changes were not merged and are in {sanitize_for_display(data.worktree, _PATH)}")
    elif data.worktree and not data.again:
        lines.append(f"Its files stay until the next attempt: {sanitize_for_display(data.worktree, _PATH)}")
    elif data.files and data.taken_away:
        lines.append(f"Its changes stay in the project: {_join_names(data.files)}")
    return [(DETAIL, line, "") for line in lines]


def _join_names(files: Sequence[str]) -> str:
    """All of them: what is gone or left is named, however much it is."""
    return ", ".join(sanitize_for_display(file, _PATH) for file in files)


def ending_lines(
    outcome: str,
    completed: int,
    failed: int,
    total: int,
    seconds: float,
    *,
    error: str | None = None,
    resume: str = "headway todos execute-all",
    only: str | None = None,
    became: str = "",
    program: str = "headway ",
) -> list[str]:
    """What an execution came to, and how to go on. `only`: the one item that was executed, and what it `became`."""
    if outcome == "nothing":
        return ["No pending todos", *([error] if error else [])]
    if only is not None:
        again = f"Resume with: {resume}" + ("" if outcome == "interrupted" else "   (also retries failed items)")
        return _single_ending_lines(outcome, sanitize_for_display(only, MAX_ID), became, seconds, error, again)
    if outcome == "complete":
        return ["✅ Batch Execution Complete!", f"Executed {completed}/{total} todos in {format_duration(seconds)}"]
    if outcome == "interrupted":
        return ["⏸ Batch Execution Interrupted", f"Completed: {completed}/{total} todos", f"Resume with: {resume}"]
    progress = f"Progress: {completed} completed, {failed} failed"
    if outcome == "waiting":
        return [f"⏸ {error}", progress, f"For details: {program}todos next"]
    lines = ["❌ Batch Execution Failed", *([error] if error else []), progress]
    return [*lines, f"Resume with: {resume}   (also retries failed items)"]


def _single_ending_lines(
    outcome: str, todo_id: str, became: str, seconds: float, error: str | None, resume: str
) -> list[str]:
    match outcome:
        case "complete":
            mark = "✅" if became.startswith(Status.COMPLETED) else "⊘"
            return [f"{mark} {todo_id} {became} in {format_duration(seconds)}"]
        case "interrupted":
            return [f"⏸ {todo_id} interrupted after {format_duration(seconds)}", resume]
        case _:
            return [f"❌ {error or f'{todo_id} failed.'}", resume]


def format_status(todo: Todo | None) -> str:
    """What an item became, with what shows it: `completed (verified)`."""
    if todo is None:
        return "dropped"
    if todo.status is not Status.COMPLETED:
        return str(todo.status)
    return f"{todo.status} ({evidence_word(todo.evidence.level if todo.evidence is not None else None)})"
