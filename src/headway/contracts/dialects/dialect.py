"""What a dialect is, and those whose tool always sends the whole list: a table says what they call things.

Writing is a replacement by the rules of the core: equal content is the same todo, and what was not sent stays.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from headway.contracts.shared_rules import format_counts, list_notes
from headway.contracts.todo_tools import TodoTool
from headway.core.model import Status
from headway.core.rules import FULL, Shape
from headway.core.text import sanitize_for_display, trim_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from headway.core.model import Todo
    from headway.session import Session

LONGEST = 10_000
"""Characters of a text; the list itself has no limit, so that what was read can be written."""
WORK = {"pending": Status.PENDING, "in_progress": Status.IN_PROGRESS, "completed": Status.COMPLETED}
"""The states that every tool has."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """The tools of a dialect, and the list as they show it."""

    name: str
    tools: tuple[TodoTool, ...]
    read: Callable[[Session], list[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class WholeList:
    """A tool that sends the whole list each time."""

    tool: str
    description: str
    fields: Mapping[str, str]
    """What it calls a field → what Headway does; all are required, with the status last."""
    statuses: Mapping[str, Status]
    root: str = "todos"
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, "tuple[str, ...]"])
    """Values of fields that are not free text."""
    stand_ins: Mapping[str, Callable[[Todo], str]] = field(default_factory=dict[str, "Callable[[Todo], str]"])
    """What it shows for a field of Headway's that is empty; the same sent back leaves it empty."""
    more: Mapping[str, object] = field(default_factory=dict[str, object])
    """What else it takes beside the list; a text called `explanation` becomes the summary of the list."""
    reads_without_list: bool = False
    """Whether a call without the list shows it."""

    def to_dialect(self, name: str) -> Dialect:
        tool = TodoTool(self.tool, self.description, self._run, self._schema(), root=self.root)
        return Dialect(name, (tool,), self.read)

    def _schema(self) -> dict[str, Any]:
        properties: dict[str, object] = {}
        for wire in self.fields:
            properties[wire] = (
                {"type": "string", "enum": [*self.choices[wire]]}
                if wire in self.choices
                else {"type": "string", "maxLength": LONGEST}
            )
        properties["status"] = {"type": "string", "enum": [*self.statuses]}
        item = {
            "type": "object",
            "properties": properties,
            "required": [*properties],
            "additionalProperties": False,
        }
        return {
            "type": "object",
            "properties": {**self.more, self.root: {"type": "array", "items": item}},
            "required": [] if self.reads_without_list else [self.root],
            "additionalProperties": False,
        }

    def read(self, session: Session) -> list[dict[str, Any]]:
        """The list in the words of the tool: a state that it does not have is shown as pending, or left out."""
        return [shown for todo in session.todos if (shown := self._show(todo)) is not None]

    def _show(self, todo: Todo) -> dict[str, Any] | None:
        words = {status: word for word, status in self.statuses.items()}
        if todo.status is Status.CANCELLED and todo.status not in words:
            return None
        shown: dict[str, Any] = {}
        for wire, name in self.fields.items():
            value: Any = getattr(todo, name)
            shown[wire] = str(value if value is not None else self.stand_ins[name](todo))
        shown["status"] = words.get(todo.status) or words[Status.PENDING]
        return shown

    def _run(self, session: Session, values: dict[str, Any], actor: str) -> str:
        sent: list[dict[str, str]] | None = values.get(self.root)
        if sent is None:
            return self._format(session)
        todos = session.todos
        if not sent and not self.read(session):
            return "Nothing to clear: only cancelled todos are left" if todos else "Todo list cleared"
        written = session.write(
            self._translate(sent, todos),
            replace=True,
            summary=values.get("explanation") or None,
            actor=actor,
            shape=Shape(FULL.names, statuses=tuple(self.statuses.values())),
        )
        names = {todo.id: f"'{sanitize_for_display(todo.content, 60)}'" for todo in written.todos}
        return "\n".join([format_counts(written), *list_notes(written, names)])

    def _translate(self, sent: list[dict[str, str]], todos: list[Todo]) -> list[dict[str, object]]:
        """What was sent in Headway's words, without what only stood in for nothing."""
        left: dict[str, list[Todo]] = {}
        hidden = {Status.CANCELLED} - {*self.statuses.values()}
        for todo in sorted(todos, key=lambda todo: todo.status in hidden):
            left.setdefault(todo.content, []).append(todo)
        items: list[dict[str, object]] = []
        for one in sent:
            item: dict[str, object] = {name: one[wire] for wire, name in self.fields.items()}
            same = left.get(trim_text(str(item["content"])))
            before = same.pop(0) if same else None
            for name, stand_in in self.stand_ins.items():
                if before is not None and getattr(before, name) is None and item[name] == stand_in(before):
                    del item[name]
            items.append({**item, "status": self.statuses[one["status"]]})
        return items

    def _format(self, session: Session) -> str:
        title = next(iter(self.fields))
        lines = [f"- [{item['status']}] {sanitize_for_display(item[title], 500)}" for item in self.read(session)]
        return "\n".join(lines) or "The todo list is empty"
