"""The list in one short line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.counts import some

from headway import Session, Status, Todo
from headway.core.model import FINISHED
from headway.core.recap import format_recap

from .samples import items


def todos(*pairs: tuple[str, str]) -> list[Todo]:
    return [Todo(f"t{n}", content, status=Status(status)) for n, (content, status) in enumerate(pairs, start=1)]


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ([], "[0/0] In progress: None."),
        ([("a", "pending")], "[0/1] In progress: None. Pending: a."),
        ([("a", "completed")], "[1/1] In progress: None."),
        (
            [("A", "in_progress"), ("B", "pending"), ("C", "pending"), ("D", "pending"), ("E", "cancelled"),
             ("F", "cancelled"), ("x", "completed")],
            "[3/7] In progress: A. Pending: B; C; D. Cancelled: E; F.",
        ),
        (
            [("A", "in_progress"), ("A2", "in_progress"), *[(f"p{n}", "pending") for n in range(4)],
             *[(f"c{n}", "cancelled") for n in range(3)], *[(f"b{n}", "blocked") for n in range(3)]],
            "[3/12] In progress: A (and 1 more). Pending: p0; p1; p2. Cancelled: c0; c1. Blocked: b0; b1.",
        ),
        ([("a\nb\x1b[31m", "pending")], "[0/1] In progress: None. Pending: a b␛[31m."),
    ],
)  # fmt: skip
def test_a_list_has_its_line(given: list[tuple[str, str]], line: str) -> None:
    assert format_recap(todos(*given)) == line


def test_blocked_items_can_be_left_out() -> None:
    assert format_recap(todos(("a", "blocked")), blocked=False) == "[0/1] In progress: None."


def test_only_what_is_too_long_is_shortened() -> None:
    line = format_recap(todos(("short", "in_progress"), ("x" * 1000, "pending"), ("also short", "pending")))
    assert line.startswith("[0/3] In progress: short. Pending: xxxx")
    assert line.endswith("x…; also short.")
    assert len(line) == 299


@given(st.lists(st.tuples(st.text(min_size=1, max_size=400), st.sampled_from([*Status])), max_size=12), st.booleans())
def test_the_line_stays_under_the_limit_with_its_counts_whole(pairs: list[tuple[str, Status]], blocked: bool) -> None:
    given_todos = todos(*pairs)
    done = sum(todo.status in FINISHED for todo in given_todos)
    for limit in (200, 299):
        line = format_recap(given_todos, limit, blocked=blocked)
        assert len(line) <= limit
        assert line.startswith(f"[{done}/{len(pairs)}] In progress: ")
        assert line.isprintable() or not any(char in line for char in "\n\r\x1b\x00")


@pytest.mark.full
def test_counts_stay_whole_for_very_long_lists() -> None:
    each = some(20_000)
    many = todos(*[("x" * 300, status) for status in Status for _ in range(each)])
    assert format_recap(many).startswith(f"[{2 * each}/{5 * each}] In progress: x")
    assert len(format_recap(many)) < 300


def test_the_session_gives_the_line_of_its_list(session: Session) -> None:
    session.write(items("A"))
    assert session.recap() == "[0/1] In progress: None. Pending: A."
