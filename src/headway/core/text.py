"""Text from outside: trimmed and made storable at the door, made harmless before it is shown.

Pure functions on strings. Knows nothing of todos, terminals or Markdown; the views add what their medium needs.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_BLANK_RANGES = (
    (0x00A0, 0x00A0),
    (0x00AD, 0x00AD),
    (0x034F, 0x034F),
    (0x061C, 0x061C),
    (0x115F, 0x1160),
    (0x1680, 0x1680),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x2000, 0x200F),
    (0x2028, 0x202F),
    (0x205F, 0x206F),
    (0x2800, 0x2800),
    (0x3000, 0x3000),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFFB),
    (0x1107F, 0x1107F),
    (0x13430, 0x13442),
    (0x16FE4, 0x16FE4),
    (0x1BCA0, 0x1BCA3),
    (0x1D159, 0x1D159),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
)
"""Spaces, fillers and what Unicode says is not to be drawn; beyond ASCII."""
_TO_SPACE = "\t\n\v\f\r\x85\u2028\u2029"
UNSAFE = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff"
"""Invisible characters that change the direction of text, or mark its beginning."""
_REPLACEMENT = "\ufffd"
SENTENCE_ENDS = (".", "!", "?", "…", "。", "！", "？")
_JOINERS = "\u200c\u200d"
"""Invisible, but emoji and some scripts are written with them; other invisible characters only hide text."""
_HIDDEN = frozenset({*map(chr, range(0xE0100, 0xE01F0)), *"\u115f\u1160\u3164\uffa0"})
"""Printable to Python, but nothing to see: variation selectors and fillers, in which text can be hidden."""
_NEUTRAL: dict[int, str] = {
    **{ord(char): "" for char in _HIDDEN},
    **{code: chr(0x2400 + code) for code in range(0x20)},
    0x7F: "\u2421",
    **dict.fromkeys(range(128, 160), _REPLACEMENT),
    **{ord(char): _REPLACEMENT for char in UNSAFE},
    **{ord(char): " " for char in _TO_SPACE},
}


def to_storable(text: str) -> str:
    """Return the text with lone surrogates replaced, so that it can be encoded as UTF-8."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def is_blank(text: str) -> bool:
    """Return whether there is nothing to see in the text: only spaces and invisible characters."""
    if text.isascii():
        return not text or text.isspace()
    return all(char.isspace() or _is_invisible(ord(char)) for char in text)


def _is_invisible(code: int) -> bool:
    return any(first <= code <= last for first, last in _BLANK_RANGES)


def trim_text(text: str) -> str:
    """Return the text as it is kept: trimmed and storable."""
    return to_storable(text.strip())


def neutralize(text: str) -> str:
    """Return the text on one line, with nothing in it that a terminal or a reader's eye would obey."""
    if text.isprintable() and (text.isascii() or _HIDDEN.isdisjoint(text)):
        return text
    line = text.translate(_NEUTRAL)
    if line.isprintable():
        return line
    from unicodedata import category

    return to_storable("".join(char for char in line if char in _JOINERS or category(char) != "Cf"))


def neutralize_lines(text: str) -> str:
    """Return the text with its lines and tabs, and nothing else that a terminal would obey."""
    return "\n".join("\t".join(map(neutralize, line.split("\t"))) for line in text.split("\n"))


def truncate(text: str, limit: int) -> str:
    """At most `limit` characters; what is longer ends in an ellipsis."""
    return text if len(text) <= limit else text[: max(limit - 1, 0)].rstrip() + "…"


def sanitize_for_display(value: object, limit: int = 60) -> str:
    """Return a value from outside as it may stand in an error message."""
    try:
        text = value if isinstance(value, str) else repr(value)
    except Exception:  # a value from outside may raise anything when it is asked how it looks
        text = json_type_name(value)
    return truncate(neutralize(text[: limit * 4]), limit) if len(text) > limit else neutralize(text)


def join_first_few(texts: Sequence[str]) -> str:
    """Return the first few texts in one line, and how many more there are."""
    first = "; ".join(sanitize_for_display(text) for text in texts[:5])
    return first if len(texts) <= 5 else f"{first}; and {len(texts) - 5} more"


def json_type_name(value: object) -> str:
    """Return the JSON name of a value's type, as error texts use it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    if isinstance(value, dict):
        return "object"
    return "array" if isinstance(value, list | tuple) else type(value).__name__
