"""`todos list` and `todos next`: the list in full for a person who asked, as plain lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.core.evidence import evidence_level
from headway.core.model import FINISHED, Priority, Status, Todo, count_by_status
from headway.core.text import sanitize_for_display
from headway.views.box import ICONS
from headway.views.evidence_words import NOT_VERIFIED, evidence_mark, evidence_word, explain_note
from headway.views.terminal import to_visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headway.core.graph import WaitingTodo
    from headway.core.model import State

MAX_TEXT = 200
MAX_LISTED = 20
_GROUPS = (
    (Priority.HIGH, "High priority"),
    (Priority.MEDIUM, "Medium priority"),
    (None, "No priority"),
    (Priority.LOW, "Low priority"),
)
_COUNT_ORDER = (Status.COMPLETED, Status.IN_PROGRESS, Status.PENDING, Status.BLOCKED, Status.CANCELLED)


def is_half_changed(state: State, agent: str) -> bool:
    """Whether a process was killed while it changed the project's files, and nothing has settled that since."""
    run = state.runs.get(agent)
    return run is not None and not run.is_active and any(last.merging for last in run.executed.values())


def explain_half_changed(program: str = "headway ") -> str:
    return (
        "An execution, rollback or undo was interrupted and left some of the project's files half changed. Repair them "
        f"with: {program}todos execute-all"
    )


def list_lines(todos: Sequence[Todo], program: str = "headway ") -> list[str]:
    """Return counts, then unfinished items by priority with all there is to know about them, then the finished ones.

    Commands are named as they are typed after `program`: `headway ` in a shell, `/` in the terminal session.
    """
    if not todos:
        return [f'The list is empty. Add a todo with: {program}todos add "…"']
    lines = [f"📋 Todo List ({len(todos)} total)", counts_line(todos)]
    for priority, heading in _GROUPS:
        group = [todo for todo in todos if todo.status not in FINISHED and todo.priority is priority]
        if group:
            lines += ["", heading]
            for todo in group:
                lines += _active_lines(todo)
    finished = [todo for todo in todos if todo.status in FINISHED]
    if finished:
        lines += ["", "Finished", *(line for todo in finished for line in _finished_lines(todo))]
    return lines


def next_lines(ready: Sequence[Todo], waiting: Sequence[WaitingTodo]) -> list[str]:
    """What can run now, and for what cannot, why."""
    if not ready and not waiting:
        return ["Nothing to run: every todo is finished."]
    lines: list[str] = []
    if ready:
        lines.append(f"Can run now ({len(ready)}):")
        for todo in ready:
            lines += _active_lines(todo)
    else:
        lines.append("Nothing can run now.")
    if waiting:
        lines += ["", f"Cannot run yet ({len(waiting)}):"]
        for other in waiting:
            lines += [f"  {todo_line(other.todo)}", f"      {_format_text(other.reason)}"]
    return lines


def counts_line(todos: Sequence[Todo]) -> str:
    """`1 completed, 2 pending`: how many items have each status, without the zeros."""
    number = count_by_status(list(todos))
    return ", ".join(f"{number[status]} {status}" for status in _COUNT_ORDER if number[status]) or "0 todos"


def todo_line(todo: Todo) -> str:
    """`✓ t1: Read the test`; where completion is not verified, `✓? t1: Read the test (reported)`."""
    level = evidence_level(todo)
    icon = ICONS[todo.status] if level is None else evidence_mark(level)
    marks = [evidence_word(level)] if icon == NOT_VERIFIED else []
    if todo.interrupted:
        marks.append("interrupted")
    if todo.owner and todo.status is Status.IN_PROGRESS:
        marks.append(f"owner {_format_text(todo.owner, 60)}")
    tail = f" ({', '.join(marks)})" if marks else ""
    return f"{icon} {_format_text(todo.id, 60)}: {_format_text(todo.content)}{tail}"


def _finished_lines(todo: Todo) -> list[str]:
    note = todo.evidence.note if todo.evidence and evidence_level(todo) else None
    return [f"  {todo_line(todo)}", *([f"      {_format_text(explain_note(note))}"] if note else [])]


def _active_lines(todo: Todo) -> list[str]:
    facts: list[str] = []
    if todo.module:
        facts.append(f"module: {_format_text(todo.module, 60)}")
    if todo.depends_on:
        facts.append(f"depends on: {_join_limited(todo.depends_on, 60)}")
    if todo.estimated_time:
        facts.append(f"time: {_format_text(todo.estimated_time, 60)}")
    lines = [f"  {todo_line(todo)}"]
    if facts:
        lines.append(f"      {' · '.join(facts)}")
    if todo.verify:
        lines.append(f"      check: {_format_text(todo.verify)}")
    if todo.risks:
        lines.append(f"      risks: {_join_limited(todo.risks, MAX_TEXT, '; ')}")
    if todo.notes:
        lines.append(f"      notes: {_format_text(todo.notes)}")
    return lines


def _join_limited(texts: Sequence[str], limit: int, between: str = ", ") -> str:
    more = f"{between}… {len(texts) - MAX_LISTED} more" if len(texts) > MAX_LISTED else ""
    return between.join(_format_text(text, limit) for text in texts[:MAX_LISTED]) + more


def _format_text(text: str, limit: int = MAX_TEXT) -> str:
    return to_visible(sanitize_for_display(text, limit))
