"""Standard input on which Esc acts at once, and what is typed after it is never lost.

A terminal sends Alt with a key as Esc and that key. prompt_toolkit waits after an Esc for more than a second for such a
key, and takes the next one for it. Here what is read in one go belongs together, and what comes later does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.keys import Keys

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

    from prompt_toolkit.key_binding.key_processor import KeyPress

FLUSH_AFTER = 0.1
"""Seconds in which the rest of a key's sequence has to arrive; a connection may tear it apart."""
_ESCAPE = "\x1b"
_GOES_ON = ("[", "O")
"""What follows Esc in the sequences of arrows and other keys."""
_WITH_ALT = ("", _ESCAPE, "\r", "\n", *_GOES_ON)


class EscapeInput(Vt100Input):
    def __init__(self, stdin: TextIO, on_escape: Callable[[], bool], has_alt: Callable[[], bool]) -> None:
        """`on_escape` acts on a lone Esc and returns whether it did.

        `has_alt` returns whether Alt with a letter means anything now; if not, it is Esc and the letter.
        """
        super().__init__(stdin)
        self._on_escape = on_escape
        self._has_alt = has_alt
        self._waits = False
        """Whether an Esc was read, and nothing after it yet."""

    def read_keys(self) -> list[KeyPress]:
        data = self.stdin_reader.read()
        keys: list[KeyPress] = []
        if self._waits and not data.startswith(_GOES_ON):
            keys = self.flush_keys()
        elif data.startswith(_ESCAPE) and data[1:2] not in _WITH_ALT and not self._has_alt() and self._on_escape():
            data = data[1:]
        self._waits = data.endswith(_ESCAPE)
        self.vt100_parser.feed(data)
        keys += self._buffer
        self._buffer = []
        return keys

    def flush_keys(self) -> list[KeyPress]:
        self._waits = False
        keys = super().flush_keys()
        return [] if [press.key for press in keys] == [Keys.Escape] and self._on_escape() else keys
