"""Commands on a real terminal: `headway watch`, and what is asked for before something is lost."""

from __future__ import annotations

import re

import pytest
from tests.support.terminal import Terminal, one_box

import headway as api

CTRL_C = "\x03"

pytestmark = pytest.mark.more


@pytest.mark.smoke
def test_watch_redraws_in_place_when_another_process_changes_the_list(two_items: api.Session) -> None:
    terminal = Terminal("watch")
    terminal.until(lambda shown: "● First 第一..." in shown)
    two_items.update("t1", status="completed")
    terminal.until(lambda shown: "✓ First 第一" in shown and one_box(shown, rows=4) and shown.count("Second") == 1)
    terminal.send(CTRL_C)
    assert terminal.end() == 0


def test_watch_keeps_the_active_item_in_sight_on_a_small_screen(two_items: api.Session) -> None:
    two_items.write([{"content": f"Item {n}", "status": "in_progress" if n == 40 else "pending"} for n in range(50)])
    terminal = Terminal("watch", lines=12, columns=40)
    shown = terminal.until(lambda shown: "● Item 40..." in shown)
    assert "more" in shown
    terminal.send(CTRL_C)
    assert terminal.end() == 0


def test_watch_draws_the_box_anew_when_the_terminal_changes_its_size(two_items: api.Session) -> None:
    terminal = Terminal("watch", columns=100)
    terminal.until(lambda shown: "● First 第一..." in shown)
    terminal.resize(columns=40, lines=10)
    terminal.until(lambda shown: "┌─ Tasks ──────────────────────────────┐" in shown and one_box(shown, rows=4))
    terminal.resize(columns=120, lines=30)
    wide = "┌─ Tasks ─────────────────────────────────────────────┐"
    terminal.until(lambda shown: wide in shown and one_box(shown, rows=4) and shown.count("First") == 1)
    terminal.send(CTRL_C)
    assert terminal.end() == 0


def test_watch_shows_that_its_session_was_deleted(two_items: api.Session) -> None:
    terminal = Terminal("watch")
    terminal.until(lambda shown: "● First 第一..." in shown)
    two_items.store.delete("default")
    terminal.until(lambda shown: "No tasks yet" in shown)
    terminal.send(CTRL_C)
    assert terminal.end() == 0


def test_without_colour_the_box_is_redrawn_in_place(two_items: api.Session) -> None:
    terminal = Terminal("watch", env={"NO_COLOR": "1"})
    terminal.until(lambda shown: "● First 第一..." in shown)
    two_items.update("t1", status="completed")
    terminal.until(lambda shown: "✓ First 第一" in shown and one_box(shown, rows=4) and shown.count("Second") == 1)
    assert not re.search(r"\x1b\[[\d;]*m", terminal.raw)
    terminal.send(CTRL_C)
    assert terminal.end() == 0


def test_where_nothing_can_be_redrawn_changes_are_lines(two_items: api.Session) -> None:
    terminal = Terminal("watch", env={"TERM": "dumb"})
    terminal.until(lambda shown: "● First 第一..." in shown)
    two_items.update("t1", status="completed")
    terminal.until(lambda shown: "┘\n✓ First 第一" in shown)
    terminal.send(CTRL_C)
    assert terminal.end() == 0
    assert "\x1b" not in terminal.raw
    assert terminal.shown.count("┌─ Tasks") == terminal.shown.count("┘") == 2  # the second behind the ^C that was typed


def test_without_unicode_the_box_is_ascii(two_items: api.Session) -> None:
    terminal = Terminal("watch", env={"PYTHONIOENCODING": "ascii", "NO_COLOR": "1"})
    shown = terminal.until(lambda shown: "* First ??..." in shown)
    assert "+- Tasks ---" in shown
    terminal.send(CTRL_C)
    assert terminal.end() == 0


@pytest.mark.parametrize(("answer", "left"), [pytest.param("n", ["default"], marks=pytest.mark.smoke), ("y", [])])
def test_deleting_a_session_is_asked_for_on_a_terminal(two_items: api.Session, answer: str, left: list[str]) -> None:
    terminal = Terminal("sessions", "delete", "default")
    terminal.until(lambda shown: "Delete 'default' and its whole history?" in shown)
    terminal.send(f"{answer}\n")
    assert terminal.end() == 0
    assert [info.name for info in two_items.store.sessions()] == left
