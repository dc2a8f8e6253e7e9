"""The list as a file for other programs (JSON, CSV), and items from a file that came from anywhere.

What is read may be hostile: every fault becomes one `HeadwayError` with a sentence for a person.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.core.errors import HeadwayError, InvalidTodos
from headway.core.json_text import BadJson, parse_json
from headway.core.model import Status, Todo, count_by_status
from headway.core.plans import Plan, to_plan_record
from headway.core.rules import FULL, DuplicateKeys, check_todo, is_array, is_object
from headway.core.text import json_type_name, neutralize, sanitize_for_display
from headway.views.checklist import from_markdown, has_items

if TYPE_CHECKING:
    from collections.abc import Sequence

VERSION = "1.0"
COLUMNS = {
    "id": "id",
    "description": "content",
    "activeForm": "active_form",
    "status": "status",
    "priority": "priority",
    "module": "module",
    "dependencies": "depends_on",
    "risks": "risks",
    "estimatedTime": "estimated_time",
    "verify": "verify",
    "notes": "notes",
    "createdFrom": "created_from",
    "createdAt": "created_at",
    "completedAt": "completed_at",
}
"""Name in the export → field."""
_KEPT = ("id", "content", "status", "created_at", "completed_at")
"""Fields that stay as they are where an export does not have them; the others are then unset."""
_IMPORTED = tuple(name for name in COLUMNS.values() if name not in _KEPT)
_STATISTICS = (Status.PENDING, Status.IN_PROGRESS, Status.COMPLETED, Status.CANCELLED, Status.BLOCKED)
_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")


def to_json_export(todos: Sequence[Todo], plan: Plan | None, generated_at: str) -> dict[str, object]:
    """The list and its plan as one JSON object; importing it gives the same list."""
    number = count_by_status(list(todos))
    statistics = {"total": len(todos), **{status.value: number[status] for status in _STATISTICS}}
    return {
        "version": VERSION,
        "generatedAt": generated_at,
        "sourcePlan": to_plan_record(plan) if plan else None,
        "todos": [to_export_record(todo) for todo in todos],
        "statistics": statistics,
    }


def to_export_record(todo: Todo) -> dict[str, object]:
    """The item under the names of the export."""
    record: dict[str, object] = {}
    for wire, name in COLUMNS.items():
        value = getattr(todo, name)
        record[wire] = list(value) if isinstance(value, tuple) else value and str(value)  # pyright: ignore[reportUnknownArgumentType]
    return record


def to_csv(todos: Sequence[Todo]) -> str:
    """The list for a spreadsheet: a header row, then one line an item. No cell is taken for a formula."""
    import csv
    import io

    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for todo in todos:
        writer.writerow([_to_cell(value) for value in to_export_record(todo).values()])
    return out.getvalue()


def _to_cell(value: object) -> str:
    if is_array(value):
        value = "; ".join(str(part) for part in value)
    text = neutralize(str(value or ""))
    return f"'{text}" if text.lstrip().startswith(_FORMULA) else text


def import_items(text: str, name: str = "The file") -> list[dict[str, object]]:
    """The items of a file, JSON or a Markdown checklist: what it holds decides, not what it is called."""
    body = text.removeprefix("\ufeff")
    start = body.lstrip()[:1]
    if not start:
        raise HeadwayError(f"{_source_name(name)} is empty; expected a JSON export or a Markdown checklist.")
    if start in "{[" or (name.lower().endswith(".json") and not has_items(body)):
        try:
            data = parse_json(body)
        except BadJson as problem:
            if not has_items(body):
                raise HeadwayError(f"{_source_name(name)} is not valid JSON: {problem}.") from None
        else:
            return from_json_export(data)
    try:
        return from_markdown(body)
    except HeadwayError as error:
        raise HeadwayError(f"{_source_name(name)} is neither a JSON export nor a checklist. {error}") from None


def from_json_export(data: object) -> list[dict[str, object]]:
    """The items of an export, for `session.write(items, replace=True)`: what is absent there is unset here."""
    faults: list[str] = []
    if isinstance(data, DuplicateKeys):
        faults.extend(f"{sanitize_for_display(key)}: Duplicate field" for key in data.repeated)
    raw = _find_items(data)
    items: list[dict[str, object]] = []
    for index, entry in enumerate(map(_drop_duplicate_names, raw)):
        path = f"todos[{index}]"
        found = len(faults)
        item = {**dict.fromkeys(_IMPORTED), "status": "pending", **check_todo(entry, FULL, path, faults)}
        if is_object(entry) and not entry.keys() & {"content", "description"}:
            faults.insert(found, f"{path}.description: Required")
        items.append(item)
    if faults:
        raise InvalidTodos(faults)
    return items


def _drop_duplicate_names(entry: object) -> object:
    """The item without the fields that `todos list --json` has under another name as well."""
    if not is_object(entry) or isinstance(entry, DuplicateKeys):
        return entry
    twice = {
        name for wire, name in COLUMNS.items() if wire != name and wire in entry and entry.get(name) == entry[wire]
    }
    return {name: value for name, value in entry.items() if name not in twice}


def _find_items(data: object) -> Sequence[object]:
    if is_object(data):
        version = data.get("version", VERSION)
        known = isinstance(version, str) and version.partition(".")[0] == "1"
        if not known and "session" not in data:  # a session's list as printed has the version of the session
            raise HeadwayError(
                f"This export has version {sanitize_for_display(version)}, but this "
                f"version of Headway reads only version {VERSION}."
            )
        if "todos" not in data:
            raise InvalidTodos(["todos: Required"])
        data = data["todos"]
    if not is_array(data):
        raise InvalidTodos([f"todos: Expected array, received {json_type_name(data)}"])
    return data


def _source_name(name: str) -> str:
    return sanitize_for_display(name, 100)
