"""JSON schemas of the contracts, derived from their shapes and the field table."""

from __future__ import annotations

from headway.contracts.shared_rules import ENVELOPE, shell_shape
from headway.core.fields import Kind
from headway.core.model import Priority

TYPE_CHECKING = False
if TYPE_CHECKING:
    from headway.core.rules import Shape

_ID = {"type": "string", "description": "Optional and ignored; the framework assigns the ids."}
_LIST = "The whole list, which replaces the previous one; an empty array clears it."
_SUMMARY = {"type": "string", "description": "The overall task that the todos serve, in one sentence."}


def build_agent_parameters() -> dict[str, object]:
    """The input of `TodoWrite` as a native tool, with the limits that now apply."""
    shape = shell_shape()
    todos = {
        "type": "array",
        "description": _LIST,
        "maxItems": shape.max_items,
        "items": build_item_schema(shape),
    }
    return {"type": "object", "properties": {"todos": todos}, "required": ["todos"], "additionalProperties": False}


def build_envelope_parameters() -> dict[str, object]:
    """The input of `TodoWriteTool`."""
    item = build_item_schema(ENVELOPE, limits=False)
    todos = {"type": "array", "description": _LIST, "items": item}
    return {"type": "object", "properties": {"summary": {**_SUMMARY}, "todos": todos}, "required": ["summary", "todos"]}


def build_item_schema(shape: Shape, *, limits: bool = True) -> dict[str, object]:
    """The schema of one item of a shape; `limits`: with the longest text that is accepted."""
    properties: dict[str, object] = {name: _build_field(name, shape, limits) for name in shape.names}
    if "id" in shape.ignored:
        properties["id"] = {**_ID}
    return {
        "type": "object",
        "properties": properties,
        "required": list(shape.required),
        "additionalProperties": False,
    }


def _build_field(name: str, shape: Shape, limits: bool) -> dict[str, object]:
    field = shape.names[name]
    if field.kind in (Kind.IDS, Kind.TEXTS):
        return {"type": "array", "items": {"type": "string"}, "description": field.about}
    described: dict[str, object] = {"type": "string", "description": field.about}
    if field.kind is Kind.STATUS:
        described["enum"] = [str(status) for status in shape.statuses]
    elif field.kind is Kind.PRIORITY:
        described["enum"] = [str(priority) for priority in Priority]
    elif limits and field.kind is Kind.TEXT:
        described.update({"minLength": 1} if name in shape.required else {}, maxLength=shape.max_chars)
    return described
