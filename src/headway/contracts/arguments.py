"""What a model sent as a call's arguments: an object or its JSON, as values that can be checked against a schema.

Faults are lines of the form `path: what is wrong`, in the order of the schema's fields.
"""

from __future__ import annotations

from headway.core.errors import HeadwayError
from headway.core.json_text import BadJson, parse_json, to_json_text
from headway.core.rules import DuplicateKeys, is_array, is_object
from headway.core.text import json_type_name, sanitize_for_display, to_storable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

TOO_DEEP = "it is nested too deeply"
_MOST_FIELDS = 1_000
"""Fields of a call; each that is unknown would be named."""


class ToolFault(HeadwayError):
    """A call that cannot be done. Its text is the answer to the model: what is wrong and what to do."""

    code = "tool_fault"


def parse_arguments(arguments: object) -> tuple[object, list[str]]:
    """The arguments, and a fault for each key that came twice. Raises `BadJson`, whose text goes into a sentence."""
    if isinstance(arguments, str):
        arguments = parse_json(arguments) if arguments.strip() else {}
    faults: list[str] = []
    try:
        return _clean({} if arguments is None else arguments, (), faults), faults
    except RecursionError:
        raise BadJson(TOO_DEEP) from None


def parse_call(tool: str, arguments: object) -> tuple[object, list[str]]:
    """`parse_arguments` for a call of a tool. Raises `ToolFault` for what cannot be looked at any further."""
    try:
        values, faults = parse_arguments(arguments)
    except BadJson as error:
        raise ToolFault(
            f"{tool} was not run: its arguments are not valid JSON ({error}); send one JSON object."
        ) from None
    if (is_object(values) or is_array(values)) and len(values) > _MOST_FIELDS:
        raise ToolFault(f"{tool} was not run: it does not accept {len(values):,} fields.")
    return values, faults


def refuse_faults(tool: str, faults: Iterable[str], fields: Iterable[str]) -> None:
    """Raise `ToolFault` with every fault, if there are any, and with the tool's fields if one is not known."""
    lines = [f"- {line}" for line in faults]
    if any(line.endswith(": Unknown field") and "." not in line for line in lines):
        lines.append(f"Its fields are: {', '.join(fields) or 'none'}.")
    if lines:
        raise ToolFault("\n".join([f"{tool} was not run. Correct this and call it again:", *lines]))


def list_schema_faults(schema: dict[str, Any], value: object, path: tuple[int | str, ...] = ()) -> list[str]:
    """Every fault of a value, by the parts of JSON Schema that the todo tools use. Optional fields may be null.

    A required string with a `maxLength` is a text, which may not be blank.
    """
    kind = schema["type"]
    if not isinstance(value, _KINDS[kind]):
        if "enum" not in schema:
            return [f"{format_path(path)}: Expected {kind}, received {json_type_name(value)}"]
    elif is_object(value):
        return _list_object_faults(schema, value, path)
    elif is_array(value):
        most = schema.get("maxItems", len(value))
        if len(value) > most:
            return [f"{format_path(path)}: Must have at most {most} items, received {len(value)}"]
        return [
            fault for at, part in enumerate(value) for fault in list_schema_faults(schema["items"], part, (*path, at))
        ]
    elif isinstance(value, str) and len(value) > (most := schema.get("maxLength", len(value))):
        return [f"{format_path(path)}: Must have at most {most} characters, received {len(value)}"]
    if "enum" in schema and value not in schema["enum"]:
        choices = " | ".join(f"'{choice}'" for choice in schema["enum"])
        received = f"'{sanitize_for_display(value)}'" if isinstance(value, str) else to_json_text(value, None)[:80]
        return [f"{format_path(path)}: Expected {choices}, received {received}"]
    return []


_KINDS: dict[str, type | tuple[type, ...]] = {"object": dict, "array": (list, tuple), "string": str}


def _list_object_faults(schema: dict[str, Any], value: dict[str, object], path: tuple[int | str, ...]) -> list[str]:
    faults: list[str] = []
    required = schema.get("required", ())
    for name, described in schema["properties"].items():
        part = value.get(name)
        if name in required and (name not in value or _is_blank(part, described)):
            faults.append(f"{format_path((*path, name))}: Required")
        elif part is not None or name in required:
            faults += list_schema_faults(described, part, (*path, name))
    takes_any = schema.get("additionalProperties", False)
    unknown = [] if takes_any else [name for name in value if name not in schema["properties"]]
    return [*faults, *(f"{format_path((*path, name))}: Unknown field" for name in unknown)]


def _is_blank(value: object, schema: dict[str, Any]) -> bool:
    return "maxLength" in schema and isinstance(value, str) and not value.strip()


def format_path(parts: Iterable[int | str]) -> str:
    text = ""
    for part in parts:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{sanitize_for_display(part)}" if text else sanitize_for_display(part)
    return text or "(root)"


def _clean(value: object, path: tuple[int | str, ...], faults: list[str]) -> object:
    """The value with lone surrogates replaced, which can be neither stored nor sent on."""
    if isinstance(value, str):
        return to_storable(value)
    if is_array(value):
        return [_clean(part, (*path, at), faults) for at, part in enumerate(value)]
    if not is_object(value):
        return value
    if isinstance(value, DuplicateKeys):
        faults += [f"{format_path((*path, key))}: Duplicate field" for key in value.repeated]
    return {
        to_storable(key) if isinstance(key, str) else key: _clean(part, (*path, key), faults)  # pyright: ignore[reportUnnecessaryIsInstance]
        for key, part in value.items()
    }
