"""The box keeps its borders straight and its text harmless, whatever is in the list."""

from __future__ import annotations

from itertools import product

import pyte
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from tests.support.counts import some
from tests.support.tables import check_rows

from headway.core.model import Status, Todo
from headway.views.box import box_lines, draw_rows, list_changed_rows, to_row_texts

from .samples import HOSTILE, STATUSES, hostile_text, todo, todos

SPEC = """\
┌─ Tasks ─────────────────────────────────────────────┐
│ ✓ Analyze requirements                              │
│ ● Writing implementation...                         │
│ ○ Run tests                                         │
└─────────────────────────────────────────────────────┘"""


def spec_list() -> list[Todo]:
    return [
        todo(1, "Analyze requirements", Status.COMPLETED),
        todo(2, "Write implementation", Status.IN_PROGRESS, active_form="Writing implementation"),
        todo(3, "Run tests"),
    ]


def widths(lines: list[str]) -> set[int]:
    return {cell_len(line) for line in lines}


def test_the_example_of_the_specification_comes_out_character_for_character():
    assert "\n".join(box_lines(spec_list())) == SPEC


def test_cancelled_and_blocked_items_have_their_own_icons():
    lines = box_lines([todo(1, "Old idea", Status.CANCELLED), todo(2, "Update docs", Status.BLOCKED)])
    assert [line[2:15].rstrip() for line in lines[1:-1]] == ["⊘ Old idea", "✗ Update docs"]


def test_an_item_without_an_active_form_shows_its_content_while_in_progress():
    assert box_lines([todo(1, "Fix it", Status.IN_PROGRESS)])[1].startswith("│ ● Fix it...  ")


def test_an_active_form_that_ends_in_dots_gets_no_more_of_them():
    line = box_lines([todo(1, "Fix", Status.IN_PROGRESS, active_form="Fixing...")])[1]
    assert line.startswith("│ ● Fixing...  ")


@pytest.mark.parametrize("ascii", [False, True])
def test_an_empty_list_is_a_box_that_says_so(ascii: bool):
    lines = box_lines([], ascii=ascii)
    assert len(lines) == 3
    assert "No tasks yet" in lines[1]
    assert widths(lines) == {55}


def test_a_text_that_just_fits_the_smallest_box_does_not_widen_it():
    assert widths(box_lines(todos("x" * 49))) == {55}
    assert widths(box_lines(todos("x" * 50))) == {56}


def test_a_text_that_just_fits_the_terminal_is_whole_and_a_longer_one_is_cut():
    assert box_lines(todos("x" * 74), width=80)[1] == f"│ ○ {'x' * 74} │"
    assert box_lines(todos("x" * 75), width=80)[1] == f"│ ○ {'x' * 73}… │"


@pytest.mark.parametrize("width", [54, 30, 12, 11, 10, 7])
def test_the_box_is_as_narrow_as_the_terminal(width: int):
    assert widths(box_lines(spec_list(), width=width)) == {width}


@pytest.mark.parametrize("width", [6, 1, 0, -5])
def test_a_terminal_too_narrow_for_any_text_gets_the_smallest_box_there_is(width: int):
    assert widths(box_lines(spec_list(), width=width)) == {7}


def test_a_hostile_title_keeps_the_border_straight() -> None:
    def check(text: str) -> None:
        lines = box_lines(todos(text, "plain"))
        assert len(lines) == 4
        assert widths(lines) == {max(55, cell_len(lines[1]))}
        assert lines[1].endswith(" │")

    check_rows(HOSTILE, check)


def test_a_wide_title_is_cut_between_characters_and_keeps_the_border_straight():
    lines = box_lines(todos("修" * 100), width=61)
    assert widths(lines) == {61}
    assert lines[1] == f"│ ○ {'修' * 27}… │"
    assert box_lines(todos("修" * 100), width=50)[1] == f"│ ○ {'修' * 21}…  │"


def test_a_family_of_joined_emoji_counts_as_one_picture():
    line = box_lines(todos("👨‍👩‍👧"))[1]
    assert line == "│ ○ 👨‍👩‍👧" + " " * 48 + "│"


def test_a_joiner_between_letters_hides_no_letter_from_the_measure():
    assert box_lines(todos("a\u200db"))[1] == box_lines(todos("ab"))[1]


def test_no_control_character_reaches_the_terminal():
    for ascii in (False, True):
        for line in box_lines(todos(*HOSTILE), ascii=ascii):
            assert line.isprintable() or "\u200d" in line
            assert not any(ord(char) < 32 or 127 <= ord(char) < 160 for char in line)
            line.encode()


def test_a_text_of_a_megabyte_is_cut_at_once():
    assert widths(box_lines(todos("x" * 1_000_000), width=80)) == {80}
    lines = box_lines(todos("e" + "\u0301" * 1_000_000), width=80)
    assert len(lines[1]) < 2_000
    assert "…" in lines[1]


@pytest.mark.full
def test_thousands_of_items_are_all_drawn():
    lines = box_lines(todos(*(f"Task {n} 任务" for n in range(some(10_000)))))
    assert len(lines) == some(10_000) + 2
    assert widths(lines) == {55}


def test_ascii_boxes_have_no_other_character():
    text = "\n".join(box_lines([*spec_list(), todo(4, "修复 x", Status.BLOCKED), todo(5, "y" * 99)], ascii=True))
    assert text.isascii()
    assert "| x Analyze" in text
    assert "| * Writing implementation..." in text
    assert "| ! ?? x" in text
    assert "yyy... |" in text
    assert text.startswith("+- Tasks ---")


def long_list(active: int, total: int = 100) -> list[Todo]:
    return [todo(n, f"Task {n}", Status.IN_PROGRESS if n == active else Status.PENDING) for n in range(total)]


def test_the_active_item_is_in_view_and_hidden_ones_are_counted() -> None:
    def check(active: int, height: int) -> None:
        lines = box_lines(long_list(active), height=height)
        assert len(lines) == height
        assert any(f"● Task {active}..." in line for line in lines)
        hidden = sum(int(line.split()[2]) for line in lines if " more" in line)
        shown = sum("Task " in line for line in lines)
        assert hidden + shown == 100 or height == 3

    check_rows(product([0, 1, 5, 6, 7, 8, 50, 91, 92, 93, 94, 98, 99], [3, 4, 5, 10, 11]), check)


def test_a_list_that_just_fits_the_height_is_shown_whole():
    assert not any("more" in line for line in box_lines(long_list(0, 8), height=10))
    assert sum("more" in line for line in box_lines(long_list(0, 9), height=10)) == 1


def test_without_an_item_in_progress_the_next_pending_one_is_in_view():
    items = [todo(n, f"Task {n}", Status.COMPLETED if n < 60 else Status.PENDING) for n in range(100)]
    assert any("○ Task 60 " in line for line in box_lines(items, height=6))


def test_what_came_before_the_active_item_is_in_view_too():
    lines = box_lines(long_list(50), height=10)
    assert [line[2:].split("  ")[0] for line in lines[1:4]] == ["… 48 more", "○ Task 48", "○ Task 49"]


def test_a_finished_list_shows_its_end():
    items = [todo(n, f"Task {n}", Status.COMPLETED) for n in range(100)]
    assert any("Task 99 " in line for line in box_lines(items, height=6))


@pytest.mark.parametrize("height", [2, 1, 0, -1])
def test_a_height_without_room_still_shows_the_active_item(height: int):
    lines = box_lines(long_list(50), height=height)
    assert len(lines) == 3
    assert "● Task 50..." in lines[1]


items = st.lists(st.builds(todo, st.integers(1, 99), hostile_text, st.sampled_from(STATUSES)), max_size=6)


@given(items, st.integers(7, 120), st.booleans(), st.none() | st.integers(3, 8))
def test_every_line_of_any_box_is_equally_wide_and_within_the_terminal(
    listed: list[Todo], width: int, ascii: bool, height: int | None
):
    lines = box_lines(listed, width=width, ascii=ascii, height=height)
    assert len(widths(lines)) == 1
    assert widths(lines).pop() <= width
    assert height is None or len(lines) <= height
    drawn = on_terminal(draw_rows(listed, width=width, ascii=ascii, height=height), widths(lines).pop())
    assert drawn == [line[0] + line[-1] for line in lines]


def on_terminal(rows: list[str], width: int) -> list[str]:
    """The borders of rows that a terminal draws without wrapping them."""
    screen = pyte.Screen(width + 20, len(rows))
    pyte.Stream(screen).feed("\x1b[?7l" + "\r\n".join(rows))
    assert all(screen.buffer[y][x].data == " " for y in range(len(rows)) for x in range(width, width + 20))
    return [screen.buffer[y][0].data + screen.buffer[y][width - 1].data for y in range(len(rows))]


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (Status.COMPLETED, "\x1b[90m✓ Words\x1b[0m"),
        (Status.IN_PROGRESS, "\x1b[33m● Words...\x1b[0m"),
        (Status.PENDING, "\x1b[2m○ Words\x1b[0m"),
        (Status.CANCELLED, "\x1b[2;9mWords\x1b[0m"),
        (Status.BLOCKED, "\x1b[31m✗ Words\x1b[0m"),
    ],
)
def test_each_status_is_drawn_in_its_style(status: Status, code: str):
    listed = [todo(1, "Words", status)]
    assert code in draw_rows(listed)[1]
    assert "m" not in draw_rows(listed, colour=False)[1].replace("Words", "")


def test_borders_are_placed_by_column_whatever_stands_before_them():
    for row in draw_rows(todos("क्षि", "👩🏿‍🚀", "plain"), width=80):
        assert row.endswith(("\x1b[55G\x1b[K│", "\x1b[55G\x1b[K┐", "\x1b[55G\x1b[K┘"))


def test_an_empty_box_is_drawn_dim():
    assert "\x1b[2mNo tasks yet\x1b[0m" in draw_rows([])[1]


def test_the_rows_that_changed_are_the_new_ones_and_those_that_look_different():
    before = [todo(1, "One"), todo(2, "Two"), todo(3, "Three\x1b[2J")]
    now = [before[2], todo(1, "One", Status.IN_PROGRESS), todo(4, "Four"), before[1]]
    assert list_changed_rows(to_row_texts(before), to_row_texts(now)) == ["● One...", "○ Four"]
    assert list_changed_rows({}, to_row_texts(before)) == ["○ One", "○ Two", "○ Three␛[2J"]
