"""What callers may write: shapes made from the field table, and the check that finds every violation.

A shape says which fields a caller may send, under which names and within which limits. The list itself has no limits:
those belong to the contracts. Texts of violations are part of the contracts (`path: what is wrong`).
"""

from __future__ import annotations

import sys
from itertools import repeat
from operator import contains

from headway.core.fields import FIELDS, Field, Kind
from headway.core.model import Origin, Priority, Status, Todo, field_values
from headway.core.text import is_blank, json_type_name, sanitize_for_display, trim_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import TypeGuard

    from headway.core.evidence import Evidence

    Usual = dict[object, tuple[str, dict[str, Status] | None]]
    Patch = dict[str, object]
    """Checked fields of one item, by their names in `Todo`."""


class Fault(Exception):
    """A value breaks a rule; the message is the violation without its path."""


class DuplicateKeys(dict[str, object]):
    """A JSON object in which a key came twice; `repeated` names them."""

    repeated: tuple[str, ...] = ()


class Shape:
    """What one kind of caller may send for a list of items.

    `names` has the accepted names with their fields, `required` those that must be there, in the order in which they
    are reported, `ignored` those that are accepted and not used. The rest are limits; None means there is none.
    """

    def __init__(
        self,
        names: dict[str, Field],
        required: tuple[str, ...] = (),
        statuses: tuple[Status, ...] = tuple(Status),
        max_items: int | None = None,
        max_chars: int | None = None,
        one_active: bool = False,
        ignored: frozenset[str] = frozenset(),
    ) -> None:
        self.names = names
        self.required = required
        self.statuses = statuses
        self.max_items = max_items
        self.max_chars = max_chars
        self.one_active = one_active
        self.ignored = ignored
        by_name = {status.value: status for status in statuses}
        self.usual: Usual = {
            name: (field.name, by_name if field.kind is Kind.STATUS else None)
            for name, field in names.items()
            if field.kind in (Kind.TEXT, Kind.STATUS)
        }
        """Names of texts and of the status, which most items consist of: (field, statuses by name)."""


FULL = Shape({name: field for field in FIELDS for name in (field.name, *field.aliases)})
"""Everything an item has, under any of its names: the Python API and imports."""


def fields_by_name(*names: str) -> dict[str, Field]:
    """Return the fields by the names that a contract uses for them."""
    return {name: FULL.names[name] for name in names}


def wire_name(shape: Shape, name: str) -> str:
    """Return the name under which callers of this shape send a field."""
    return next((wire for wire, field in shape.names.items() if field.name == name), name)


def is_object(value: object) -> TypeGuard[dict[str, object]]:
    return isinstance(value, dict)


def has_field(patches: Iterable[Patch], name: str) -> Iterator[bool]:
    """For each patch, whether it has the field."""
    return map(contains, patches, repeat(name))


def is_array(value: object) -> TypeGuard[list[object] | tuple[object, ...]]:
    return isinstance(value, list | tuple)


def quote_values(values: Iterable[object]) -> str:
    return " | ".join(f"'{value}'" for value in values)


def check_text(value: object, max_chars: int | None = None) -> str | None:
    """Trimmed text, or None where it is blank."""
    if not isinstance(value, str):
        raise Fault(f"Expected string, received {json_type_name(value)}")
    text = trim_text(value)
    if max_chars is not None and len(text) > max_chars:
        raise Fault(f"Must be at most {max_chars} characters, received {len(text)}")
    return None if is_blank(text) else text


def check_choice(value: object, choices: Mapping[str, object], allowed: Iterable[object]) -> object:
    if isinstance(value, str):
        found = choices.get(value.strip())
        if found is not None and found in allowed:
            return found
        raise Fault(f"Expected {quote_values(allowed)}, received '{sanitize_for_display(value)}'")
    raise Fault(f"Expected {quote_values(allowed)}, received {json_type_name(value)}")


def check_texts(value: object) -> tuple[str, ...]:
    if not is_array(value):
        raise Fault(f"Expected array, received {json_type_name(value)}")
    texts: list[str] = []
    for entry in value:
        if not isinstance(entry, str):
            raise Fault(f"Expected strings, received {json_type_name(entry)}")
        if not is_blank(text := trim_text(entry)):
            texts.append(text)
    return tuple(texts)


def check_time(value: object) -> str:
    from headway.core.clock import parse_time

    if not isinstance(value, str):
        raise Fault(f"Expected string, received {json_type_name(value)}")
    try:
        return parse_time(value.strip())
    except (ValueError, OverflowError):
        raise Fault(f"Expected an ISO 8601 time, received '{sanitize_for_display(value)}'") from None


def check_whole(value: object, least: int = -(2**31)) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise Fault(f"Expected whole number, received {json_type_name(value)}")
    if not least <= value < 2**31:
        raise Fault(f"Must be a whole number from {least} to {2**31 - 1}")
    return value


def check_number(value: object, least: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Fault(f"Expected number, received {json_type_name(value)}")
    if not least <= value < 2**31:
        raise Fault(f"Must be a number from {least} to {2**31 - 1}")
    return float(value)


def check_flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise Fault(f"Expected boolean, received {json_type_name(value)}")
    return value


def check_evidence(value: object) -> Evidence:
    from headway.core.evidence import FIELDS, Evidence, EvidenceLevel, read_level  # most commands never meet any

    if isinstance(value, Evidence):
        return value
    if not is_object(value):
        raise Fault(f"Expected object, received {json_type_name(value)}")
    for key in value:
        if key not in FIELDS:
            raise Fault(f"Unknown field '{sanitize_for_display(key)}'")
    level = check_choice(value.get("level"), {level.value: level for level in EvidenceLevel}, EvidenceLevel)
    code, seconds = value.get("exit_code"), value.get("seconds")
    command, output, note, check_files = (
        None if text is None else check_text(text)
        for text in map(value.get, ("command", "output", "note", "check_files"))
    )
    return Evidence(
        read_level(str(level), value),
        command,
        None if code is None else check_whole(code),
        check_texts(value.get("files") or ()),
        None if seconds is None else check_number(seconds, 0),
        output,
        note,
        check_files,
    )


_STATUSES = {status.value: status for status in Status}
_PRIORITIES = {priority.value: priority for priority in Priority}
_ORIGINS = {origin.value: origin for origin in Origin}

_CHECKS: dict[Kind, Callable[[object, Shape], object]] = {
    Kind.ID: lambda value, shape: check_text(value),
    Kind.TEXT: lambda value, shape: check_text(value, shape.max_chars),
    Kind.STATUS: lambda value, shape: check_choice(value, _STATUSES, shape.statuses),
    Kind.PRIORITY: lambda value, shape: check_choice(value, _PRIORITIES, Priority),
    Kind.ORIGIN: lambda value, shape: check_choice(value, _ORIGINS, Origin),
    Kind.TEXTS: lambda value, shape: check_texts(value),
    Kind.IDS: lambda value, shape: tuple(dict.fromkeys(check_texts(value))),
    Kind.TIME: lambda value, shape: check_time(value),
    Kind.COUNT: lambda value, shape: check_whole(value, 0),
    Kind.FLAG: lambda value, shape: check_flag(value),
    Kind.EVIDENCE: lambda value, shape: check_evidence(value),
}
_EMPTY: dict[Kind, object] = {Kind.TEXTS: (), Kind.IDS: (), Kind.FLAG: False}
_NEVER_NULL = frozenset({"id", "content", "status", "tool_calls", "failed_calls"})


def check_field(field: Field, value: object, shape: Shape = FULL, *, required: bool = False) -> object:
    """The value as it is kept; raises `Fault` where it breaks a rule."""
    if value is None and not required and field.name not in _NEVER_NULL:
        return _EMPTY.get(field.kind)
    checked = _CHECKS[field.kind](value, shape)
    if checked is None and (required or field.name in _NEVER_NULL):
        raise Fault("Required")
    return checked


def check_todo(raw: object, shape: Shape, path: str, faults: list[str], *, new: bool = False) -> Patch:
    """Return the checked fields of one item. Faults are added in the order of the shape's fields, unknown names last.

    A new item needs content, also where the shape, which serves updates too, does not ask for it.
    """
    patch: Patch = {}
    if not is_object(raw):
        faults.append(f"{path}: Expected object, received {json_type_name(raw)}")
        return patch
    found: dict[str, str] = {}
    unknown: list[str] = []
    names = shape.names
    for key, value in raw.items():
        field = names.get(key)
        if field is None:
            if key not in shape.ignored:
                unknown.append(f"{path}.{sanitize_for_display(key)}: Unknown field")
            continue
        if field.name in patch or field.name in found:
            unknown.append(f"{path}.{key}: Given twice, also under another name")
            continue
        try:
            patch[field.name] = check_field(field, value, shape, required=key in shape.required)
        except Fault as fault:
            found[field.name] = f"{path}.{key}: {fault}"
    for key in shape.required:
        if key not in raw:
            found[names[key].name] = f"{path}.{key}: Required"
    if new and "content" not in patch and "content" not in found:
        found["content"] = f"{path}.{wire_name(shape, 'content')}: Required"
    if found:
        faults.extend(found[field.name] for field in dict.fromkeys(names.values()) if field.name in found)
    faults.extend(unknown)
    if isinstance(raw, DuplicateKeys):
        faults.extend(f"{path}.{sanitize_for_display(key)}: Duplicate field" for key in raw.repeated)
    return patch


def _check_plain_todo(raw: object, usual: Usual, limit: int, required: tuple[str, ...]) -> Patch | None:
    """The patch of an item of sound texts and a status, which is what almost every item is; None for any other."""
    if type(raw) is not dict:
        return None
    item: dict[object, object] = raw  # pyright: ignore[reportUnknownVariableType]
    patch: Patch = {}
    for key, value in item.items():
        if type(value) is not str or key not in usual:
            return None
        name, statuses = usual[key]
        if statuses is None:
            text = value.strip()
            if not 0 < len(text) <= limit or not (text.isascii() or (text.isprintable() and not is_blank(text))):
                return None
            patch[name] = text
        elif value in statuses:
            patch[name] = statuses[value]
        else:
            return None
    for key in required:
        if key not in item:
            return None
    return patch if len(patch) == len(item) else None


def check_todos(raw: object, shape: Shape, faults: list[str], whole: list[str], *, new: bool = False) -> list[Patch]:
    """Return the checked items of a list; add violations of items to `faults`, those of the list itself to `whole`."""
    if not is_array(raw):
        whole.append(f"todos: Expected array, received {json_type_name(raw)}")
        return []
    usual, limit, required = shape.usual, shape.max_chars or sys.maxsize, shape.required
    patches: list[Patch] = []
    for index, item in enumerate(raw):
        patch = _check_plain_todo(item, usual, limit, required)
        if patch is None or (new and "content" not in patch):
            if isinstance(item, Todo):
                item = {field.name: value for field, value in zip(FIELDS, field_values(item), strict=True)}
            patch = check_todo(item, shape, f"todos[{index}]", faults, new=new)
        patches.append(patch)
    if shape.max_items is not None and len(patches) > shape.max_items:
        whole.append(f"todos: Must have at most {shape.max_items} items, received {len(patches)}")
    if shape.one_active:
        active = sum(patch.get("status") is Status.IN_PROGRESS for patch in patches)
        if active > 1:
            whole.append(f"todos: At most one item may be in_progress, received {active}")
    return patches
