"""The `envelope` contract: `{"summary": …, "todos": […]}` in, the Standard Envelope out, whatever happens.

Ids in the answer are positions, for reading only. A finished list is written to the completion log.
"""

from __future__ import annotations

import json
import math
import os
import time

from headway.contracts.completion_log import is_finished, log_completion
from headway.contracts.schema import build_envelope_parameters
from headway.contracts.shared_rules import ENVELOPE, NAME, apply_call, explain_plan_mode, format_correction, list_notes
from headway.core.errors import HeadwayError, InvalidTodos
from headway.core.logs import logger
from headway.core.model import Status, count_by_status
from headway.core.recap import format_recap
from headway.core.rules import is_array, is_object
from headway.core.text import json_type_name, neutralize, sanitize_for_display, trim_text, truncate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from headway.core.model import Todo
    from headway.session import Session, Written

DESCRIPTION = (
    "Replace the todo list with the complete current one; the answer contains the list, a recap and the "
    "counts.\n1. When: only for work of three steps or more, or when the user asks to follow progress; not for "
    "questions.\n2. States: pending, in_progress, completed, cancelled; at most one item in_progress at a "
    "time.\n3. Timing: set an item to in_progress before you start it and to completed as soon as it is done; set "
    "items that are no longer needed to cancelled.\n4. Whole list: always send every item, never only what "
    "changed.\n5. Wording: short, actionable items (at most 10 items of 60 characters), nothing vague.\n6. Keep it "
    "accurate: the list may change as you learn more; call TodoWrite again each time it does.\nAlways describe the "
    "whole task in `summary`."
)
_MARKS = {
    Status.PENDING: "[ ]",
    Status.IN_PROGRESS: "[▶]",
    Status.COMPLETED: "[✓]",
    Status.CANCELLED: "[~]",
    Status.BLOCKED: "[!]",
}
_DASHES = "-------------------"
_DEEPEST = 50
"""How deep an input that is no JSON is repeated in the answer."""
_LONGEST_NUMBER = 10_000
"""Bits of a whole number that Python writes in decimal without complaint."""


def definition() -> dict[str, object]:
    """The tool as a provider is told of it."""
    return {"name": NAME, "description": DESCRIPTION, "parameters": build_envelope_parameters()}


def run(session: Session, project_root: str, params: object) -> str:
    """Applies the call and answers the Standard Envelope as JSON. Never raises."""
    started = time.perf_counter()
    todos: list[Todo] | None = None
    try:
        if refusal := explain_plan_mode(session):
            answer = _error_answer("INVALID_PARAM", refusal, refusal)
        else:
            written = apply_call(session, params, ENVELOPE, with_summary=True)
            todos = written.todos
            answer = _success_answer(session, project_root, written, _trim_summary(params))
    except InvalidTodos as error:
        answer = _error_answer("INVALID_PARAM", "; ".join(error.violations), format_correction(error))
    except HeadwayError as error:
        _log_error("TodoWrite could not use the store")
        answer = _error_answer("INTERNAL_ERROR", str(error), f"{NAME} changed nothing. {error}")
    except Exception:
        _log_error("TodoWrite failed")
        text = (
            f"{NAME} hit an internal error and changed nothing. Send the list once more; if it fails again, "
            "continue without it."
        )
        answer = _error_answer("INTERNAL_ERROR", "Unexpected internal error.", text)
    stats = _count(_read_todos(session) if todos is None else todos)
    answer["stats"] = {"time_ms": max(0, round((time.perf_counter() - started) * 1000)), **stats}
    answer["context"] = {"cwd": _relative_working_folder(project_root), "params_input": params}
    return _to_json(answer)


def _trim_summary(params: object) -> str:
    """The summary of a call that was accepted, as it is kept."""
    return trim_text(str(params["summary"])) if is_object(params) else ""


def _success_answer(session: Session, project_root: str, written: Written, summary: str) -> dict[str, object]:
    """The answer to a list that was written; if that list is finished, logs it."""
    data: dict[str, object] = {
        "todos": [
            {"id": f"t{place}", "content": todo.content, "status": todo.status}
            for place, todo in enumerate(written.todos, start=1)
        ],
        "recap": format_recap(written.todos, blocked=False),
        "summary": summary,
    }
    lines = _text_lines(written)
    status = "success"
    if is_finished(written.todos):
        try:
            saved = log_completion(session, project_root, summary, written.todos)
        except (OSError, HeadwayError, ValueError) as error:
            _log_error("The completion log could not be written")
            status = "partial"
            reason = neutralize(getattr(error, "strerror", None) or str(error))
            lines.append(f"(The list is updated, but the completion log could not be written: {reason})")
        else:
            if saved is not None:
                data["persisted_to"] = saved
                lines.append(f"(Saved to {saved})")
    return {"status": status, "data": data, "text": "\n".join(lines)}


def _text_lines(written: Written) -> list[str]:
    ids = {todo.id: f"t{place}" for place, todo in enumerate(written.todos, start=1)}
    items = [f"{_MARKS[todo.status]} {neutralize(todo.content)}" for todo in written.todos]
    return ["--- TODO UPDATE ---", *(items or ["(empty)"]), _DASHES, *list_notes(written, ids)]


def _error_answer(code: str, message: str, text: str) -> dict[str, object]:
    return {"status": "error", "data": {}, "text": text, "error": {"code": code, "message": message}}


def _read_todos(session: Session) -> list[Todo]:
    """The list as it now is; empty if it cannot be read."""
    try:
        return session.todos
    except Exception:
        _log_error("The list could not be read")
        return []


def _count(todos: list[Todo]) -> dict[str, int]:
    found = count_by_status(todos)
    shown_counts = (Status.PENDING, Status.IN_PROGRESS, Status.COMPLETED, Status.CANCELLED)
    return {"total": len(todos), **{str(status): found[status] for status in shown_counts}}


def _relative_working_folder(project_root: str) -> str:
    try:
        return os.path.relpath(os.getcwd(), os.path.realpath(project_root)).replace(os.sep, "/")
    except (OSError, ValueError):
        return "."


def _log_error(message: str) -> None:
    logger().exception(message)


def _to_json(answer: dict[str, object]) -> str:
    for in_ascii in (False, True):
        try:
            text = json.dumps(answer, ensure_ascii=in_ascii, allow_nan=False)
            text.encode()
            return text
        except Exception:  # the input came from anywhere: its own methods may raise anything
            continue
    return json.dumps(_to_plain(answer, _DEEPEST, ()))


def _to_plain(value: object, depth: int, above: tuple[int, ...]) -> object:
    """The nearest thing to a value that JSON can carry; `above` are the ids of what it is in."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return value if value.bit_length() < _LONGEST_NUMBER else truncate(hex(value), 200)
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if id(value) in above or not depth:
        return "…"
    within = (*above, id(value))
    try:
        if is_object(value):
            return {_to_text(key): _to_plain(entry, depth - 1, within) for key, entry in value.items()}
        if is_array(value):
            return [_to_plain(entry, depth - 1, within) for entry in value]
    except Exception:
        return json_type_name(value)
    return _to_text(value)


def _to_text(value: object) -> str:
    return value if isinstance(value, str) else sanitize_for_display(value, 200)
