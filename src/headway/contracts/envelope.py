"""The `envelope` contract: `{"summary": …, "todos": […]}` in, the Standard Envelope out, whatever happens.

Ids in the answer are positions, for reading only. A finished list is written to the completion log.
"""

from __future__ import annotations

import json
import math
import os
import time

from headway.contracts.calls import ENVELOPE, NAME, notes, write
from headway.contracts.completion_log import is_finished, log_completion
from headway.contracts.schema import envelope_parameters
from headway.core.errors import HeadwayError, InvalidTodos
from headway.core.model import Status, counts
from headway.core.recap import recap
from headway.core.rules import is_array, is_object
from headway.core.text import neutral, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from headway.core.model import Todo
    from headway.core.session import Session, Written

DESCRIPTION = (
    "Replace the todo list by the complete current one; the answer has the list, a recap and the counts.\n"
    "1. When: only for work of three steps or more, or when the user asks to follow progress; not for questions.\n"
    "2. States: pending, in_progress, completed, cancelled; at most one item in_progress at a time.\n"
    "3. Timing: set an item to in_progress before you begin it and to completed as soon as it is done;"
    " set what is no longer needed to cancelled.\n"
    "4. Whole list: always send every item, never only what changed.\n"
    "5. Wording: short items that can be acted on (at most 10 items of 60 characters), nothing vague.\n"
    "6. Keep it true: the list may change as you learn more; each time it does, call TodoWrite again.\n"
    "Always say in `summary` what the whole task is."
)
_MARKS = {
    Status.PENDING: "[ ]",
    Status.IN_PROGRESS: "[▶]",
    Status.COMPLETED: "[✓]",
    Status.CANCELLED: "[~]",
    Status.BLOCKED: "[!]",
}
_DASHES = "-------------------"


def definition() -> dict[str, object]:
    """The tool as a provider is told of it."""
    return {"name": NAME, "description": DESCRIPTION, "parameters": envelope_parameters()}


def run(session: Session, project_root: str, params: object) -> str:
    """Applies the call and answers the Standard Envelope as JSON. Never raises."""
    started = time.perf_counter()
    try:
        answer = _applied(session, project_root, params)
    except InvalidTodos as error:
        lines = [f"{NAME} changed nothing. Correct this and send the complete list again:"]
        text = "\n".join([*lines, *(f"- {line}" for line in error.violations)])
        answer = _failed("INVALID_PARAM", "; ".join(error.violations), text)
    except HeadwayError as error:
        answer = _failed("INTERNAL_ERROR", str(error), f"{NAME} changed nothing. {error}")
    except Exception:
        _logged("TodoWrite failed")
        text = (
            f"{NAME} failed inside and changed nothing. Send the list once more; if it fails again, work on without it."
        )
        answer = _failed("INTERNAL_ERROR", "Unexpected internal error.", text)
    answer["stats"] = _stats(session, started)
    answer["context"] = {"cwd": _working_folder(project_root), "params_input": params}
    return _json(answer)


def _applied(session: Session, project_root: str, params: object) -> dict[str, object]:
    written = write(session, params, ENVELOPE, with_summary=True)
    summary = session.todo_list.summary or ""
    data: dict[str, object] = {
        "todos": [
            {"id": f"t{place}", "content": todo.content, "status": todo.status}
            for place, todo in enumerate(written.todos, start=1)
        ],
        "recap": recap(written.todos, blocked=False),
        "summary": summary,
    }
    lines = _text_lines(written)
    status = "success"
    if is_finished(written.todos):
        try:
            saved = log_completion(session, project_root, summary, changed=written.changed)
        except (OSError, HeadwayError) as error:
            status = "partial"
            reason = neutral(getattr(error, "strerror", None) or str(error))
            lines.append(f"(The list is updated, but the completion log could not be written: {reason})")
        else:
            if saved is not None:
                data["persisted_to"] = saved
                lines.append(f"(Saved to {saved})")
    return {"status": status, "data": data, "text": "\n".join(lines)}


def _text_lines(written: Written) -> list[str]:
    items = [f"{_MARKS[todo.status]} {neutral(todo.content)}" for todo in written.todos]
    return ["--- TODO UPDATE ---", *(items or ["(empty)"]), _DASHES, *notes(written)]


def _failed(code: str, message: str, text: str) -> dict[str, object]:
    return {"status": "error", "data": {}, "text": text, "error": {"code": code, "message": message}}


def _stats(session: Session, started: float) -> dict[str, int]:
    """Counts of the list as it now is."""
    todos: list[Todo] = []
    try:
        todos = session.todos
    except HeadwayError:
        _logged("The list could not be read")
    found = counts(todos)
    stats = {"time_ms": max(0, round((time.perf_counter() - started) * 1000)), "total": len(todos)}
    for status in (Status.PENDING, Status.IN_PROGRESS, Status.COMPLETED, Status.CANCELLED):
        stats[status] = found[status]
    return stats


def _working_folder(project_root: str) -> str:
    try:
        return os.path.relpath(os.getcwd(), project_root).replace(os.sep, "/")
    except (OSError, ValueError):
        return "."


def _logged(message: str) -> None:
    import logging

    logging.getLogger("headway").exception(message)


def _json(answer: dict[str, object]) -> str:
    try:
        text = json.dumps(answer, ensure_ascii=False, allow_nan=False)
        text.encode()
        return text
    except (ValueError, TypeError, RecursionError):
        return json.dumps(_plain(answer, 20))


def _plain(value: object, depth: int) -> object:
    """The nearest thing to a value that JSON can carry."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if depth and is_object(value):
        return {str(key): _plain(entry, depth - 1) for key, entry in value.items()}
    if depth and is_array(value):
        return [_plain(entry, depth - 1) for entry in value]
    try:
        return shown(value, 200)
    except RecursionError:
        return "…"
