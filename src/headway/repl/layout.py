"""The lower part of the screen, from top to bottom: what goes on, the list, what waits, the input, its completions, and
one line about the session.

prompt_toolkit writes only the cells that changed, where it takes them to be. Rows that terminals may draw wider or
narrower than that are therefore given to it as one escape sequence each, which draws the row as a whole (`PlacedRows`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.layout import ConditionalContainer, Dimension, HSplit, Layout, Window
from prompt_toolkit.layout.controls import BufferControl, FormattedTextControl
from prompt_toolkit.layout.processors import BeforeInput

from headway.core.model import FINISHED
from headway.repl.placed_rows import PlacedRows
from headway.views.terminal import count_cells, fit_to_width, to_visible

if TYPE_CHECKING:
    from collections.abc import Callable

    from headway.core.model import Todo
    from headway.repl.screen import TerminalScreen

_MOST_COMPLETIONS = 6
_LEAST_BOX = 3


def make_layout(screen: TerminalScreen) -> Layout:
    below = _LowerScreen(screen)
    field = BufferControl(screen.input, input_processors=[BeforeInput(below.prompt)], focusable=True)
    entry = Window(
        field, wrap_lines=True, height=lambda: Dimension(min=1, max=below.input_rows()), dont_extend_height=True
    )
    return Layout(
        HSplit(
            [
                _make_part(below.activity),
                _make_part(below.box, lambda: bool(screen.todos) and not screen.box_hidden),
                _make_part(below.waiting),
                entry,
                _make_part(below.completions),
                Window(FormattedTextControl(below.status), height=1, wrap_lines=False),
            ]
        ),
        focused_element=entry,
    )


def _make_part(
    lines: Callable[[], StyleAndTextTuples], holds: Callable[[], bool] | None = None
) -> ConditionalContainer:
    window = Window(FormattedTextControl(lines), wrap_lines=False, dont_extend_height=True)
    return ConditionalContainer(window, Condition(holds or (lambda: bool(lines()))))


class _LowerScreen:
    def __init__(self, screen: TerminalScreen) -> None:
        self._screen = screen
        self._boxed: tuple[tuple[list[Todo], int, int], list[str]] | None = None
        """The box that was drawn last, and of what."""
        self._placed = PlacedRows(colour=screen.pen.colour)

    def _row(self, style: str, text: str) -> StyleAndTextTuples:
        return self._placed.place_row(style, self._screen.pen.to_plain(text), self._screen.size[0])

    def prompt(self) -> StyleAndTextTuples:
        if self._screen.question is not None:
            offline = "o yes, offline · " if self._screen.question.in_sandbox else ""
            return [("bold", self._screen.pen.to_plain(f"  y yes · {offline}a always · n no > "))]
        return [("bold", "[PLAN] > " if self._screen.planning else "> ")]

    def input_rows(self) -> int:
        return max(self._screen.size[1] // 3, 1)

    def activity(self) -> StyleAndTextTuples:
        """What the model is saying, and what runs."""
        screen, columns = self._screen, self._screen.size[0]
        transcript = screen.transcript
        found: StyleAndTextTuples = []
        room = max(screen.size[1] // 3, 2)
        for line in _wrap(transcript.rest, columns - 1)[-room:]:
            found += self._row("", line)
        for what in transcript.executing.activity_lines()[:room] if transcript.executing.side_by_side else ():
            found += self._row("fg:ansiyellow", fit_to_width(f"● {what}", columns - 1))
        for what, since in [*transcript.running.values()][:4]:
            found += self._row("fg:ansiyellow", fit_to_width(f"● {what}{screen.format_elapsed(since)}", columns - 1))
        if transcript.output and transcript.running:
            found += self._row("fg:ansibrightblack", fit_to_width(f"  {transcript.output}", columns - 1))
        if screen.pause and not transcript.running:
            found += self._row("fg:ansiyellow", fit_to_width(f"⏸ {screen.pause}", columns - 1))
        elif transcript.doing and screen.work.is_running and not transcript.running:
            doing = f"{transcript.doing} …{screen.format_elapsed(transcript.since)}"
            found += self._row("fg:ansibrightblack", fit_to_width(doing, columns - 1))
        return _drop_last_break(found)

    def box(self) -> StyleAndTextTuples:
        columns, rows = self._screen.size
        others = [self.activity(), self.waiting(), self.completions()]
        taken = sum(_count_rows(part) for part in others) + min(
            self._screen.input.text.count("\n") + 1, self.input_rows()
        )
        height = max(min(len(self._screen.todos) + 2, rows // 2, rows - taken - 2), _LEAST_BOX)
        wanted = (self._screen.todos, columns, height)
        if self._boxed is None or self._boxed[0] != wanted:
            self._boxed = (wanted, self._screen.pen.draw_box(self._screen.todos, columns - 1, height))
        found: StyleAndTextTuples = []
        for row in self._boxed[1]:
            found += self._placed.place_drawn_row(row, columns)
        return _drop_last_break(found)

    def waiting(self) -> StyleAndTextTuples:
        columns = self._screen.size[0]
        lines = [fit_to_width(f"queued: {text}", columns - 1) for text in self._screen.work.waiting]
        more = [f"… {len(lines) - 3} more"] if len(lines) > 3 else []
        found: StyleAndTextTuples = []
        for line in [*lines[:3], *more]:
            found += self._row("fg:ansibrightblack", line)
        return _drop_last_break(found)

    def completions(self) -> StyleAndTextTuples:
        state = self._screen.input.complete_state
        if state is None or not state.completions:
            return []
        columns = self._screen.size[0]
        at = state.complete_index or 0
        first = max(min(at - _MOST_COMPLETIONS // 2, len(state.completions) - _MOST_COMPLETIONS), 0)
        shown = state.completions[first : first + _MOST_COMPLETIONS]
        widest = max(count_cells(to_visible(one.display_text)) for one in shown)
        found: StyleAndTextTuples = []
        for number, one in enumerate(shown, first):
            name = to_visible(one.display_text)
            gap = " " * (min(widest, 40) - min(count_cells(name), 40) + 2)
            line = fit_to_width(f"  {fit_to_width(name, 40)}{gap}{one.display_meta_text}", columns - 1)
            chosen = number == state.complete_index
            found += self._row("reverse" if chosen else "fg:ansibrightblack", line)
        return _drop_last_break(found)

    def status(self) -> StyleAndTextTuples:
        screen = self._screen
        work, columns = screen.work, screen.size[0]
        if screen.question is not None:
            said = f"a allows {screen.question.allowed_by_always}"
            return _drop_last_break(self._row("fg:ansibrightblack", fit_to_width(said, columns - 1)))
        done = sum(todo.status in FINISHED for todo in screen.todos)
        parts = [
            work.model or ("no model" if work.is_loaded else "…"),
            screen.mode,
            *([f"{done}/{len(screen.todos)}"] if screen.todos else []),
            f"{_format_short(work.tokens)} tokens",
            work.session.name,
        ]
        keys = "Ctrl+C stop" if work.is_running else "Ctrl+P plan · Ctrl+T list · /help"
        line = " · ".join(to_visible(part) for part in parts)
        if work.is_running and count_cells(line) + count_cells(keys) + 6 >= columns:
            line = " · ".join(to_visible(part) for part in parts[:-1])
        if count_cells(line) + count_cells(keys) + 6 < columns:
            line = f"{line}{' ' * (columns - 2 - count_cells(line) - count_cells(keys))}{keys}"
        return _drop_last_break(self._row("fg:ansibrightblack", fit_to_width(line, columns - 1)))


def _count_rows(part: StyleAndTextTuples) -> int:
    return sum(fragment[1].count("\n") for fragment in part) + 1 if part else 0


def _format_short(number: int) -> str:
    return f"{number / 1000:.1f}k" if number >= 1000 else str(number)


def _drop_last_break(found: StyleAndTextTuples) -> StyleAndTextTuples:
    if found:
        style, text = found[-1][0], found[-1][1]
        found[-1] = (style, text.removesuffix("\n"))
    return found


def _wrap(text: str, width: int) -> list[str]:
    from rich.cells import chop_cells

    lines: list[str] = []
    for line in text[-20_000:].split("\n") if text else ():
        lines += chop_cells(to_visible(line), max(width, 2)) or [""]
    return lines
