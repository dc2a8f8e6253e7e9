"""What is wrong with a call's arguments, each fault on a line that a model can act on: `path: what is wrong`.

Of a union only what is wrong with the member that comes nearest is told, so that there is one line per place.
"""

from __future__ import annotations

import re
from collections.abc import Sized
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from headway.contracts.arguments import format_path
from headway.core.rules import is_object
from headway.core.text import json_type_name, sanitize_for_display

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

_KINDS = {
    "whole number": "int_type int_parsing int_from_float",
    "number": "float_type float_parsing decimal_type decimal_parsing",
    "finite number": "finite_number",
    "boolean": "bool_type bool_parsing",
    "string": "string_type string_sub_type bytes_type",
    "array": "list_type tuple_type set_type frozen_set_type iterable_type",
    "object": "dict_type mapping_type model_type model_attributes_type dataclass_type dataclass_exact_type",
    "null": "none_required",
    "path": "path_type",
    "UUID": "uuid_type uuid_parsing uuid_version",
    "IPv4 address": "ip_v4_address",
    "IPv6 address": "ip_v6_address",
    "IP address": "ip_any_address",
    "URL such as 'https://example.com/'": "url_type url_parsing url_syntax_violation",
    "date such as '2026-01-31'": "date_type date_parsing date_from_datetime_parsing date_from_datetime_inexact",
    "date and time such as '2026-01-31T12:00:00Z'": "datetime_type datetime_parsing datetime_object_invalid"
    " datetime_from_date_parsing",
    "time such as '12:00:00'": "time_type time_parsing",
    "duration such as 'PT90S'": "time_delta_type time_delta_parsing",
}
_EXPECTED = {kind: word for word, kinds in _KINDS.items() for kind in kinds.split()}
_BOUNDS = {
    "greater_than": ("more than", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than": ("less than", "lt"),
    "less_than_equal": ("at most", "le"),
    "multiple_of": ("a multiple of", "multiple_of"),
}
_SIZES = {
    "string_too_short": ("at least", "min_length", "character"),
    "string_too_long": ("at most", "max_length", "character"),
    "url_too_long": ("at most", "max_length", "character"),
    "bytes_too_short": ("at least", "min_length", "byte"),
    "bytes_too_long": ("at most", "max_length", "byte"),
    "too_short": ("at least", "min_length", "item"),
    "too_long": ("at most", "max_length", "item"),
}
_PLAIN = {
    "missing": "Required",
    "extra_forbidden": "Unknown field",
    "unexpected_keyword_argument": "Unknown field",
    "string_unicode": "Must be valid Unicode",
    "int_parsing_size": "Must have fewer digits",
    "recursion_loop": "Is nested too deeply",
}
_CHOICE = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s,]+""")
_JSON_WORDS = {"None": "null", "True": "true", "False": "false"}
_MOST_CHOICES = 40
_FIELD_FAULTS = ("missing", "union_tag_invalid", "union_tag_not_found")
"""Faults of a field that need not be there."""
_UNKNOWN = object()


@dataclass(frozen=True, slots=True)
class _Fault:
    path: tuple[int | str, ...]
    """Without the names of a union's members."""
    members: tuple[tuple[int, str], ...]
    """Those names, each with the length of the path before it."""
    expected: str | None
    """What would do, where there is a word for it."""
    text: str


def list_violations(error: ValidationError, given: object = _UNKNOWN) -> list[str]:
    """Every fault, in the order of the input's fields. With what was given, unions are told in one line."""
    faults = [_to_fault(details, given) for details in error.errors(include_url=False)]
    return [f"{format_path(fault.path)}: {fault.text}" for fault in _merge_faults(faults)]


def _to_fault(details: ErrorDetails, given: object) -> _Fault:
    kind, value, parts = details["type"], details["input"], details["loc"]
    context: dict[str, Any] = details.get("ctx", {})
    if kind in _FIELD_FAULTS[1:]:
        parts = (*parts, str(context["discriminator"]).strip("'"))
    is_key = bool(parts) and parts[-1] == "[key]"
    path, members = _find_places(parts[:-1] if is_key else parts, kind, given)
    if kind in _EXPECTED or kind in ("literal_error", "enum", "union_tag_invalid"):
        expected = _EXPECTED.get(kind) or _format_choices(
            str(context.get("expected", context.get("expected_tags", "")))
        )
        received = context.get("tag", value)
        text = f"Expected {expected}, received {json_type_name(value) if kind.endswith('_type') else _quote(received)}"
    else:
        expected, text = None, _describe_fault(kind, value, context) or sanitize_for_display(details["msg"], 300)
    return _Fault(path, members, None if is_key else expected, f"As a key: {text}" if is_key else text)


def _find_places(
    parts: tuple[int | str, ...], kind: str, given: object
) -> tuple[tuple[int | str, ...], tuple[tuple[int, str], ...]]:
    """The path of a fault, apart from the names of members of unions, which are no part of what was given."""
    if given is _UNKNOWN:
        return parts, ()
    path: list[int | str] = []
    members: list[tuple[int, str]] = []
    here = given
    for at, part in enumerate(parts):
        inside, value = _look_up(here, part)
        if inside or isinstance(part, int) or (at == len(parts) - 1 and kind in _FIELD_FAULTS):
            here = value
            path.append(part)
        else:
            members.append((len(path), part))
    return tuple(path), tuple(members)


def _look_up(value: object, part: int | str) -> tuple[bool, object]:
    if isinstance(part, int):
        items = cast("list[object]", value) if isinstance(value, list) else []
        return (True, items[part]) if part < len(items) else (False, None)
    return (True, value[part]) if is_object(value) and part in value else (False, None)


def _merge_faults(faults: list[_Fault], depth: int = 0) -> list[_Fault]:
    """One fault per place: a union's members are weighed against each other, outermost unions first."""
    places: dict[object, dict[str, list[_Fault]]] = {}
    for number, fault in enumerate(faults):
        if len(fault.members) > depth:
            length, member = fault.members[depth]
            places.setdefault(fault.path[:length], {}).setdefault(member, []).append(fault)
        else:
            places[number] = {"": [fault]}
    merged: list[_Fault] = []
    for place, members in places.items():
        merged += (
            next(iter(members.values())) if isinstance(place, int) else _find_nearest_member(place, members, depth)
        )
    return merged


def _find_nearest_member(place: object, members: dict[str, list[_Fault]], depth: int) -> list[_Fault]:
    """What is wrong with the member of a union that was probably meant; where none was, what all of them expect."""
    each = [_merge_faults(faults, depth + 1) for faults in members.values()]
    if begun := [faults for faults in each if all(fault.path != place for fault in faults)]:
        return min(begun, key=len)
    whole = [fault for faults in each for fault in faults if fault.path == place]
    received = whole[0].text.rpartition(", received ")[2]
    if all(fault.expected for fault in whole):
        words = " | ".join(dict.fromkeys(fault.expected or "" for fault in whole))
        return [_Fault(whole[0].path, (), words, f"Expected {words}, received {received}")]
    # A member that takes this kind of value and finds fault with it says more than those that do not take it.
    return [next(fault for fault in whole if not fault.expected)]


def _describe_fault(kind: str, value: object, context: dict[str, Any]) -> str | None:
    if kind in _PLAIN:
        return _PLAIN[kind]
    if kind == "union_tag_not_found":
        return "Required"
    if kind in _BOUNDS:
        word, bound = _BOUNDS[kind]
        return f"Must be {word} {_plain_number(context[bound])}, received {sanitize_for_display(value)}"
    if kind in _SIZES:
        word, bound, unit = _SIZES[kind]
        return (
            f"Must have {word} {context[bound]} {unit}{'' if context[bound] == 1 else 's'}, received {_measure(value)}"
        )
    if kind == "string_pattern_mismatch":
        return f"Must match the pattern {sanitize_for_display(context['pattern'], 200)}, received {_quote(value)}"
    if kind == "url_scheme":
        return (
            f"Must be a URL that begins with {_format_choices(str(context['expected_schemes']))}, "
            f"received {_quote(value)}"
        )
    if kind in ("value_error", "assertion_error") and "error" in context:
        return sanitize_for_display(str(context["error"]), 500) or "Not accepted"
    return None


def _format_choices(text: str) -> str:
    """Pydantic's `'a', 'b' or 'c'` in the way that schemas are written."""
    words: list[str] = _CHOICE.findall(text)
    found = [_JSON_WORDS.get(word, word) for word in words if word != "or"]
    more = " | …" if len(found) > _MOST_CHOICES else ""
    return " | ".join(found[:_MOST_CHOICES]) + more


def _quote(value: object) -> str:
    if value is None or isinstance(value, bool):
        return _JSON_WORDS[str(value)]
    return f"'{sanitize_for_display(value)}'" if isinstance(value, str) else sanitize_for_display(value)


def _measure(value: object) -> object:
    return len(value) if isinstance(value, Sized) else json_type_name(value)


def _plain_number(bound: object) -> object:
    return int(bound) if isinstance(bound, float) and bound.is_integer() else bound
