"""What is wrong with a call's arguments, each fault on a line that a model can act on: `path: what is wrong`."""

from __future__ import annotations

from collections.abc import Sized
from typing import TYPE_CHECKING, Any

from headway.core.text import shown, type_name

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

_EXPECTED = {
    "string_type": "string",
    "int_type": "whole number",
    "int_parsing": "whole number",
    "int_from_float": "whole number",
    "float_type": "number",
    "float_parsing": "number",
    "bool_type": "boolean",
    "bool_parsing": "boolean",
    "list_type": "array",
    "tuple_type": "array",
    "set_type": "array",
    "dict_type": "object",
    "model_type": "object",
    "model_attributes_type": "object",
}
_BOUNDS = {
    "greater_than": ("more than", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than": ("less than", "lt"),
    "less_than_equal": ("at most", "le"),
}
_SIZES = {
    "string_too_short": ("at least", "min_length", "character"),
    "string_too_long": ("at most", "max_length", "character"),
    "too_short": ("at least", "min_length", "item"),
    "too_long": ("at most", "max_length", "item"),
}


def violations(error: ValidationError) -> list[str]:
    """Every fault, in the order of the input's fields."""
    return [f"{_path(fault['loc'])}: {_what(fault)}" for fault in error.errors(include_url=False)]


def _path(parts: tuple[int | str, ...]) -> str:
    text = ""
    for part in parts:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{shown(part)}" if text else shown(part)
    return text or "(root)"


def _what(fault: ErrorDetails) -> str:
    kind, value = fault["type"], fault["input"]
    context: dict[str, Any] = fault.get("ctx", {})
    if kind == "missing":
        return "Required"
    if kind == "extra_forbidden":
        return "Unknown field"
    if kind in _EXPECTED:
        return f"Expected {_EXPECTED[kind]}, received {_received(value, kind)}"
    if kind in ("literal_error", "enum"):
        choices = str(context.get("expected", "")).replace(", ", " | ").replace(" or ", " | ")
        return f"Expected {choices}, received {_quoted(value)}"
    if kind in _BOUNDS:
        word, bound = _BOUNDS[kind]
        return f"Must be {word} {context[bound]}, received {shown(value)}"
    if kind in _SIZES:
        word, bound, unit = _SIZES[kind]
        return f"Must have {word} {context[bound]} {unit}{'' if context[bound] == 1 else 's'}, received {_size(value)}"
    if kind == "value_error":
        return str(context.get("error", fault["msg"]))
    return shown(fault["msg"], 200)


def _received(value: object, kind: str) -> str:
    return _quoted(value) if kind.endswith(("_parsing", "_float")) else type_name(value)


def _quoted(value: object) -> str:
    return f"'{shown(value)}'" if isinstance(value, str) else shown(value)


def _size(value: object) -> object:
    return len(value) if isinstance(value, Sized) else type_name(value)
