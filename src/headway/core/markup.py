"""Text inside Markdown: escaped onto one line that cannot become structure, and read back.

Backslashes before what Markdown would obey, `<br>` for a newline, numeric references for what is not printable. A
reader of the rendered page sees the text as it is.
"""

from __future__ import annotations

import re

from headway.core.text import to_storable

_MARKUP = re.compile(r"[\\`*<&\[~]|(?<![^\W_])_|_(?![^\W_])")
_KEPT = "\u200c\u200d\u3000"
"""Not printable to Python, at home in some scripts and in emoji."""
_TOKEN = re.compile(
    r"(?P<code>`[^`]*`)|\\(?P<mark>[!-/:-@\[-`{-~])|&\#(?P<number>\d{1,7});|&(?P<name>amp|lt|gt|quot);|(?P<line><br\s*/?>)"
)
_NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"'}


def escape_markdown(text: str) -> str:
    """The text on one line of Markdown; `unescape` gives it back."""
    line = _MARKUP.sub(r"\\\g<0>", to_storable(text))
    if line.isprintable():
        return line
    return "".join(char if char.isprintable() or char in _KEPT else _to_reference(char) for char in line)


def _to_reference(char: str) -> str:
    return "<br>" if char == "\n" else f"&#{ord(char)};"


def unescape_markdown(text: str) -> str:
    """The text that a line of Markdown stands for; emphasis, links and code stay as they are written."""
    return _TOKEN.sub(_from_reference, text)


def _from_reference(found: re.Match[str]) -> str:
    if found["mark"]:
        return found["mark"]
    if found["line"]:
        return "\n"
    if found["name"]:
        return _NAMED[found["name"]]
    if found["number"]:
        code = int(found["number"])
        return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else found[0]
    return found[0]
