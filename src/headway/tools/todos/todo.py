"""`todo`: what changed, instead of the whole list. Going through a list costs a few words for each item."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydantic import Field

from headway.core.model import FINISHED, MODEL, Status, Todo
from headway.core.text import join_first_few, sanitize_for_display
from headway.tools.base import ToolInput, ToolResult, read_description
from headway.tools.todos.list_tool import MAX_ID, MAX_TEXT, ListTool, format_ids, format_progress

if TYPE_CHECKING:
    from headway.session import Session, Written


class Block(ToolInput):
    id: str
    why: str


class TodoInput(ToolInput):
    done: list[str] | None = Field(None, description="Ids.")
    start: str | None = Field(None, description="Id of the todo to start; only needed to change the order.")
    block: Block | None = None
    add: list[str] | None = Field(None, description="Texts of new todos.")
    drop: list[str] | None = Field(None, description="Ids.")


class TodoTool(ListTool[TodoInput]):
    name = "todo"
    description = read_description(__file__)
    input = TodoInput

    def change(self, session: Session, call: TodoInput) -> ToolResult:
        written = session.advance(
            done=call.done or (),
            start=call.start,
            block=call.block and {call.block.id: call.block.why},
            add=call.add or (),
            drop=call.drop or (),
            actor=MODEL,
        )
        return ToolResult("; ".join(_list_answer_parts(written, len(call.add or ()), call.start)))


def _list_answer_parts(written: Written, added: int, start: str | None) -> list[str]:
    """The parts of the answer; text of an item comes last, where it can pass for nothing else."""
    todos = written.todos
    parts = [f"ok {format_progress(todos)}"]
    if added:
        parts.append(f"added {format_ids(todos[-added:])}")
    if written.detached:
        parts.append(
            f"dependencies removed: {join_first_few([f'{item} on {needed}' for item, needed in written.detached])}"
        )
    active = _find_active(todos, start)
    if active is not None:
        parts.append(f"now {sanitize_for_display(active.id, MAX_ID)}: {sanitize_for_display(active.content, MAX_TEXT)}")
    elif todos and all(todo.status in FINISHED for todo in todos):
        parts.append("all done")
    else:
        parts.append("nothing in progress")
    return parts


def _find_active(todos: Sequence[Todo], start: str | None) -> Todo | None:
    """The item that the model is at: of several the one started last, and never one that a worker has claimed."""
    found = [todo for todo in todos if todo.status is Status.IN_PROGRESS and todo.owner in (None, MODEL)]
    asked = start and start.strip()
    return max(found, key=lambda todo: (todo.id == asked, todo.started_at or ""), default=None)
