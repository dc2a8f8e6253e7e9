"""What the keys do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_toolkit.buffer import CompletionState
from prompt_toolkit.completion import CompleteEvent, Completion, get_common_complete_suffix
from prompt_toolkit.filters import Condition
from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.keys import Keys

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

    from prompt_toolkit.key_binding import KeyPressEvent
    from prompt_toolkit.key_binding.key_processor import KeyPress

    from headway.repl.screen import TerminalScreen

# Standard input on which Esc acts at once, and what is typed after it is never lost.

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


def make_key_bindings(screen: TerminalScreen) -> KeyBindings:
    keys, do = KeyBindings(), _Keys(screen)
    typing = Condition(lambda: screen.question is None)
    keys.add("enter")(do.enter)
    keys.add("escape", "enter", filter=typing)(do.newline)
    keys.add("c-j", filter=typing)(do.line_feed)
    keys.add("tab", filter=typing)(do.complete)
    keys.add("s-tab", filter=typing)(do.complete_back)
    keys.add("c-c")(do.stop)
    keys.add("escape", filter=Condition(lambda: screen.work.is_running))(do.stop)
    keys.add("c-d")(do.leave)
    keys.add("c-p")(do.plan)
    keys.add("c-t")(do.box)
    keys.add("c-o")(do.output)
    keys.add("c-z")(do.suspend)
    return keys


class _Keys:
    def __init__(self, screen: TerminalScreen) -> None:
        self._screen = screen

    def enter(self, event: KeyPressEvent) -> None:
        screen, buffer = self._screen, self._screen.input
        state = buffer.complete_state
        if state is not None and state.current_completion is not None:
            buffer.complete_state = None  # what was chosen stays; the next time it is sent
            return
        if screen.question is None and buffer.document.text_before_cursor.endswith("\\"):
            buffer.delete_before_cursor(1)
            buffer.insert_text("\n")
            return
        text = buffer.text
        if screen.question is None and text.strip():
            screen.remember(text)
        buffer.reset()
        screen.submit(text)

    def newline(self, event: KeyPressEvent) -> None:
        self._screen.input.insert_text("\n")

    def line_feed(self, event: KeyPressEvent) -> None:
        """Ctrl+J; and Enter, where it was pressed before the session had the terminal."""
        if self._screen.is_new:
            self.enter(event)
        else:
            self.newline(event)

    def complete(self, event: KeyPressEvent) -> None:
        """One candidate is taken at once; of several, what they share, and then one after the other."""
        buffer = self._screen.input
        if buffer.complete_state is not None and buffer.complete_state.complete_index is not None:
            buffer.complete_next()
            return
        found = self._candidates()
        if len(found) == 1:
            buffer.apply_completion(found[0])
            return
        shared = get_common_complete_suffix(buffer.document, found)
        if shared:
            buffer.insert_text(shared)
            found = self._candidates()
        buffer.complete_state = CompletionState(buffer.document, found) if found else None
        if found and not shared:
            buffer.complete_next()

    def _candidates(self) -> list[Completion]:
        buffer = self._screen.input
        return [*buffer.completer.get_completions(buffer.document, CompleteEvent(completion_requested=True))]

    def complete_back(self, event: KeyPressEvent) -> None:
        self._screen.input.complete_previous()

    def stop(self, event: KeyPressEvent) -> None:
        screen = self._screen
        if screen.work.is_running:
            screen.stop()
        elif screen.input.text:
            screen.input.reset()
        else:
            saved = "" if screen.work.is_in_memory else "; the session is saved"
            screen.show_notice(f"Press Ctrl+D or type /quit to leave{saved}.", " ")

    def leave(self, event: KeyPressEvent) -> None:
        screen = self._screen
        if screen.input.text and screen.question is None:
            screen.input.delete()
        else:
            screen.leave()

    def plan(self, event: KeyPressEvent) -> None:
        if self._screen.question is None:
            self._screen.toggle_plan()

    def box(self, event: KeyPressEvent) -> None:
        self._screen.toggle_box()

    def output(self, event: KeyPressEvent) -> None:
        self._screen.show_output()

    def suspend(self, event: KeyPressEvent) -> None:
        event.app.suspend_to_background()
