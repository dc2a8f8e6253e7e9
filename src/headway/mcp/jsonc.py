"""JSON with comments and trailing commas, changed in one place: everything else stays as it is, to the byte.

Editors and agents keep their settings in it, and people write in them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headway.core.json_text import line_and_column

_SPACE = re.compile(r"(?:[\s\ufeff]|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_SCALAR = re.compile(r'"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|true|false|null')
_INDENT = re.compile(r"\n([ \t]+)\S")


class BadJsonc(Exception):
    """The text cannot be read; the message says where."""

    def __init__(self, text: str, at: int) -> None:
        line, column = line_and_column(text, at)
        super().__init__(f"line {line}, column {column}")


@dataclass
class _Node:
    start: int
    end: int
    value: Any
    members: dict[str, tuple[int, _Node]] | None = None
    """Of an object: key → (where the key begins, its value)."""
    comma: bool = False
    """Whether a comma follows the last member."""


def parse_jsonc(text: str) -> Any:
    """Return the value; an empty text is an empty object."""
    return _parse(text).value


def set_entry(text: str, path: Sequence[str], value: object) -> str:
    """Return the text with this value under a path of keys; what is missing on the way is added."""
    node = _parse(text)
    if not text.strip() or node.start == node.end:
        return json.dumps(_nest(path, value), ensure_ascii=False, indent=2) + "\n"
    unit = found[1] if (found := _INDENT.search(text)) else "  "
    for depth, key in enumerate(path):
        if node.members is None:
            raise BadJsonc(text, node.start)
        if key not in node.members:
            return _insert(text, node, key, _nest(path[depth + 1 :], value), unit, depth)
        node = node.members[key][1]
    return text if node.value == value else text[: node.start] + _format(value, unit, len(path)) + text[node.end :]


def remove_entry(text: str, path: Sequence[str]) -> str:
    """Return the text without what is under a path of keys."""
    node = _parse(text)
    for key in path[:-1]:
        if node.members is None or key not in node.members:
            return text
        node = node.members[key][1]
    if node.members is None or path[-1] not in node.members:
        return text
    keys = list(node.members)
    at = keys.index(path[-1])
    start, removed = node.members[path[-1]]
    end = removed.end
    before = node.start + 1 if not at else node.members[keys[at - 1]][1].end
    after = _skip(text, end)
    has_comma = text[after : after + 1] == ","
    if has_comma:
        end = after + 1
    head = text[:start]
    if at and not has_comma:  # the comma before it has nothing to follow it any more
        comma = _skip(text, before)
        head = head[:comma] + head[comma + 1 :]
    is_line_end = text[end:].lstrip(" \t\r").startswith("\n")  # else a comment before it would reach on
    return (head.rstrip() if is_line_end else head) + text[end:]


def _nest(path: Sequence[str], value: object) -> object:
    for key in reversed(path):
        value = {key: value}
    return value


def _format(value: object, unit: str, depth: int) -> str:
    return json.dumps(value, ensure_ascii=False, indent=unit).replace("\n", "\n" + unit * depth)


def _insert(text: str, node: _Node, key: str, value: object, unit: str, depth: int) -> str:
    """The text with a further member at the end of an object."""
    assert node.members is not None
    member = f"\n{unit * (depth + 1)}{json.dumps(key, ensure_ascii=False)}: {_format(value, unit, depth + 1)}"
    close = node.end - 1
    body = text[:close].rstrip(" \t\n\r")
    if node.members and not node.comma:
        last = list(node.members.values())[-1][1].end
        body = body[:last] + "," + body[last:]
    return f"{body}{member}\n{unit * depth}{text[close:]}"


def _parse(text: str) -> _Node:
    try:
        at = _skip(text, 0)
        if at == len(text):
            return _Node(at, at, {}, {})
        node = _parse_value(text, at)
    except RecursionError:
        raise BadJsonc(text, 0) from None
    if (rest := _skip(text, node.end)) < len(text):
        raise BadJsonc(text, rest)
    return node


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return at if found is None else found.end()


def _parse_value(text: str, at: int) -> _Node:
    opening = text[at : at + 1]
    if opening == "{":
        return _parse_object(text, at)
    if opening == "[":
        return _parse_array(text, at)
    found = _SCALAR.match(text, at)
    try:
        if found is not None:
            return _Node(at, found.end(), json.loads(found[0], strict=False))
    except ValueError:
        pass
    raise BadJsonc(text, at)


def _parse_object(text: str, start: int) -> _Node:
    members: dict[str, tuple[int, _Node]] = {}
    comma = False
    at = _skip(text, start + 1)
    while text[at : at + 1] != "}":
        if members and not comma:
            raise BadJsonc(text, at)
        key = _parse_value(text, at)
        colon = _skip(text, key.end)
        if not isinstance(key.value, str) or text[colon : colon + 1] != ":":
            raise BadJsonc(text, colon)
        node = _parse_value(text, _skip(text, colon + 1))
        members.pop(key.value, None)  # of repeated keys the last one counts, as everywhere
        members[key.value] = at, node
        at = _skip(text, node.end)
        comma = text[at : at + 1] == ","
        at = _skip(text, at + 1) if comma else at
    value = {key: node.value for key, (_, node) in members.items()}
    return _Node(start, at + 1, value, members, comma)


def _parse_array(text: str, start: int) -> _Node:
    values: list[Any] = []
    comma = True
    at = _skip(text, start + 1)
    while text[at : at + 1] != "]":
        if not comma:
            raise BadJsonc(text, at)
        node = _parse_value(text, at)
        values.append(node.value)
        at = _skip(text, node.end)
        comma = text[at : at + 1] == ","
        at = _skip(text, at + 1) if comma else at
    return _Node(start, at + 1, values)
