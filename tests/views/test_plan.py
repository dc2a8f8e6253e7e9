"""`plan show`: everything there is to know, on lines that nothing in a plan can break; and the longest way through."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.growth import assert_linear, bounded
from tests.support.tables import check_rows

from headway.core.plans import Plan, PlanStep
from headway.views.plan import MAX_LINES, find_critical_steps, parse_minutes, plan_lines

from .samples import HOSTILE


def step(step_id: str, *needed: str, time: str | None = None) -> PlanStep:
    return PlanStep(step_id, f"Do {step_id}", dependencies=needed, estimated_time=time)


def path(*steps: PlanStep) -> list[str]:
    return [found.id for found in find_critical_steps(steps)]


def shown(*steps: PlanStep) -> str:
    return plan_lines(Plan("T", "O", steps))[-1]


def test_a_plan_of_what_is_required_is_short():
    assert plan_lines(Plan("T", "O", (step("a"),))) == [
        "📋 Plan: T",
        "",
        "O",
        "",
        "Steps (1)",
        "  1. a: Do a",
        "",
        "Critical path: a (1 of 1 step)",
    ]


def test_everything_a_plan_has_is_shown():
    plan = Plan(
        "Add a login",
        "First.\n\nSecond.",
        (
            PlanStep("step-1", "Read", "auth", (), ("Slow", "Wrong"), "45min", "make test"),
            PlanStep("step-2", "写", None, ("step-1",), (), "soon"),
        ),
        ("Old clients",),
        "pytest\nby hand",
        "1 day",
    )
    assert plan_lines(plan) == [
        "📋 Plan: Add a login",
        "",
        "First.",
        "",
        "Second.",
        "",
        "Steps (2)",
        "  1. step-1: Read",
        "     module: auth · time: 45min",
        "     check: make test",
        "     risk: Slow",
        "     risk: Wrong",
        "  2. step-2: 写",
        "     depends on: step-1 · time: soon",
        "",
        "Risks",
        "  - Old clients",
        "",
        "Testing strategy",
        "  pytest",
        "  by hand",
        "",
        "Duration: 1 day",
        "Critical path: step-1 → step-2 (2 of 2 steps)",
    ]


def test_hostile_text_stays_on_its_line_and_is_harmless() -> None:
    def check(raw: str) -> None:
        plan = Plan(raw, f"x{raw}", (PlanStep(raw, raw, raw, (), (raw,), raw, raw),), (raw,), f"y{raw}", raw)
        lines = plan_lines(plan)
        of_running_text = 2 * raw.count("\n")
        assert len(lines) == 18 + of_running_text
        assert all(line.isprintable() or "\u200d" in line for line in lines)
        assert not any(char in "\n".join(lines) for char in "\x1b\x9b\u202e\u2066\ufeff\x00")

    check_rows([text for text in HOSTILE if text], check)


def test_what_is_long_is_cut_and_says_so():
    many = tuple(f"s{n}" for n in range(50))
    plan = Plan("t" * 5_000, "\n".join("line" for _ in range(100)), (*map(step, many), step("z", *many)))
    lines = plan_lines(plan)
    assert len(lines[0]) < 1_100 and lines[0].endswith("…")
    assert lines[2 + MAX_LINES] == "… 60 more lines"
    assert "s19, … 30 more" in lines[-3]


# the critical path


def test_it_is_the_chain_of_most_steps():
    assert path(step("a"), step("b", "a"), step("c"), step("d", "b", "c")) == ["a", "b", "d"]
    assert shown(step("a"), step("b", "a"), step("c")) == "Critical path: a → b (2 of 3 steps)"


def test_steps_may_come_in_any_order():
    assert path(step("c", "b"), step("b", "a"), step("a")) == ["a", "b", "c"]


def test_with_times_it_is_the_chain_that_takes_longest():
    steps = step("a", time="10min"), step("b", "a", time="10 min"), step("c", "b", time="10分钟"), step("d", time="2h")
    assert path(*steps) == ["d"]
    assert shown(*steps) == "Critical path: d (1 of 4 steps, 2h)"
    assert shown(step("a", time="30s"), step("b", "a", time="1.5h")) == "Critical path: a → b (2 of 2 steps, 1h 30min)"


def test_one_step_without_a_time_makes_it_a_matter_of_number():
    assert path(step("a", time="1min"), step("b", "a", time="1min"), step("d", time="soon")) == ["a", "b"]


def test_of_equals_the_first_counts():
    assert path(step("a"), step("b"), step("c", "a"), step("d", "b")) == ["a", "c"]


def test_what_no_checked_plan_has_does_no_harm():
    assert path() == []
    assert path(step("a", "gone"), step("b", "c"), step("c", "b"), step("d", "d")) == ["a"]
    assert path(step("b", "c"), step("c", "b")) == []
    assert not any("Critical" in line for line in plan_lines(Plan("T", "O", (step("a", "a"),))))


def test_a_step_may_name_another_twice():
    assert path(step("a"), step("b", "a", "a")) == ["a", "b"]


def test_the_path_of_ten_thousand_steps_in_a_row_is_shown_and_costs_no_more_for_each():
    def show(many: int) -> str:
        return shown(step("s0"), *(step(f"s{n}", f"s{n - 1}", *[f"s{n // 2}"] * (n > 1)) for n in range(1, many)))

    assert show(10_000) == "Critical path: s0 → s1 → s2 → s3 → s4 → … 9994 more … → s9999 (10000 of 10000 steps)"
    assert_linear(show, 500)


@given(st.integers(1, 7).flatmap(lambda n: st.lists(st.lists(st.integers(0, n), max_size=3), min_size=n, max_size=n)))
def test_no_chain_is_longer(edges: list[list[int]]):
    steps = [
        step(f"s{at}", *(f"s{to}" for to in needed if to < at), time=f"{at % 3 + 1}h")
        for at, needed in enumerate(edges)
    ]
    by_id = {found.id: found for found in steps}

    def length(chain: tuple[str, ...]) -> float:
        return sum(parse_minutes(by_id[node].estimated_time) or 0 for node in chain)

    chains = [
        chain
        for size in range(1, len(steps) + 1)
        for chain in itertools.combinations(by_id, size)
        if all(before in by_id[after].dependencies for before, after in itertools.pairwise(chain))
    ]
    found = tuple(path(*steps))
    assert found in chains
    assert length(found) == max(map(length, chains))


# times


ESTIMATES = [
    ("45min", 45), ("45 MIN", 45), ("2h", 120), ("1.5 h", 90), ("1,5 h", 90), ("1 day", 480), ("2 weeks", 4_800),
    ("30 minutes", 30), ("90 s", 1.5), ("2小时", 120), ("30分钟", 30), ("1 个小时", 60), ("２小时", 120),
    ("1h30min", 90), ("1h 30min", 90), ("1 hour, 5 minutes", 65), ("1 hour and 5 minutes", 65), ("1小时30分钟", 90),
    ("~2h", 120), ("about 2 hours", 120), ("约2小时", 120), ("2-3h", 180), ("1 to 2 days", 960), ("2到3小时", 180),
    (" 1 h ", 60), ("0min", 0), ("3天", 1_440),
]  # fmt: skip


def test_usual_estimates_are_read() -> None:
    def check(estimate: str, minutes: float) -> None:
        assert parse_minutes(estimate) == minutes

    check_rows(ESTIMATES, check)


def test_what_is_no_time_is_not_guessed() -> None:
    def check(estimate: str | None) -> None:
        assert parse_minutes(estimate) is None

    check_rows(
        [None, "", " ", "soon", "h", "2", "2 horses", "3 months", "半天", "2h or so", "-1h", "1e9h", "9" * 99 + "h"],
        check,
    )


@pytest.mark.parametrize("raw", ["1h" * 60_000, "1 " * 60_000, "1-" * 50, "1.1" * 33, "1h " * 33 + "x"])
def test_reading_hostile_estimates_comes_to_an_end(raw: str):
    with bounded():
        assert parse_minutes(raw) is None
