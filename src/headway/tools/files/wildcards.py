"""Wildcards of file names as regular expressions, for `glob`, for the filter of `grep` and for `.gitignore`.

Every piece between two stars has one length and is taken where it first fits, in an atomic group; so a hostile pattern
costs no more than its length times that of the path.
"""

from __future__ import annotations

import re
import string

_MOST_ALTERNATIVES = 100
_DEEPEST_BRACES = 10
_ANY_FOLDERS = "(?:[^/]++/)*"
_PUNCTUATION = re.escape(string.punctuation)
_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": " \\t",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": _PUNCTUATION,
    "space": "\\s",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}

_NAMED_CLASS = re.compile(r"\[:([^\]]*):\]")


class BadWildcards(ValueError):
    """A pattern that is none. Its text says why, as the end of a sentence."""


def to_path_expression(pattern: str) -> str:
    """A regular expression for whole paths: `*`, `?`, `[…]` stay in one name, `**` stands for any folders."""
    groups: list[list[str]] = [[]]
    for segment in _split_segments(pattern):
        if segment == "**":
            groups.append([])
        else:
            groups[-1].append(_to_name_expression(segment))
    *before, last = groups
    if not before:
        return "/".join(last)
    made = "".join(f"{name}/" for name in before[0])
    for group in before[1:]:
        if group:
            made += f"(?>{_ANY_FOLDERS}?{''.join(f'{name}/' for name in group)})"
    return made + _ANY_FOLDERS + ("/".join(last) or "[^/]+")


def _split_segments(pattern: str) -> list[str]:
    """The pattern at its slashes; one inside of brackets separates nothing, and is matched by nothing."""
    segments: list[str] = []
    begun = position = 0
    while position < len(pattern):
        char = pattern[position]
        position += 1
        if char == "/":
            segments.append(pattern[begun : position - 1])
            begun = position
        elif char == "[":
            position = _read_class(pattern, position)[1]
        elif char == "\\" and pattern[position : position + 1] != "/":
            position += 1
    return [*segments, pattern[begun:]]


def expand_braces(pattern: str) -> list[str]:
    """The pattern once for each choice of `{a,b}`. Braces without a comma stand for themselves."""
    found = [""]
    position = 0
    while position < len(pattern):
        char = pattern[position]
        choices, after = _read_choices(pattern, position) if char == "{" else (None, position)
        if choices is not None:
            found = [start + end for start in found for choice in choices for end in expand_braces(choice)]
            position = after
        else:
            step = 2 if char == "\\" else 1
            found = [start + pattern[position : position + step] for start in found]
            position += step
        if len(found) > _MOST_ALTERNATIVES:
            raise BadWildcards(f"its braces expand to more than {_MOST_ALTERNATIVES} patterns")
    return found


def _read_choices(pattern: str, start: int) -> tuple[list[str] | None, int]:
    """What is between the commas of the brace that opens here, and where it ends."""
    choices: list[str] = []
    depth, begun, position = 1, start + 1, start + 1
    while position < len(pattern):
        char = pattern[position]
        if char == "\\":
            position += 1
        elif char == "{":
            depth += 1
            if depth > _DEEPEST_BRACES:
                raise BadWildcards(f"its braces are nested more than {_DEEPEST_BRACES} deep")
        elif char == "," and depth == 1:
            choices.append(pattern[begun:position])
            begun = position + 1
        elif char == "}":
            depth -= 1
            if not depth:
                return ([*choices, pattern[begun:position]] if choices else None), position + 1
        position += 1
    return None, start


def _to_name_expression(segment: str) -> str:
    """One name of a path, up to its end."""
    first, *rest = _list_pieces(segment)
    if not rest:
        return first
    *middle, last = rest
    made = first + "".join(f"(?>[^/]*?{piece})" for piece in middle if piece)
    return f"(?>{made}[^/]*{last}(?=/|\\Z))"


def _list_pieces(segment: str) -> list[str]:
    """The expressions between the stars; each matches texts of one length."""
    pieces = [""]
    position = 0
    while position < len(segment):
        char = segment[position]
        position += 1
        if char == "*":
            pieces.append("")
        elif char == "?":
            pieces[-1] += "[^/]"
        elif char == "[":
            expression, position = _read_class(segment, position)
            pieces[-1] += expression
        elif char == "\\":
            if position == len(segment):
                raise BadWildcards("it ends in a backslash")
            pieces[-1] += re.escape(segment[position])
            position += 1
        else:
            pieces[-1] += re.escape(char)
    return pieces


def _read_class(segment: str, position: int) -> tuple[str, int]:
    """The class that begins after the bracket, and where it ends."""
    negated = segment[position : position + 1] in ("!", "^")
    position += negated
    start, items = position, ""
    while True:
        if segment[position : position + 1] == "]" and position > start:
            break
        if named := _NAMED_CLASS.match(segment, position):
            if named[1] not in _CLASSES:
                raise BadWildcards("it has an unknown class of characters")
            items += _CLASSES[named[1]]
            position = named.end()
            continue
        low, position = _read_class_char(segment, position)
        if segment[position : position + 1] == "-" and segment[position + 1 : position + 2] not in ("", "]"):
            high, position = _read_class_char(segment, position + 1)
            # Git takes the first character for itself before it sees that a range begins.
            items += f"{re.escape(low)}-{re.escape(high)}" if low <= high else re.escape(low)
        else:
            items += re.escape(low)
    if negated:
        return f"[^/{items}]", position + 1
    return (f"(?!/)[{items}]" if items else "(?!)"), position + 1


def _read_class_char(segment: str, position: int) -> tuple[str, int]:
    if segment[position : position + 1] == "\\":
        position += 1
    if position >= len(segment):
        raise BadWildcards("it has a [ that is not closed; write \\[ for the character itself")
    return segment[position], position + 1
