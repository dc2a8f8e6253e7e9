"""Text that a person approves, written so that nothing in it goes unseen and no two texts look the same.

A control character is its picture (`␛`), any other character that cannot be seen its number (`⟨U+202E⟩`); so is a
picture or bracket that was there before, so that `parse_exact` gets the text back. What comes out is safe to print:
`neutralize` leaves a line of it as it is.
"""

from __future__ import annotations

import regex

_PICTURES = {**{code: chr(0x2400 + code) for code in range(0x20)}, 0x7F: "\u2421"}
_CONTROLS = {picture: chr(code) for code, picture in _PICTURES.items()}
_JOINERS = r"[\u200c\u200d]"
_PICTURE = r"[[\p{So}\p{Sk}\p{Sm}\p{Po}]--[\x00-\x7f]]"
_BEFORE = r"[[\p{L}\p{M}\p{So}\p{Sk}]--[\x00-\x7f]]"
_AFTER = r"[[\p{L}\p{So}\p{Sm}]--[\x00-\x7f]]"
_UNSEEN = r"[[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800\u2400-\u2421\u27e8]--[\ \n\t\u200c\u200d\ufe0e\ufe0f]]"
_IN_LINES = regex.compile(
    rf"(?V1){_UNSEEN}"
    rf"|(?<!{_BEFORE}){_JOINERS}|{_JOINERS}(?!{_AFTER})"  # elsewhere emoji and some scripts are written with them
    rf"|(?<!{_PICTURE})[\ufe0e\ufe0f]"
    r"|(?<=\p{M}{5})\p{M}"  # more on one letter than any script has: they would cover what is around
    r"|(?<![^\n\t])\p{M}"
)
_IN_LINE = regex.compile(rf"(?V1){_UNSEEN}|[\n\t\u200c\u200d\ufe0e\ufe0f]|(?<=\p{{M}}{{5}})\p{{M}}|(?<![^\n\t])\p{{M}}")
_NOT_ASCII = regex.compile(r"<U\+|⟨U\+[0-9A-F]{4,6}⟩|[^\x00-\x7f]")
_NAMED = regex.compile(r"⟨U\+([0-9A-F]{4,6})⟩|[\u2400-\u2421]")


def exact_lines(text: str) -> str:
    """Return the text with its lines and tabs; whatever else would not be seen is named."""
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return _IN_LINES.sub(_name, text)


def exact_line(text: str) -> str:
    """Return the text on one line, with every invisible character named."""
    return _IN_LINE.sub(_name, text)


def parse_exact(text: str) -> str:
    """Return the text of which `exact_lines` or `exact_line` made this."""
    return _NAMED.sub(lambda found: chr(int(found[1], 16)) if found[1] else _CONTROLS[found[0]], text)


def exact_in_ascii(text: str) -> str:
    """Return what `exact_lines` or `exact_line` made for a terminal without Unicode: other characters by their number.

    Still, no two texts look the same.
    """
    return _NOT_ASCII.sub(_number, text)


def _number(found: regex.Match[str]) -> str:
    written = found[0]
    char = "<" if written == "<U+" else parse_exact(written)
    return f"<U+{ord(char):04X}>{written[1:] if char == '<' else ''}"


def _name(found: regex.Match[str]) -> str:
    code = ord(found[0])
    return _PICTURES.get(code) or f"⟨U+{code:04X}⟩"
