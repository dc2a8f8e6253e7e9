"""`create_todo_list`: a new list in place of the one before, whose states the agent's loop then keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, Field

from headway.contracts.shared_rules import list_notes
from headway.core.model import MODEL
from headway.tools.base import ToolInput, ToolResult, read_description
from headway.tools.todos.list_tool import ListTool, format_ids

if TYPE_CHECKING:
    from headway.session import Session


_MOST_ITEMS = 1_000
_LONGEST = 1_000


def _check_not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("Required")
    return text


class Item(ToolInput):
    id: str | None = Field(None, description="Needed only if other items depend on it.")
    description: Annotated[str, AfterValidator(_check_not_blank)] = Field(
        max_length=_LONGEST, description="What to do, in the imperative."
    )
    depends_on: list[str] | None = Field(None, description="Ids of items that must be completed first.")
    notes: str | None = None


class CreateTodoListInput(ToolInput):
    title: str | None = None
    items: list[Item] = Field(max_length=_MOST_ITEMS)


class CreateTodoList(ListTool[CreateTodoListInput]):
    name = "create_todo_list"
    description = read_description(__file__)
    input = CreateTodoListInput

    def change(self, session: Session, call: CreateTodoListInput) -> ToolResult:
        # An empty title or summary is that of a new list: those of the list before say nothing about this one.
        written = session.write(
            [_to_fields(item) for item in call.items],
            replace=True,
            title=call.title or "",
            summary="",
            actor=MODEL,
            cause="create",
        )
        todos = written.todos
        what = f"Created {len(todos)} todo{'' if len(todos) == 1 else 's'}: {format_ids(todos)}"
        return ToolResult("\n".join([what if todos else "Todo list cleared", *list_notes(written)]))

    def fault(self, line: str) -> str:
        return f"items{line.removeprefix('todos')}" if line.startswith("todos") else line


def _to_fields(item: Item) -> dict[str, object]:
    """All that the tool can say of an item, so that one of the same text as before starts afresh."""
    fields: dict[str, object] = {
        "description": item.description,
        "status": "pending",
        "depends_on": item.depends_on or [],
        "notes": item.notes,
        "interrupted": False,
    }
    if item.id and item.id.strip():
        fields["id"] = item.id
    return fields
