"""What goes on while items are executed: a line for each that begins and ends, and what each is at right now. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from headway.core.batch_events import BatchFinished, BatchStarted, ItemFinished, ItemStarted, ModeChanged
from headway.core.events import ListDelta, PlanModeChange
from headway.core.model import Status
from headway.core.run_events import RoundStarted, TextDelta, ToolFinished, ToolStarted
from headway.core.text import SENTENCE_ENDS, shown
from headway.views.evidence_words import level_mark, level_word
from headway.views.run_summary import duration
from headway.views.terminal import cells, fitted, visible

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


class Executing:
    """Give it every event; it gives lines to print, and `doing` is what goes on."""

    def __init__(self) -> None:
        self._items: dict[str, ItemStarted] = {}
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

    def whose(self, event: Event) -> str:
        """`step-2: Write the parser`, if the event is of the run of an item; else nothing."""
        item = self._items.get(event.agent)
        return f"{shown(item.item_id, MAX_ID)}: {item.content}" if item else ""

    def doing(self) -> list[str]:
        """What each item is at, in the order in which they began."""
        return [
            f"{shown(item.item_id, MAX_ID)}  {self._at.get(agent) or item.content}"
            for agent, item in self._items.items()
        ]

    def heard(self, event: Event) -> list[Line]:
        data = event.data
        match data:
            case BatchStarted():
                self.side_by_side, self._goes_on = data.parallel > 1, True
                self._items.clear()
                return [(DETAIL, mode_line(data.mode), ""), *([("!", data.note, "")] if data.note else [])]
            case ModeChanged():
                return [(DETAIL, mode_line(data.mode), "")]
            case BatchFinished():
                self._goes_on = False
                return []
            case PlanModeChange() if self._goes_on:
                now = "is paused until plan mode is off" if data.on else "is no longer paused by plan mode"
                return [("⏸" if data.on else "!", f"The execution {now}", "")]
            case ItemStarted():
                self._items[data.agent] = data
                return started_lines(data)
            case ItemFinished():
                item = self._items.pop(data.agent, None)
                self._at.pop(data.agent, None)
                level = self._levels.get(data.item_id)
                return [finished_line(data, item.content if item else "", level), *detail_lines(data)]
            case ListDelta():
                self._see(data)
                return []
            case _:
                if event.agent in self._items:
                    self._follow(event.agent, data)
                return []

    def _see(self, delta: ListDelta) -> None:
        for todo_id, fields in delta.changed.items():
            if "evidence" in fields:
                level: object = getattr(fields["evidence"][1], "level", None)
                self._levels.pop(todo_id, None)
                if level is not None:
                    self._levels[todo_id] = str(level)

    def _follow(self, agent: str, data: object) -> None:
        match data:
            case ToolStarted():
                self._at[agent] = data.summary
            case ToolFinished() | RoundStarted():
                self._at[agent] = "waiting for the model …"
            case TextDelta() if data.kind == "text":
                self._at[agent] = "answering …"
            case _:
                pass


def execution_line(state: State, agent: str) -> str:
    """That items are being executed, in which mode, and what holds that up; empty if none are."""
    run = state.runs.get(agent)
    if run is None or not run.goes_on or run.batch is None:
        return ""
    what = "Stopping" if run.stopping else pause_words(state, agent) or "Executing"
    return f"{what} · {mode_line(run.batch.mode)}"


def pause_words(state: State, agent: str) -> str:
    """Why the agent's run waits; empty if it does not."""
    if not state.is_paused(agent):
        return ""
    if not state.runs[agent].paused:
        return PAUSED_BY_PLAN_MODE
    return "Pausing after this round" if state.is_pausing(agent) else "Paused"


def mode_line(mode: str) -> str:
    return f"Mode: {mode} ({ASKS[mode]})" if mode in ASKS else f"Mode: {shown(mode)}"


def started_lines(data: ItemStarted) -> list[Line]:
    """`▶ [2/5] Implement JWT ⏱ 45min`, and what else there is to know."""
    time = f" ⏱ {data.estimated_time}" if data.estimated_time else ""
    again = " (again, alone)" if data.alone else f" (attempt {data.attempt})" if data.attempt > 1 else ""
    lines = [(BEGINS, f"[{data.index}/{data.total}] {shown(data.content, MAX_TEXT)}{time}{again}", "")]
    if data.restored:
        number = len(data.restored)
        what = "1 file to its" if number == 1 else f"{number} files to their"
        lines.append((DETAIL, f"Restored {what} state before the previous attempt: {_names(data.restored)}", ""))
    return lines


def with_its_end(line: str, width: int) -> str:
    """A line that begins an item, in so many cells: of one that is too long, the time and the attempt stay."""
    found = _END.search(line)
    assert found is not None
    end = visible(found[0])
    return fitted(line[: found.start()], max(width - cells(end), 10)) + end


def finished_line(data: ItemFinished, content: str, level: str | None = None) -> Line:
    """`✓ s2: Implement JWT (verified, 4.2 s, 2 files)`, or why it is not completed."""
    what = f"{shown(data.item_id, MAX_ID)}: {shown(content, MAX_TEXT)}" if content else shown(data.item_id, MAX_ID)
    match data.outcome:
        case "completed":
            files = f", {len(data.files)} file{'' if len(data.files) == 1 else 's'}" if data.files else ""
            return level_mark(level), f"{what} ({level_word(level)}, {duration(data.seconds)}{files})", ""
        case "conflict":
            return "!", what, f"{data.reason} It will run again on its own."
        case "cancelled":
            return "⊘", what, data.reason
        case "interrupted":
            return "⏸", what, f"stopped, since it was {data.taken_away} meanwhile" if data.taken_away else "interrupted"
        case _:
            return "✗", what, _with_retry(data)


def _with_retry(data: ItemFinished) -> str:
    if not data.again:
        return data.reason
    end = "" if data.reason.rstrip("”").endswith(SENTENCE_ENDS) else "."
    return f"{data.reason}{end} Retrying."


def detail_lines(data: ItemFinished) -> list[Line]:
    """What a person has to know of the files, besides how many changed."""
    lines: list[str] = []
    if data.removed:
        lines.append(f"removed: {_names(data.removed)}")
    if data.not_merged:
        nothing = data.outcome == "completed" and not data.files
        lines += ["None of its changes were merged into the project's files."] if nothing else []
        lines.append(f"not merged (ignored, copied or linked): {_names(data.not_merged)}")
    if data.by_others:
        lines.append(f"changed during the attempt, but not by its file tools: {_names(data.by_others)}")
    if data.committed:
        lines.append("Its commits were merged as uncommitted changes.")
    if data.worktree and data.taken_away:
        lines.append(f"Its changes were not merged and are in {shown(data.worktree, _PATH)}")
    elif data.worktree and not data.again:
        lines.append(f"Its files stay until the next attempt: {shown(data.worktree, _PATH)}")
    elif data.files and data.taken_away:
        lines.append(f"Its changes stay in the project: {_names(data.files)}")
    return [(DETAIL, line, "") for line in lines]


def _names(files: Sequence[str]) -> str:
    """All of them: what is gone or left is named, however much it is."""
    return ", ".join(shown(file, _PATH) for file in files)


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
) -> list[str]:
    """What an execution came to, and how to go on. `only`: the one item that was executed, and what it `became`."""
    if outcome == "nothing":
        return ["No pending todos", *([error] if error else [])]
    if only is not None:
        again = f"Resume with: {resume}" + ("" if outcome == "interrupted" else "   (also retries failed items)")
        return _ending_of_one(outcome, shown(only, MAX_ID), became, seconds, error, again)
    if outcome == "complete":
        return ["✅ Batch Execution Complete!", f"Executed {completed}/{total} todos in {duration(seconds)}"]
    if outcome == "interrupted":
        return ["⏸ Batch Execution Interrupted", f"Completed: {completed}/{total} todos", f"Resume with: {resume}"]
    progress = f"Progress: {completed} completed, {failed} failed"
    if outcome == "waiting":
        return [f"⏸ {error}", progress, "For details: headway todos next"]
    lines = ["❌ Batch Execution Failed", *([error] if error else []), progress]
    return [*lines, f"Resume with: {resume}   (also retries failed items)"]


def _ending_of_one(
    outcome: str, todo_id: str, became: str, seconds: float, error: str | None, resume: str
) -> list[str]:
    match outcome:
        case "complete":
            mark = "✅" if became.startswith(Status.COMPLETED) else "⊘"
            return [f"{mark} {todo_id} {became} in {duration(seconds)}"]
        case "interrupted":
            return [f"⏸ {todo_id} interrupted after {duration(seconds)}", resume]
        case _:
            return [f"❌ {error or f'{todo_id} failed.'}", resume]


def status_words(todo: Todo | None) -> str:
    """What an item became, with what shows it: `completed (verified)`."""
    if todo is None:
        return "dropped"
    if todo.status is not Status.COMPLETED:
        return str(todo.status)
    return f"{todo.status} ({level_word(todo.evidence.level if todo.evidence is not None else None)})"
