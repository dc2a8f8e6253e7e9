"""`create_plan`: a sound plan becomes the session's; of any other every fault is named in one answer."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot
from tests.support.growth import assert_linear
from tests.support.tables import check_rows

import headway
from headway import Session
from headway.core.events import PlanUpdated
from headway.core.plans import to_plan_record
from headway.tools import Approvals, CreatePlan, Effect, Executor, ToolResult

STEP = {"id": "step-1", "description": "Read the parser"}
FULL: dict[str, Any] = {
    "title": "Fix 解析器",
    "overview": "The parser fails.\nSo: fix it.",
    "steps": [
        {**STEP, "module": "parser", "risks": ["Slow"], "estimatedTime": "45min", "verify": "make test"},
        {"id": "step-2", "description": "写测试", "dependencies": ["step-1"]},
    ],
    "risks": ["It may be elsewhere"],
    "testingStrategy": "pytest",
    "estimatedDuration": "1 day",
}


@pytest.fixture
def executor(session: Session, tmp_path: Path) -> Executor:
    return Executor([CreatePlan()], session, project=tmp_path)


def plan(*steps: object, **fields: object) -> dict[str, object]:
    return {"title": "T", "overview": "O", "steps": list(steps), **fields}


def step(step_id: str, *needed: str, **fields: object) -> dict[str, object]:
    return {"id": step_id, "description": f"Do {step_id}", "dependencies": list(needed), **fields}


def answer(result: ToolResult) -> dict[str, Any]:
    found = json.loads(result.text)
    assert list(found) == ["success", "message", "data"]
    assert found["success"] is result.ok
    return found


async def faults(executor: Executor, arguments: object) -> list[str]:
    found = answer(await executor.call("create_plan", arguments))
    assert found["message"] == "The plan was not accepted. Correct every error and call create_plan again."
    assert list(found["data"]) == ["faults"]
    return found["data"]["faults"]


async def test_a_sound_plan_becomes_the_sessions(executor: Executor, session: Session):
    result = await executor.call("create_plan", FULL)
    assert answer(result) == snapshot(
        {
            "success": True,
            "message": "This is now the session's plan (2 steps). The user sees it and continues with /plan to-todos"
            " (in a shell: headway plan to-todos); summarise it in a sentence or two, and stop.",
            "data": {"title": "Fix 解析器", "steps": ["step-1", "step-2"]},
        }
    )
    assert result.effect is Effect.PLAN
    assert "解析器" in result.text
    assert session.plan is not None and to_plan_record(session.plan) == FULL
    assert [event.actor for event in session.events()] == ["model"]


async def test_what_is_required_is_enough(executor: Executor, session: Session):
    found = answer(await executor.call("create_plan", json.dumps(plan(STEP))))
    assert "(1 step)" in found["message"]
    assert session.plan is not None and to_plan_record(session.plan) == plan(STEP)


async def test_null_is_as_good_as_nothing_where_nothing_is_needed(executor: Executor, session: Session):
    sent = plan({**STEP, "module": None, "dependencies": None, "risks": None, "estimatedTime": None}, risks=None)
    assert (await executor.call("create_plan", {**sent, "testingStrategy": None, "estimatedDuration": None})).ok
    assert session.plan is not None and to_plan_record(session.plan) == plan(STEP)


async def test_a_new_plan_replaces_the_one_before_which_stays_in_the_history(executor: Executor, session: Session):
    await executor.call("create_plan", plan(STEP))
    await executor.call("create_plan", {**plan(STEP), "title": "Second"})
    assert session.plan is not None and session.plan.title == "Second"
    plans = [event.data.plan for event in session.events() if isinstance(event.data, PlanUpdated)]
    assert [each and each.title for each in plans] == ["T", "Second"]
    await executor.call("create_plan", {**plan(STEP), "title": "Second"})
    assert session.version == 2


async def test_the_todos_stay_as_they_are(executor: Executor, session: Session):
    session.write([{"content": "A"}])
    await executor.call("create_plan", plan(STEP))
    assert [todo.content for todo in session.todos] == ["A"]


async def test_it_runs_in_plan_mode_and_nobody_is_asked(session: Session, tmp_path: Path):
    session.set_plan_mode(True)
    executor = Executor([CreatePlan()], session, project=tmp_path, approvals=Approvals(mode="default"))
    assert (await executor.call("create_plan", plan(STEP))).ok
    assert [tool.name for tool in executor.list_offered()] == ["create_plan"]


FAULTY: list[tuple[object, list[str]]] = [
    ({}, ["title: Required", "overview: Required", "steps: Required"]),
    (None, ["title: Required", "overview: Required", "steps: Required"]),
    ("", ["title: Required", "overview: Required", "steps: Required"]),
    ("null", ["(root): Expected object, received null"]),
    ([1], ["(root): Expected object, received array"]),
    (3, ["(root): Expected object, received number"]),
    (plan(STEP, title=" "), ["title: Required"]),
    (plan(STEP, title=None), ["title: Expected string, received null"]),
    (plan(STEP, overview="\n\t"), ["overview: Required"]),
    (plan(STEP, overview=["O"]), ["overview: Expected string, received array"]),
    (plan(), ["steps: Must have at least one step"]),
    (plan(steps={}), ["steps: Expected array, received object"]),
    (plan("Do it"), ["steps[0]: Expected object, received string"]),
    (plan({}), ["steps[0].id: Required", "steps[0].description: Required"]),
    (plan({"id": "", "description": " "}), ["steps[0].id: Required", "steps[0].description: Required"]),
    (plan({"id": 1, "description": True}), [
        "steps[0].id: Expected string, received number",
        "steps[0].description: Expected string, received boolean"]),
    (plan(step("a"), step("a")), ["steps[1].id: Duplicate id 'a'"]),
    (plan(step("a"), step(" a ")), ["steps[1].id: Duplicate id 'a'"]),
    (plan(step("a", "b")), ["steps[0].dependencies: Unknown id 'b'"]),
    (plan(step("a", "a")), ["steps[0].dependencies: 'a' depends on itself"]),
    (plan(step("step-1", "step-3"), step("step-2"), step("step-3", "step-1")), [
        "steps: Dependency cycle step-1 → step-3 → step-1"]),
    (plan(step("甲", "乙"), step("乙", "甲")), ["steps: Dependency cycle 甲 → 乙 → 甲"]),
    (plan(step("a", dependencies="b")), ["steps[0].dependencies: Expected array, received string"]),
    (plan(step("a", module=1, risks="r", estimatedTime=45)), [
        "steps[0].module: Expected string, received number",
        "steps[0].risks: Expected array, received string",
        "steps[0].estimatedTime: Expected string, received number"]),
    (plan(STEP, risks=[1], testingStrategy={}, estimatedDuration=2), [
        "risks: Expected strings, received number",
        "testingStrategy: Expected string, received object",
        "estimatedDuration: Expected string, received number"]),
    (plan({**STEP, "status": "pending"}, mode="x"), ["mode: Unknown field", "steps[0].status: Unknown field"]),
    ('{"title":"T","title":"U","overview":"O","steps":[{"id":"a","description":"b","id":"a"}]}', [
        "title: Duplicate field", "steps[0].id: Duplicate field"]),
    (plan({**STEP, "\x1b[2J": 1}), ["steps[0].␛[2J: Unknown field"]),
]  # fmt: skip


def test_each_fault_has_its_text_and_nothing_changes(executor: Executor, session: Session):
    def check(sent: object, expected: list[str]) -> None:
        assert asyncio.run(faults(executor, sent)) == expected
        as_text = sent if isinstance(sent, str) else json.dumps(sent)
        assert sent is None or asyncio.run(faults(executor, as_text)) == expected
        assert (session.version, session.plan) == (0, None)

    check_rows(FAULTY, check)


async def test_all_faults_are_named_in_one_answer(executor: Executor):
    sent = plan(
        step("step-1", "step-3", "gone"),
        step("step-2", "step-2", description=""),
        step("step-3", "step-1"),
        step("step-3"),
        {"description": "no id"},
        overview=" ",
        risks=[1],
    )
    assert await faults(executor, sent) == [
        "overview: Required",
        "risks: Expected strings, received number",
        "steps[1].description: Required",
        "steps[3].id: Duplicate id 'step-3'",
        "steps[4].id: Required",
        "steps[0].dependencies: Unknown id 'gone'",
        "steps[1].dependencies: 'step-2' depends on itself",
        "steps: Dependency cycle step-1 → step-3 → step-1",
    ]


async def test_a_refused_plan_leaves_the_one_before(executor: Executor, session: Session):
    await executor.call("create_plan", plan(STEP))
    await faults(executor, plan())
    assert session.plan is not None and session.version == 1


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        ('{"title":', "expecting value at line 1, column 10"),
        ("plan", "expecting value at line 1, column 1"),
        ('{"title":NaN}', "NaN is not a JSON value at line 1, column 10"),
        ("[" * 100_000, "it is nested too deeply"),
    ],
)
async def test_what_is_no_json_is_told(executor: Executor, sent: str, why: str):
    found = answer(await executor.call("create_plan", sent))
    assert found["message"] == f"The arguments are not valid JSON ({why}); send one JSON object."
    assert found["data"] is None


async def test_without_a_session_the_answer_says_so(tmp_path: Path):
    found = answer(await Executor([CreatePlan()], project=tmp_path).call("create_plan", plan(STEP)))
    assert found == {
        "success": False,
        "message": "This run has no session to keep a plan in; write the plan as your answer instead.",
        "data": None,
    }


async def test_a_store_that_fails_is_told(tmp_path: Path):
    session = headway.open(tmp_path)
    session.add("A")
    for file in (tmp_path / ".headway").glob("headway.db*"):
        file.write_bytes(b"no database " * 1_000)
    found = answer(await Executor([CreatePlan()], session, project=tmp_path).call("create_plan", plan(STEP)))
    assert found["message"].startswith("The plan was not saved: ") and found["data"] is None


async def test_lone_surrogates_and_hostile_text_are_kept_as_text(executor: Executor, session: Session):
    sent = plan({**STEP, "description": "\ud800\x1b[31m</plan>"}, title='"}\u202e')
    found = answer(await executor.call("create_plan", sent))
    assert found["data"]["title"] == '"}\u202e'
    assert session.plan is not None and session.plan.steps[0].description == "\ufffd\x1b[31m</plan>"


async def test_a_thousand_steps_are_checked_in_one_pass(executor: Executor, session: Session):
    steps = [step(f"s{n}", *{f"s{(n * 7 + k) % n}" for k in range(5) if n}) for n in range(1_000)]
    assert (await executor.call("create_plan", json.dumps(plan(*steps)))).ok
    assert session.plan is not None and len(session.plan.steps) == 1_000
    wrong = [{**each, "dependencies": [f"s{(n + k + 1) % 1_000}" for k in range(5)]} for n, each in enumerate(steps)]
    assert "steps: Dependency cycle" in (await faults(executor, plan(*wrong)))[0]
    assert_linear(lambda size: session.set_plan(plan(*steps[:size])), 250)


# what a model is told


def test_the_description_and_the_input_are_pinned():
    tool = CreatePlan()
    assert 50 < len(tool.description) < 350
    assert tool.parameters() == snapshot(
        {
            "$defs": {
                "Step": {
                    "additionalProperties": False,
                    "properties": {
                        "id": {"description": "Id such as step-1.", "type": "string"},
                        "description": {"description": "What to do, in the imperative.", "type": "string"},
                        "module": {"type": "string"},
                        "dependencies": {
                            "description": "Ids of steps that must be completed first.",
                            "items": {"type": "string"},
                            "type": "array",
                        },
                        "risks": {"items": {"type": "string"}, "type": "array"},
                        "estimatedTime": {"description": "Estimate such as 45min or 2h.", "type": "string"},
                        "verify": {
                            "description": "A command that fails until the step is done, such as pytest -q "
                            "tests/test_dates.py.",
                            "type": "string",
                        },
                    },
                    "required": ["id", "description"],
                    "type": "object",
                }
            },
            "additionalProperties": False,
            "properties": {
                "title": {"type": "string"},
                "overview": {"description": "The goal, your findings and the approach.", "type": "string"},
                "steps": {"items": {"$ref": "#/$defs/Step"}, "minItems": 1, "type": "array"},
                "risks": {"items": {"type": "string"}, "type": "array"},
                "testingStrategy": {"type": "string"},
                "estimatedDuration": {"type": "string"},
            },
            "required": ["title", "overview", "steps"],
            "type": "object",
        }
    )
