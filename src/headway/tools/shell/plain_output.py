"""What a command prints, as plain text: escape sequences removed, progress bars folded into their last state.

Takes bytes in pieces of any size; what may still change is held back until it is whole. Whoever watches gets each piece
as it comes, without what a terminal would obey.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from traceback import format_exc

from headway.core.logs import logger
from headway.core.secrets import redact
from headway.core.text import UNSAFE

_ODD = bytes([*range(9), *range(11, 32), 127])
"""Everything but a tab and a new line that is no text."""
_ESCAPES = re.compile(
    r"""
      \x1b\[ [0-?]* [ -/]* [@-~]                    # colours and movements
    | \x1b[\]PX^_] [^\x07\x1b]* (?:\x07|\x1b\\)     # titles, links and other strings
    | \x1b [ -/]* [0-OQ-WYZ\\`-~]
    """,
    re.VERBOSE,
)
_CONTROL = re.compile(rf"[\0-\x08\x0b-\x1f\x7f-\x9f{UNSAFE}]")
_LONGEST = 8_000
"""A line longer than this is not held back until it is whole."""


class PlainText:
    """One command's output on its way to the model (`add`) and to whoever watches (`report`)."""

    def __init__(self, add: Callable[[str], None], report: Callable[[str], None]) -> None:
        self._add = add
        self._report = report
        self._report_failed = False
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""
        self._odd = False
        """There is more than text in what is held back."""

    def add_bytes(self, data: bytes, *, final: bool = False) -> None:
        text = self._decoder.decode(data, final)
        if text:
            self._publish(_to_plain_text(text))
        # Most output has nothing odd in it and needs no closer look; there may be a lot of it.
        odd = self._odd or len(data.translate(None, _ODD)) != len(data) or _has_odd_letters(text)
        text = self._held + text
        if odd:
            text = _fold_rewritten_lines(_ESCAPES.sub("", text))
        at = len(text) if final else text.rfind("\n") + 1
        if len(text) - at > _LONGEST:
            at = len(text)
        self._held = text[at:]
        self._odd = odd and _CONTROL.search(self._held) is not None
        if at:
            self._add(_CONTROL.sub("\N{REPLACEMENT CHARACTER}", text[:at].rstrip("\r")) if odd else text[:at])

    def close(self) -> None:
        self.add_bytes(b"", final=True)

    def _publish(self, text: str) -> None:
        try:
            self._report(text)
        except Exception:  # whoever watches may fail in any way; the command goes on
            if not self._report_failed:
                self._report_failed = True
                logger().error("Showing output failed:\n%s", redact(format_exc()))


def _has_odd_letters(text: str) -> bool:
    return not text.isascii() and _CONTROL.search(text) is not None


def _to_plain_text(text: str) -> str:
    """A piece of output with nothing in it that a terminal obeys; a line written anew becomes a new line."""
    if text.isprintable():
        return text
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", _ESCAPES.sub("", text).replace("\r\n", "\n").replace("\r", "\n"))


def _fold_rewritten_lines(text: str) -> str:
    """Each line as it was last written; the end of one that goes on stays, since it may still be overwritten."""
    if "\r" not in text:
        return text
    *lines, last = text.split("\n")
    returned = "\r" if last.endswith("\r") else ""
    return "\n".join([*map(_last_version, lines), _last_version(last) + returned])


def _last_version(line: str) -> str:
    return line.rstrip("\r").rpartition("\r")[2]
