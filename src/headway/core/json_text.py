"""JSON from outside, read strictly: what is odd is refused or kept visible; nothing but `BadJson` is raised."""

from __future__ import annotations

import json

from headway.core.rules import DuplicateKeys
from headway.core.text import UNSAFE, to_storable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


class BadJson(Exception):
    """The text is not JSON; the message says why and where, to go into a sentence."""

    def __init__(self, reason: str, line: int = 1, column: int = 1, *, where: bool = True) -> None:
        super().__init__(f"{reason} at line {line}, column {column}" if where else reason)
        self.reason = reason
        self.line = line
        self.column = column


def parse_json(text: str) -> object:
    """Return the value of a JSON text. NaN is refused; an object with a repeated key becomes `DuplicateKeys`."""
    try:
        return _decode(text if text.isascii() else to_storable(text.removeprefix("\ufeff")))
    except json.JSONDecodeError as error:
        said = error.msg.removesuffix(" at")
        raise BadJson(f"{said[:1].lower()}{said[1:]}", error.lineno, error.colno) from None
    except _NotANumber as found:
        name = str(found)
        line, column = _find_word(text, name)
        raise BadJson(f"{name} is not a JSON value", line, column) from None
    except RecursionError:
        raise BadJson("it is nested too deeply", where=False) from None
    except ValueError:
        raise BadJson("it has a number with too many digits", where=False) from None


def _to_object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """The object; one in which a key came twice remembers it, so that the check can name it."""
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    odd = DuplicateKeys(found)
    seen: set[str] = set()
    odd.repeated = tuple(dict.fromkeys(key for key, _ in pairs if key in seen or seen.add(key)))
    return odd


class _NotANumber(Exception):
    """NaN and its like, which Python's decoder would take."""


def _refuse_constant(name: str) -> NoReturn:
    raise _NotANumber(name)


def _find_word(text: str, word: str) -> tuple[int, int]:
    """Return the line and column of the first such word that is not within a string."""
    import re

    pieces = re.finditer(rf'"(?:[^"\\]|\\.)*"|{re.escape(word)}', text, re.DOTALL)
    return line_and_column(text, next((piece.start() for piece in pieces if piece[0] == word), 0))


def line_and_column(text: str, at: int) -> tuple[int, int]:
    """Return where a character stands in a text, both counted from 1."""
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


_decoder = json.JSONDecoder(object_pairs_hook=_to_object, parse_constant=_refuse_constant)


def _decode(text: str) -> object:
    if text[:1] in _OPENING:  # as most are: nothing but the value itself
        value, end = _decoder.raw_decode(text)
        if end == len(text):
            return value
    return _decoder.decode(text)


_OPENING = ("{", "[")


def to_json_text(value: object, indent: int | None = 2) -> str:
    """Return JSON in which nothing stands that a terminal would obey: such characters are written as escapes."""
    unseen = {code: f"\\u{code:04x}" for code in (*range(0x7F, 0xA0), 0x2028, 0x2029, *map(ord, UNSAFE))}
    return json.dumps(value, ensure_ascii=False, indent=indent).translate(unseen)
