"""The list in full, and what can run next."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import headway
from headway.core.evidence import Evidence, EvidenceLevel
from headway.core.model import Priority, Status, Todo
from headway.views.listing import counts_line, list_lines, next_lines

from .samples import STATUSES, hostile_text, todo, todos


def test_an_empty_list_says_how_to_add_a_todo():
    assert list_lines([]) == ['The list is empty. Add a todo with: headway todos add "…"']


def test_a_list_has_counts_then_items_by_priority_then_finished_ones():
    items = [
        todo(1, "Read", Status.COMPLETED, priority=Priority.HIGH),
        todo(2, "Low one", priority=Priority.LOW),
        todo(3, "Fix", Status.IN_PROGRESS, priority=Priority.HIGH, module="core", depends_on=("t1", "t2")),
        todo(4, "Plain", interrupted=True),
        todo(5, "Stuck", Status.BLOCKED, priority=Priority.MEDIUM, risks=("a", "b"), estimated_time="1 h", notes="why"),
        todo(6, "Old", Status.CANCELLED),
    ]
    assert list_lines(items) == [
        "📋 Todo List (6 total)",
        "1 completed, 1 in_progress, 2 pending, 1 blocked, 1 cancelled",
        "",
        "High priority",
        "  ● t3: Fix",
        "      module: core · depends on: t1, t2",
        "",
        "Medium priority",
        "  ✗ t5: Stuck",
        "      time: 1 h",
        "      risks: a; b",
        "      notes: why",
        "",
        "No priority",
        "  ○ t4: Plain (interrupted)",
        "",
        "Low priority",
        "  ○ t2: Low one",
        "",
        "Finished",
        "  ✓? t1: Read (reported)",
        "  ⊘ t6: Old",
    ]


@pytest.mark.parametrize(
    ("evidence", "line"),
    [
        (None, "✓? t1: Read (reported)"),
        (Evidence(EvidenceLevel.INFERRED), "✓? t1: Read (inferred)"),
        (Evidence(EvidenceLevel.REPORTED), "✓? t1: Read (reported)"),
        (Evidence(EvidenceLevel.COMMAND_OK), "✓? t1: Read (command ok)"),
        (Evidence(EvidenceLevel.VERIFIED), "✓ t1: Read"),
    ],
)
def test_only_verified_completion_has_a_plain_tick_and_the_others_their_word(evidence: Evidence | None, line: str):
    assert list_lines([todo(1, "Read", Status.COMPLETED, evidence=evidence)])[-1] == f"  {line}"


def test_the_check_of_an_open_item_is_shown_and_of_a_finished_one_why_it_is_not_verified():
    noted = Evidence(EvidenceLevel.COMMAND_OK, "make", 0, note="check changed: tests/test_a.py")
    items = [todo(1, "Fix", verify="make test"), todo(2, "Read", Status.COMPLETED, verify="make", evidence=noted)]
    assert list_lines(items)[3:] == [
        "No priority",
        "  ○ t1: Fix",
        "      check: make test",
        "",
        "Finished",
        "  ✓? t2: Read (command ok)",
        "      check changed: tests/test_a.py (the item changed a file that its check depends on)",
    ]


def test_the_owner_of_an_item_is_named_while_it_works():
    item = todo(1, "Read", Status.IN_PROGRESS, owner="w1")
    assert list_lines([item])[-1] == "  ● t1: Read (owner w1)"
    assert list_lines([replace(item, status=Status.COMPLETED)])[-1] == "  ✓? t1: Read (reported)"


def test_counts_leave_out_the_zeros():
    assert counts_line(todos("a", "b")) == "2 pending"
    assert counts_line([]) == "0 todos"


def test_a_text_at_the_limit_is_whole_and_a_longer_one_is_cut():
    assert list_lines(todos("x" * 200))[-1] == "  ○ t1: " + "x" * 200
    assert list_lines(todos("x" * 201))[-1] == "  ○ t1: " + "x" * 199 + "…"
    assert list_lines(todos("x" * 1_000_000))[-1] == "  ○ t1: " + "x" * 199 + "…"


def test_many_dependencies_are_cut_and_counted():
    twenty = tuple(f"d{n}" for n in range(20))
    assert list_lines([todo(1, depends_on=twenty)])[-1].endswith("d18, d19")
    assert list_lines([todo(1, depends_on=(*twenty, "d20", "d21"))])[-1].endswith("d18, d19, … 2 more")


def test_ten_thousand_items_are_all_listed():
    lines = list_lines(todos(*["Work"] * 10_000))
    assert lines[0] == "📋 Todo List (10000 total)"
    assert sum(line.startswith("  ○ t") for line in lines) == 10_000


def test_next_says_what_can_run_and_why_the_rest_cannot():
    session = headway.open(memory=True)
    session.write(
        [
            {"content": "a", "estimated_time": "5 min"},
            {"content": "b", "depends_on": ["t1"]},
            {"content": "c", "status": "blocked", "notes": "no key"},
        ]
    )
    assert next_lines(*session.next_todos()) == [
        "Can run now (1):",
        "  ○ t1: a",
        "      time: 5 min",
        "",
        "Cannot run yet (2):",
        "  ○ t2: b",
        "      waits for t1 (pending)",
        "  ✗ t3: c",
        "      blocked: no key",
    ]


def test_next_says_so_when_nothing_can_run():
    session = headway.open(memory=True)
    assert next_lines(*session.next_todos()) == ["Nothing to run: every todo is finished."]
    session.write([{"content": "a", "status": "in_progress"}])
    assert next_lines(*session.next_todos()) == [
        "Nothing can run now.",
        "",
        "Cannot run yet (1):",
        "  ● t1: a",
        "      in progress",
    ]


@given(st.lists(st.tuples(hostile_text, st.sampled_from(STATUSES)), max_size=5))
def test_any_list_is_told_in_harmless_lines(texts: list[tuple[str, Status]]):
    items = [
        Todo(text, text, status=status, module=text, depends_on=(text,), risks=(text,), notes=text, owner=text)
        for text, status in texts
    ]
    for line in list_lines(items):
        assert len(line.splitlines()) <= 1
        assert not any(ord(char) < 32 or 127 <= ord(char) < 160 or char in "\u202e\u2066" for char in line)
        line.encode()
