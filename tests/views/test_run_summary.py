"""The end of a run in words: what was done and how sure that is, what is open, files, tokens, money."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.tables import check_rows

from headway.agent.config import Reason
from headway.core.evidence import Evidence, EvidenceLevel
from headway.core.model import Status
from headway.views.run_summary import format_duration, summary_lines

from .samples import HOSTILE, STATUSES, hostile_text, todo

VERIFIED = Evidence(EvidenceLevel.VERIFIED)
REPORTED = Evidence(EvidenceLevel.REPORTED)


def summary(reason: str = "finished", todos: Any = (), **more: Any) -> list[str]:
    given: dict[str, Any] = {
        "rounds": 3,
        "seconds": 4.2,
        "error": None,
        "files": (),
        "cost": 0.0,
        "input_tokens": 1234,
        "cached_tokens": 0,
        "output_tokens": 56,
        **more,
    }
    return summary_lines(reason, given.pop("rounds"), given.pop("seconds"), list(todos), **given)


@pytest.mark.parametrize(
    ("reason", "heading"),
    [
        ("finished", "✅ Finished after 3 rounds, 4.2 s"),
        ("all_done", "✅ All done after 3 rounds, 4.2 s"),
        ("max_rounds", "⏸  Stopped at the limit after 3 rounds, 4.2 s"),
        ("cancelled", "⏹  Stopped after 3 rounds, 4.2 s"),
        ("error", "❌ Failed after 3 rounds, 4.2 s"),
    ],
)
def test_the_first_line_says_how_it_ended(reason: str, heading: str) -> None:
    assert summary(reason)[0] == heading


def test_there_is_a_heading_for_every_reason_and_one_round_is_no_rounds() -> None:
    for reason in Reason:
        assert "after 1 round, " in summary(reason, rounds=1)[0]


def test_of_what_there_is_not_nothing_is_said() -> None:
    assert summary() == ["✅ Finished after 3 rounds, 4.2 s", "Tokens: 1,234 in, 56 out · cost: $0"]


def test_done_items_are_verified_or_reported_and_open_ones_follow() -> None:
    items = [
        todo(1, "Read", Status.COMPLETED, evidence=VERIFIED),
        todo(2, "Fix", Status.COMPLETED, evidence=REPORTED),
        todo(3, "Say", Status.COMPLETED),
        todo(4, "Test", Status.BLOCKED),
        todo(5, "Ship", interrupted=True),
        todo(6, "Old", Status.CANCELLED),
    ]
    assert summary("error", items, error="It broke.", files=["a.py", "b.py"])[1:-1] == [
        "It broke.",
        "Done: 3 of 6 (1 verified, 2 reported), 1 cancelled",
        "  ✓ t1: Read",
        "  ✓? t2: Fix (reported)",
        "  ✓? t3: Say (reported)",
        "Open: 2",
        "  ✗ t4: Test",
        "  ○ t5: Ship (interrupted)",
        "Files changed: a.py, b.py",
    ]


def test_nothing_done_is_said_without_how_sure_it_is() -> None:
    assert summary(todos=[todo()])[1:4] == ["Done: 0 of 1", "Open: 1", "  ○ t1: Run tests"]


def test_items_that_were_cancelled_are_accounted_for() -> None:
    lines = summary("all_done", [todo(1, "Read", Status.COMPLETED), todo(2, "Old", Status.CANCELLED)])
    assert any("cancelled" in line for line in lines)


def test_many_files_are_some_and_a_number() -> None:
    (line,) = (line for line in summary(files=[f"{n}.py" for n in range(25)]) if line.startswith("Files changed: "))
    assert line.startswith("Files changed: 0.py, 1.py, ") and line.endswith("19.py and 5 more")


@pytest.mark.parametrize("status", [Status.COMPLETED, Status.PENDING])
def test_many_items_are_some_and_a_number(status: Status) -> None:
    lines = summary(todos=[todo(n, f"Item {n}", status) for n in range(30)])
    assert len([line for line in lines if line.startswith("  ")]) <= 21
    assert any("10 more" in line for line in lines)


@pytest.mark.parametrize(
    ("more", "line"),
    [
        ({}, "Tokens: 1,234 in, 56 out · cost: $0"),
        ({"cached_tokens": 1000}, "Tokens: 1,234 in (1,000 cached), 56 out · cost: $0"),
        ({"cost": None}, "Tokens: 1,234 in, 56 out · cost: unknown"),
        ({"cost": 0.01234}, "Tokens: 1,234 in, 56 out · cost: $0.0123"),
    ],
)
def test_the_last_line_has_tokens_and_money(more: dict[str, Any], line: str) -> None:
    assert summary(**more)[-1] == line


def test_a_small_price_is_not_none() -> None:
    assert "$0.0000" not in summary(cost=0.00002)[-1]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0.0 s"), (0.04, "0.0 s"), (59.94, "59.9 s"), (60, "1m 00s"), (151.9, "2m 31s"), (3599, "59m 59s")],
)
def test_durations_are_seconds_or_minutes(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


def test_a_minute_is_never_60_seconds() -> None:
    assert format_duration(59.96) == "1m 00s"


def test_hostile_errors_and_paths_stay_on_their_line_and_do_nothing() -> None:
    def check(text: str) -> None:
        lines = summary("error", error=f"!{text}", files=[f"!{text}"])
        assert len(lines) == 4
        assert all(line.isprintable() or "\u200d" in line for line in lines)
        assert not any(char in "".join(lines) for char in "\x1b\x9b\u202e\n\r\x07")

    check_rows(HOSTILE, check)


def test_a_long_error_is_cut() -> None:
    assert len(summary("error", error="x" * 10_000)[1]) == 1_000


@given(
    st.lists(st.tuples(hostile_text, st.sampled_from(STATUSES)), max_size=30),
    st.sampled_from(list(Reason)),
    st.floats(0, 1e6),
)
def test_every_list_has_a_summary_of_single_lines(
    items: list[tuple[str, Status]], reason: Reason, seconds: float
) -> None:
    todos = [todo(n, text, status) for n, (text, status) in enumerate(items)]
    lines = summary(reason, todos, seconds=seconds)
    assert lines[-1].startswith("Tokens: ")
    assert not any(char in line for line in lines for char in "\x1b\x9b\u202e\n\r\x07")
    done = sum(status is Status.COMPLETED for _, status in items)
    left = sum(status not in (Status.COMPLETED, Status.CANCELLED) for _, status in items)
    assert (f"Open: {left}" in lines) == (left > 0)
    assert any(line.startswith(f"Done: {done} of {len(items)}") for line in lines) == bool(items)
