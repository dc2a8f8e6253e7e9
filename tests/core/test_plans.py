"""Plans: every fault named at once, and what becomes of a plan's steps."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.tables import check_rows

from headway import InvalidPlan, NoPlan, Plan, PlanStep, Session
from headway.core.json_text import parse_json

from .samples import PLAN, in_memory, items


def faults(plan: Any) -> list[str]:
    session = in_memory()
    with pytest.raises(InvalidPlan) as caught:
        session.set_plan(plan)
    assert (session.version, session.plan) == (0, None)
    return [str(violation) for violation in caught.value.violations]


def plan(*steps: object, **fields: object) -> dict[str, object]:
    return {"title": "T", "overview": "O", "steps": list(steps), **fields}


def step(step_id: str, *needed: str, **fields: object) -> dict[str, object]:
    return {"id": step_id, "description": f"Do {step_id}", "dependencies": list(needed), **fields}


FAULTS: list[tuple[object, list[str]]] = [
    (None, ["(root): Expected object, received null"]),
    ([], ["(root): Expected object, received array"]),
    ({}, ["title: Required", "overview: Required", "steps: Required"]),
    (plan(title=" "), ["title: Required", "steps: Must have at least one step"]),
    (plan(overview=4), ["overview: Expected string, received number", "steps: Must have at least one step"]),
    (plan(steps="x"), ["steps: Expected array, received string"]),
    (plan(step("a"), title=None), ["title: Expected string, received null"]),
    (plan("x"), ["steps[0]: Expected object, received string"]),
    (plan({}), ["steps[0].id: Required", "steps[0].description: Required"]),
    (plan({"id": " ", "description": "\t"}), ["steps[0].id: Required", "steps[0].description: Required"]),
    (plan(step("a"), step("a")), ["steps[1].id: Duplicate id 'a'"]),
    (plan(step("a", "b")), ["steps[0].dependencies: Unknown id 'b'"]),
    (plan(step("a", "a")), ["steps[0].dependencies: 'a' depends on itself"]),
    (plan(step("a"), risks="x"), ["risks: Expected array, received string"]),
    (plan(step("a"), testingStrategy=1), ["testingStrategy: Expected string, received number"]),
    (plan(step("a"), estimatedDuration=[]), ["estimatedDuration: Expected string, received array"]),
    (plan(step("a"), nope=1), ["nope: Unknown field"]),
    (plan(step("a", module=1, risks=[1], estimatedTime={}, nope=1)), [
        "steps[0].module: Expected string, received number",
        "steps[0].risks: Expected strings, received number",
        "steps[0].estimatedTime: Expected string, received object",
        "steps[0].nope: Unknown field",
    ]),
    (plan(step("a", depends_on=["b"])), ["steps[0].depends_on: Given twice, also under another name"]),
    (plan(step("a"), testingStrategy="x", testing_strategy="y"), [
        "testing_strategy: Given twice, also under another name"
    ]),
]  # fmt: skip


def test_each_fault_of_a_plan_has_its_text() -> None:
    def check(raw: object, expected: list[str]) -> None:
        assert faults(raw) == expected

    check_rows(FAULTS, check)


def test_all_faults_are_named_at_once() -> None:
    raw = plan(
        step("step-1", "step-3", "gone"),
        step("step-2", "step-2", description=""),
        step("step-3", "step-1"),
        step("step-3", "lost"),
        {"description": "no id", "dependencies": ["away"]},
        {"id": "bare", "dependencies": ["off"]},
        overview=" ",
        risks=[1],
    )
    assert faults(raw) == [
        "overview: Required",
        "risks: Expected strings, received number",
        "steps[1].description: Required",
        "steps[3].id: Duplicate id 'step-3'",
        "steps[4].id: Required",
        "steps[5].description: Required",
        "steps[0].dependencies: Unknown id 'gone'",
        "steps[1].dependencies: 'step-2' depends on itself",
        "steps[3].dependencies: Unknown id 'lost'",
        "steps[4].dependencies: Unknown id 'away'",
        "steps[5].dependencies: Unknown id 'off'",
        "steps: Dependency cycle step-1 → step-3 → step-1",
    ]


def test_a_key_that_came_twice_in_the_json_is_a_fault() -> None:
    text = '{"title":"a","title":"b","overview":"o","steps":[{"id":"a","id":"b","description":"d"}]}'
    assert faults(parse_json(text)) == ["title: Duplicate field", "steps[0].id: Duplicate field"]


def test_a_plan_is_kept_with_all_it_says(session: Session) -> None:
    kept = session.set_plan(PLAN)
    assert kept == session.plan
    assert kept == Plan(
        "Parser",
        "Rewrite it.",
        (
            PlanStep("step-1", "A", risks=("breaks",), estimated_time="1h", verify="make test"),
            PlanStep("step-2", "Write docs", "docs", ("step-1",)),
        ),
        testing_strategy="all of it",
    )


def test_the_same_plan_again_changes_nothing_and_another_replaces_it(session: Session) -> None:
    first = session.set_plan(PLAN)
    assert session.set_plan(first) == first
    assert session.version == 1
    second = session.set_plan(plan(step("a")))
    assert session.plan == second
    plans = [event.data for event in session.events()]
    assert [getattr(data, "plan", None) for data in plans] == [first, second]


def test_a_refused_plan_leaves_the_one_before(session: Session) -> None:
    before = session.set_plan(PLAN)
    with pytest.raises(InvalidPlan):
        session.set_plan({"title": "x"})
    assert (session.plan, session.version) == (before, 1)


def test_clearing_the_plan_leaves_the_todos(session: Session) -> None:
    session.set_plan(PLAN)
    session.plan_to_todos()
    session.clear_plan()
    assert session.plan is None
    assert len(session.todos) == 2
    version = session.version
    session.clear_plan()
    assert session.version == version


def test_without_a_plan_there_is_nothing_to_make_todos_of(session: Session) -> None:
    with pytest.raises(NoPlan, match="No active plan"):
        session.plan_to_todos()
    assert session.version == 0


def test_steps_become_todos_with_their_ids_dependencies_and_priority_by_position(session: Session) -> None:
    names = [f"step-{n}" for n in range(1, 9)]
    steps = [step(name, *names[: index if index < 2 else 1]) for index, name in enumerate(names)]
    steps[0].update(module="core", risks=["breaks"], estimatedTime="2h", verify="make test")
    session.set_plan(plan(*steps))
    written = session.plan_to_todos(actor="ada")
    assert [todo.id for todo in written.todos] == names
    assert [todo.priority for todo in written.todos] == ["high"] * 3 + ["medium"] * 3 + ["low"] * 2
    assert [todo.depends_on for todo in written.todos] == [(), *[("step-1",)] * 7]
    assert {(todo.status, todo.created_from) for todo in written.todos} == {("pending", "plan")}
    first = written.todos[0]
    assert (first.content, first.module, first.risks, first.estimated_time) == ("Do step-1", "core", ("breaks",), "2h")
    assert first.verify == "make test"
    (change,) = session.history()
    assert (change.actor, getattr(change.data, "cause", None)) == ("ada", "plan")


def test_todos_of_a_plan_replace_the_list_and_what_they_drop_is_named(session: Session) -> None:
    session.write(items("old", "A"))
    before = session.todos
    session.set_plan(PLAN)
    written = session.plan_to_todos()
    assert [todo.content for todo in written.dropped] == ["old"]
    assert [todo.content for todo in written.todos] == ["A", "Write docs"]
    assert session.undo() == before


def test_making_the_todos_again_changes_nothing(session: Session) -> None:
    session.set_plan(PLAN)
    session.plan_to_todos()
    assert not session.plan_to_todos().changed


def test_a_thousand_steps_with_five_thousand_dependencies_become_a_plan(session: Session) -> None:
    steps = [step(f"s{n}", *(f"s{m}" for m in range(max(0, n - 5), n))) for n in range(1000)]
    assert len(session.set_plan(plan(*steps)).steps) == 1000
    steps[0]["dependencies"] = ["s999"]
    (violation,) = faults(plan(*steps))
    assert violation.startswith("steps: Dependency cycle s")


def test_plan_mode_is_part_of_the_session(session: Session) -> None:
    assert not session.plan_mode
    session.set_plan_mode(True)
    session.set_plan_mode(True)
    assert (session.plan_mode, session.version) == (True, 1)
    session.set_plan_mode(False)
    assert not session.plan_mode
