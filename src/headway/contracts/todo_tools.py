"""The tools with which a model keeps its list, whatever loop it works in: what they are called, take, do and answer.

`KINDS` says which of them go together. A call is checked here: no framework has to.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache

from headway.contracts import agent
from headway.contracts.arguments import ToolFault, list_schema_faults, parse_call, refuse_faults
from headway.contracts.schema import build_agent_parameters
from headway.contracts.shared_rules import NAME, list_notes
from headway.contracts.write_todos import PARAMETERS, write_todos
from headway.core.errors import InvalidTodos
from headway.core.json_text import BadJson, parse_json
from headway.core.model import FINISHED, MODEL, Status, Todo
from headway.core.text import join_first_few, sanitize_for_display, trim_text
from headway.views.prompt_block import count_completed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from headway.core.todo_fields import TodoChanges
    from headway.session import Session, Written

MOST_IDS = 20
"""How many ids an answer names one by one."""
CLAIM_LEASE = 60.0
"""Seconds for which a worker holds the todo that was claimed for it, unless its run renews that."""
MAX_ID = 40
MAX_TEXT = 60


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """What a model is told of a call, and whether it did what was asked."""

    text: str
    ok: bool = True


@dataclass(frozen=True, slots=True)
class TodoTool:
    name: str
    description: str
    run: Callable[[Session, Any, str], str | ToolAnswer]
    """Changes the list as an actor, with arguments that were checked, and returns the answer."""
    schema: dict[str, Any] | None = None
    """Of the arguments, which are checked against it; None: the list's own rules say what is wrong with them."""
    make_parameters: Callable[[], dict[str, Any]] | None = None
    """The schema that a model is told of, where that is another."""
    root: str = "todos"
    """What the list is called in the arguments."""
    reads_only: bool = False

    @property
    def parameters(self) -> dict[str, Any]:
        """The schema of the arguments, as a model is told of it."""
        return self.make_parameters() if self.make_parameters is not None else self.schema or {}

    def parse(self, arguments: object) -> Any:
        """Return the arguments, an object or its JSON, checked. Raises `ToolFault` with every fault."""
        if self.schema is None:
            return _parse_as_sent(self.name, arguments)
        values, repeated = parse_call(self.name, arguments)
        faults = list_schema_faults(self.schema, values)
        refuse_faults(self.name, [*faults, *repeated], self.schema["properties"])
        return values

    def change(self, session: Session, values: Any, actor: str = MODEL) -> ToolAnswer:
        """Do what was asked. Raises `ToolFault` with every violation of the list's rules, and other `HeadwayError`s."""
        try:
            answer = self.run(session, values, actor)
        except InvalidTodos as error:
            found = [
                f"{self.root}{line.removeprefix('todos')}" if line.startswith("todos") else line
                for line in error.violations
            ]
            lines = "\n".join(f"- {line}" for line in found)
            raise ToolFault(f"{self.name} changed nothing. Correct this and call it again:\n{lines}") from None
        return ToolAnswer(answer) if isinstance(answer, str) else answer


def _parse_as_sent(name: str, arguments: object) -> Any:
    """The arguments of a call; only what is not JSON at all is refused here."""
    if isinstance(arguments, str) and arguments.strip():
        try:
            return parse_json(arguments)
        except BadJson as error:
            raise ToolFault(
                f"{name} was not run: its arguments are not valid JSON ({error}); send one JSON object."
            ) from None
    return {} if arguments is None or isinstance(arguments, str) else arguments


def _object(required: Sequence[str] = (), /, **properties: object) -> dict[str, Any]:
    needed = {"required": list(required)} if required else {}
    return {"type": "object", "properties": properties, **needed, "additionalProperties": False}


def _string(description: str = "", **more: object) -> dict[str, object]:
    return {"type": "string", **({"description": description} if description else {}), **more}


def _strings(description: str) -> dict[str, object]:
    return {"type": "array", "items": _string(), "description": description}


# create_todo_list


_NEW_TODO = _object(
    ["description"],
    id=_string("Needed only if other items depend on it."),
    description=_string("What to do, in the imperative.", maxLength=1_000),
    depends_on=_strings("Ids of items that must be completed first."),
    notes=_string(),
)


def _create(session: Session, values: dict[str, Any], actor: str) -> str:
    # An empty title or summary is that of a new list: those of the list before say nothing about this one.
    written = session.write(
        [_to_fields(item) for item in values["items"]],
        replace=True,
        title=values.get("title") or "",
        summary="",
        actor=actor,
        cause="create",
    )
    todos = written.todos
    what = f"Created {len(todos)} todo{'' if len(todos) == 1 else 's'}: {_format_ids(todos)}"
    return "\n".join([what if todos else "Todo list cleared", *list_notes(written)])


def _to_fields(item: dict[str, Any]) -> dict[str, object]:
    """All that the tool can say of an item, so that one of the same text as before starts afresh."""
    fields: dict[str, object] = {
        "description": item["description"],
        "status": "pending",
        "depends_on": item.get("depends_on") or [],
        "notes": item.get("notes"),
        "interrupted": False,
    }
    if (todo_id := item.get("id")) and todo_id.strip():
        fields["id"] = todo_id
    return fields


# todo


def _advance(session: Session, values: dict[str, Any], actor: str) -> str:
    added, start, block = values.get("add") or (), values.get("start"), values.get("block")
    written = session.advance(
        done=values.get("done") or (),
        start=start,
        block=block and {block["id"]: block["why"]},
        add=added,
        drop=values.get("drop") or (),
        actor=actor,
    )
    if actor != MODEL and not any(todo.owner == actor and todo.status is Status.IN_PROGRESS for todo in written.todos):
        session.claim(actor, CLAIM_LEASE)
        written.todos = session.todos
    return "; ".join(_list_answer_parts(written, len(added), start, actor))


def _list_answer_parts(written: Written, added: int, start: str | None, actor: str) -> list[str]:
    """The parts of the answer; text of an item comes last, where it can pass for nothing else."""
    todos = written.todos
    parts = [f"ok {_format_progress(todos)}"]
    if added:
        parts.append(f"added {_format_ids(todos[-added:])}")
    if written.detached:
        pairs = join_first_few([f"{item} on {needed}" for item, needed in written.detached])
        parts.append(f"dependencies removed: {pairs}")
    active = _find_active(todos, start, actor)
    if active is not None:
        parts.append(f"now {sanitize_for_display(active.id, MAX_ID)}: {sanitize_for_display(active.content, MAX_TEXT)}")
    elif todos and all(todo.status in FINISHED for todo in todos):
        parts.append("all done")
    else:
        parts.append("nothing in progress")
    return parts


def _find_active(todos: Sequence[Todo], start: str | None, actor: str) -> Todo | None:
    """The item that the model is at: of several the one started last, and never one that a worker has claimed."""
    found = [todo for todo in todos if todo.status is Status.IN_PROGRESS and todo.owner in (None, actor)]
    asked = start and start.strip()
    return max(found, key=lambda todo: (todo.id == asked, todo.started_at or ""), default=None)


# update_todo_item


def _update(session: Session, values: dict[str, Any], actor: str) -> str:
    fields: TodoChanges = {"status": values["status"]}
    if (notes := values.get("notes")) and notes.strip():
        fields["notes"] = notes
    todo = session.update(trim_text(values["item_id"]), actor=actor, **fields)
    return f"{sanitize_for_display(todo.id, MAX_ID)} → {todo.status} ({_format_progress(session.todos)} done)"


def _format_progress(todos: Sequence[Todo]) -> str:
    """`3/20`, counted as in the list that a model is shown."""
    return f"{count_completed(todos)}/{len(todos)}"


def _format_ids(todos: Sequence[Todo]) -> str:
    """`t1, t2, t3`, or `t1 … t200`."""
    ids = [sanitize_for_display(todo.id, MAX_ID) for todo in todos]
    return ", ".join(ids) if len(ids) <= MOST_IDS else f"{ids[0]} … {ids[-1]}"


# TodoWrite


def _replace(session: Session, sent: Any, actor: str) -> ToolAnswer:
    answer = agent.run(session, sent)
    return ToolAnswer(answer.text, answer.ok)


# which there are


@cache
def todo_tool(name: str) -> TodoTool:
    """Return the tool of this name."""
    match name:
        case "create_todo_list":
            items = {"type": "array", "items": _NEW_TODO, "maxItems": 1_000}
            schema = _object(["items"], title=_string(), items=items)
            return TodoTool(name, _read_description(name), _create, schema, root="items")
        case "update_todo_item":
            status = _string(enum=["pending", "in_progress", "completed", "blocked", "cancelled"])
            schema = _object(["item_id", "status"], item_id=_string(), status=status, notes=_string())
            return TodoTool(name, _read_description(name), _update, schema)
        case "worker_todo":
            block = _object(["id", "why"], id=_string(), why=_string())
            schema = _object(done=_strings("Ids."), block=block, add=_strings("Texts of new todos."))
            description = (
                "Report progress on the shared todo list as soon as you make it: your todo is done or blocked, or "
                "there is more to do. The next todo is then claimed for you."
            )
            return TodoTool("todo", description, _advance, schema)
        case "todo":
            schema = _object(
                done=_strings("Ids."),
                start=_string("Id of the todo to start; only needed to change the order."),
                block=_object(["id", "why"], id=_string(), why=_string()),
                add=_strings("Texts of new todos."),
                drop=_strings("Ids."),
            )
            return TodoTool(name, _read_description(name), _advance, schema)
        case "write_todos":
            return TodoTool(name, _read_description(name), write_todos, make_parameters=lambda: PARAMETERS)
        case _:
            return TodoTool(NAME, agent.DESCRIPTION, _replace, make_parameters=build_agent_parameters)


def _read_description(name: str) -> str:
    """The description in the Markdown file of the same name."""
    with open(os.path.join(os.path.dirname(__file__), f"{name}.md"), encoding="utf-8") as file:
        return file.read().strip()


KINDS: dict[str, tuple[str, ...]] = {
    "full": (NAME, "create_todo_list", "update_todo_item"),
    "light": ("create_todo_list", "todo"),
    "plan": ("write_todos",),
    "off": (),
}
"""The tools that a model is given of each kind, always in this order."""
