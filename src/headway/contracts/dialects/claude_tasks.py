"""`TaskCreate`, `TaskUpdate`, `TaskGet` and `TaskList` of Claude Code: one task per call, with what it waits for.

The description is kept as notes. Cancelled todos are left out of the list, blocked ones are pending in it.
"""

from __future__ import annotations

from headway.contracts.arguments import ToolFault
from headway.contracts.dialects.dialect import LONGEST, WORK, Dialect
from headway.contracts.todo_tools import TodoTool
from headway.core.errors import TodoNotFound
from headway.core.model import Status, Todo
from headway.core.text import sanitize_for_display, trim_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from headway.session import Session

_TEXT = {"type": "string"}
_LONG = {"type": "string", "maxLength": LONGEST}
_IDS = {"type": "array", "items": _TEXT}
_IGNORED: dict[str, object] = {"type": "object", "properties": {}, "additionalProperties": True}
_DELETED = "deleted"


def _describe(required: list[str], **properties: object) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _create(session: Session, values: dict[str, Any], actor: str) -> str:
    notes, active_form = values["description"] or None, values.get("activeForm") or None
    todo = session.add(values["subject"], actor=actor, notes=notes, active_form=active_form)
    return f"Task #{_quote(todo)} created successfully: {sanitize_for_display(todo.content, 200)}"


def _update(session: Session, values: dict[str, Any], actor: str) -> str:
    todo = _find(session, values["taskId"])
    blocked = [_find(session, other) for other in values.get("addBlocks") or ()]
    waits_for = [_find(session, other).id for other in values.get("addBlockedBy") or ()]
    notes: list[str] = []
    if values.get("status") == _DELETED:
        session.drop(todo.id, actor=actor)
        return f"Deleted task #{_quote(todo)}"
    patch: dict[str, object] = {"id": todo.id}
    for wire, name in (("subject", "content"), ("description", "notes"), ("activeForm", "active_form")):
        if values.get(wire) is not None:
            patch[name] = values[wire]
    if status := values.get("status"):
        if WORK[status] is Status.PENDING and todo.status not in WORK.values():
            notes.append(f"Note: task #{_quote(todo)} stays {todo.status}")
        else:
            patch["status"] = WORK[status]
    if values.get("owner") is not None:
        notes.append("Note: owner was not set; who works on a task claims it")
    if waits_for:
        patch["depends_on"] = [*todo.depends_on, *waits_for]
    patches = [patch]
    for other in blocked:
        if other.id == todo.id:
            raise ToolFault(f"TaskUpdate changed nothing: task #{_quote(todo)} cannot block itself.")
        patches.append({"id": other.id, "depends_on": [*other.depends_on, todo.id]})
    session.write([one for one in patches if len(one) > 1] or [patch], actor=actor)
    return "\n".join([f"Updated task #{_quote(todo)}", *notes])


def _get(session: Session, values: dict[str, Any], actor: str) -> str:
    todo = _find(session, values["taskId"])
    blocks = [other for other in session.todos if todo.id in other.depends_on]
    lines = [f"Task #{_quote(todo)}: {sanitize_for_display(todo.content, 500)}", f"Status: {_show_status(todo)}"]
    if todo.notes:
        lines.append(f"Description: {sanitize_for_display(todo.notes, 2_000)}")
    if todo.depends_on:
        lines.append(f"Blocked by: {', '.join('#' + sanitize_for_display(other, 40) for other in todo.depends_on)}")
    if blocks:
        lines.append(f"Blocks: {', '.join(f'#{_quote(other)}' for other in blocks)}")
    return "\n".join(lines)


def _list(session: Session, values: dict[str, Any], actor: str) -> str:
    finished = {todo.id for todo in session.todos if todo.status is Status.COMPLETED}
    lines: list[str] = []
    for todo in _list_shown(session):
        open_ones = [f"#{sanitize_for_display(other, 40)}" for other in todo.depends_on if other not in finished]
        waits = f" [blocked by {', '.join(open_ones)}]" if open_ones else ""
        owner = f" ({sanitize_for_display(todo.owner, 40)})" if todo.owner else ""
        lines.append(f"#{_quote(todo)} [{_show_status(todo)}] {sanitize_for_display(todo.content, 200)}{owner}{waits}")
    return "\n".join(lines) or "No tasks found"


def _list_shown(session: Session) -> list[Todo]:
    return [todo for todo in session.todos if todo.status is not Status.CANCELLED]


def _show_status(todo: Todo) -> str:
    return str(todo.status if todo.status in WORK.values() else Status.PENDING)


def _read(session: Session) -> list[dict[str, Any]]:
    return [
        {
            "taskId": todo.id,
            "subject": todo.content,
            "description": todo.notes or "",
            "status": _show_status(todo),
            "blockedBy": list(todo.depends_on),
            **({"activeForm": todo.active_form} if todo.active_form else {}),
        }
        for todo in _list_shown(session)
    ]


def _find(session: Session, task_id: str) -> Todo:
    items = session.todo_list.items
    name = trim_text(task_id)
    todo = items.get(name) or items.get(name.removeprefix("#"))
    if todo is None:
        raise TodoNotFound(name, items)
    return todo


def _quote(todo: Todo) -> str:
    return sanitize_for_display(todo.id, 40)


_CREATED = _describe(["subject", "description"], subject=_LONG, description=_TEXT, activeForm=_TEXT, metadata=_IGNORED)
_UPDATED = _describe(
    ["taskId"],
    taskId=_TEXT,
    subject=_TEXT,
    description=_TEXT,
    activeForm=_TEXT,
    status={"type": "string", "enum": [*WORK, _DELETED]},
    addBlocks=_IDS,
    addBlockedBy=_IDS,
    owner=_TEXT,
    metadata=_IGNORED,
)
DIALECT = Dialect(
    "claude-tasks",
    (
        TodoTool(
            "TaskCreate",
            "Create a task on the task list, which the user sees: a short imperative subject, and a description of "
            "what is to be done. It starts as pending. Use it for work of three steps or more.",
            _create,
            _CREATED,
        ),
        TodoTool(
            "TaskUpdate",
            "Change a task: its status (in_progress before you start it, completed as soon as it is fully done, "
            "deleted to remove it), its texts, or what it waits for (addBlockedBy) and what waits for it (addBlocks).",
            _update,
            _UPDATED,
        ),
        TodoTool(
            "TaskGet",
            "Show a task with everything known of it.",
            _get,
            _describe(["taskId"], taskId=_TEXT),
            reads_only=True,
        ),
        TodoTool(
            "TaskList",
            "List all tasks with their status and what they wait for. The user may have changed them.",
            _list,
            _describe([]),
            reads_only=True,
        ),
    ),
    _read,
)
