"""Plan mode in the loop: what the model is told and offered, when a switch counts, and that nothing gets around it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

import headway
from headway import Session
from headway.agent import LoopConfig, instructions, run_loop
from headway.core.run_events import (
    ApprovalAsked,
    MessageAdded,
    TodoEvaluationStarted,
    TodoListItemProgress,
    ToolFinished,
    ToolStarted,
)
from headway.testing import Call, Failure, ScriptedModel, Turn
from headway.tools import (
    Answer,
    Approvals,
    Context,
    Effect,
    Question,
    Tool,
    ToolInput,
    ToolResult,
    builtin_tools,
    tool,
)

from .looping import (
    act,
    added,
    calling,
    creating,
    elsewhere,
    facts,
    in_turn,
    look,
    looking,
    results,
    run,
    states,
    then,
)

PART = "# Plan mode\n"
TODO_PART = "# The todo list\n"
REFUSED = "was not run: plan mode changes nothing and runs no commands."
READING = [*("read_file", "read_many_files", "ls", "glob", "grep", "web_fetch", "create_plan")]
PLAN: dict[str, Any] = {
    "title": "重构解析器",
    "overview": "Split the parser in two.",
    "steps": [
        {"id": "step-1", "description": "Read it", "estimatedTime": "10min"},
        {"id": "step-2", "description": "Split it", "dependencies": ["step-1"], "risks": ["Callers break"]},
    ],
}


def planning(session: Session) -> Session:
    session.set_plan_mode(True)
    return session


def offering(model: ScriptedModel) -> list[list[str]]:
    return [request.tools for request in model.requests]


# what the model is told and offered


@pytest.mark.parametrize("todo_tools", ["full", "light", "off"])
def test_the_plan_mode_part_stands_in_place_of_the_todo_list(tmp_path: Path, todo_tools: Any) -> None:
    (tmp_path / "AGENTS.md").write_text("Use tabs.", encoding="utf-8")
    usual = instructions(tmp_path, todo_tools=todo_tools)
    plan = instructions(tmp_path, todo_tools=todo_tools, planning=True)
    assert plan == instructions(tmp_path, planning=True)
    assert (usual.count(PART), usual.count(TODO_PART)) == (0, 1)
    assert (plan.count(PART), plan.count(TODO_PART)) == (1, 0)
    assert plan.split(PART)[0] == usual.split(TODO_PART)[0]
    after = "\n# Done means shown"
    assert plan.split(after)[1] == usual.split(after)[1]
    part = plan.split(PART)[1].split(after)[0]
    for word in ("create_plan", "question", "dependencies", "risks", "estimatedTime", "refused", "language"):
        assert word in part
    assert len(part.splitlines()) <= 30 and "{" not in plan


async def test_in_plan_mode_the_model_is_told_so_and_offered_what_reads_and_create_plan(
    session: Session, tmp_path: Path
) -> None:
    model = ScriptedModel(["It is a parser."])
    await run(planning(session), model, tools=None, instructions=None)
    assert offering(model) == [READING]
    assert model.requests[0].instructions == instructions(tmp_path, planning=True)


async def test_instructions_of_the_callers_own_are_kept_and_the_part_comes_after_them(session: Session) -> None:
    switch = then(lambda: session.set_plan_mode(False), calling("look"))
    model = ScriptedModel([switch, "Done."])
    await run(planning(session), model, instructions="Work well.\n")
    first, second = (request.instructions for request in model.requests)
    assert first.startswith("Work well.\n\n# Plan mode\n") and first.endswith("in the user's language.\n")
    assert second == "Work well.\n"


async def test_with_the_list_in_the_system_message_all_three_are_in_it(session: Session) -> None:
    session.add("A")
    model = ScriptedModel(["A plan."])
    await run(planning(session), model, inject="system")
    text = model.requests[0].instructions
    assert text.index("Work.") < text.index(PART) < text.index("<todo-list>")
    assert added(model.requests[0]) == ""


async def test_in_a_mode_the_model_is_told_the_same_bytes_also_if_the_notes_change(
    kept_session: Session, tmp_path: Path
) -> None:
    notes = tmp_path / "AGENTS.md"
    notes.write_text("First.", encoding="utf-8")

    def change(number: int) -> Any:
        def do() -> None:
            notes.write_text(f"Version {number}.", encoding="utf-8")
            kept_session.set_plan_mode(number in (2, 3))

        return then(do, calling("look", at=str(number)))

    model = ScriptedModel([*map(change, range(1, 7)), "Done."])
    await run(kept_session, model, instructions=None)
    told = [request.instructions for request in model.requests]
    assert told[0] == told[1] == told[4] == told[5] == told[6]
    assert told[2] == told[3]
    assert "First." in told[0] and PART in told[2] and PART not in told[0]


async def test_plan_mode_that_the_caller_wants_is_kept_in_the_session(session: Session) -> None:
    config = LoopConfig(instructions="Work.")
    model = ScriptedModel(["A plan.", "More.", "Done."])
    for wish, then_on in ((True, True), (None, True), (False, False)):
        await run_loop(session, "On", model=model, tools=[look, act], config=config, planning=wish)
        assert session.plan_mode is then_on
    assert [PART in request.instructions for request in model.requests] == [True, True, False]


# the switch, in the middle of a run


async def test_switched_on_in_the_middle_it_counts_with_the_next_request_and_for_calls_at_once(
    session: Session,
) -> None:
    switch = then(lambda: session.set_plan_mode(True), calling("act", "look"))
    model = ScriptedModel([calling("act"), switch, calling("act"), "A plan."])
    await run(session, model)
    assert [PART in request.instructions for request in model.requests] == [False, False, True, True]
    assert ["act" in tools for tools in offering(model)] == [True, True, False, False]
    assert results(model.requests[1]) == ["did it"]
    refused, seen = results(model.requests[2])
    assert refused.startswith(f"act {REFUSED}") and seen == "saw it"
    assert results(model.requests[3])[0].startswith(f"act {REFUSED}")
    assert [(call.tool, call.ok, call.denied, call.effect) for call in facts(session, ToolFinished)] == [
        ("act", True, False, "execute"),
        ("act", False, True, None),
        ("look", True, False, "read"),
        ("act", False, True, None),
    ]


async def test_switched_off_in_the_middle_it_counts_with_the_next_request_and_for_calls_at_once(
    session: Session,
) -> None:
    switch = then(lambda: session.set_plan_mode(False), calling("act"))
    model = ScriptedModel([calling("act"), switch, calling("act"), "Done."])
    await run(planning(session), model)
    assert [PART in request.instructions for request in model.requests] == [True, True, False, False]
    assert ["act" in tools for tools in offering(model)] == [False, False, True, True]
    assert results(model.requests[1])[0].startswith(f"act {REFUSED}")
    assert results(model.requests[2]) == results(model.requests[3]) == ["did it"]


@pytest.mark.parametrize("failure", [Turn(error=Failure(503, retry_after=0)), Turn()])
async def test_a_request_that_is_made_again_is_made_in_the_mode_of_then(session: Session, failure: Turn) -> None:
    model = ScriptedModel([then(lambda: session.set_plan_mode(True), failure), "A plan."])
    await run(session, model)
    assert [PART in request.instructions for request in model.requests] == [False, True]
    assert ["act" in tools for tools in offering(model)] == [True, False]


async def test_another_process_switches_it_on_between_two_calls_of_one_answer(
    kept_session: Session, tmp_path: Path
) -> None:
    @tool(effect="execute")
    async def first() -> str:
        """Is being run when someone turns plan mode on."""
        await elsewhere(tmp_path, "session.set_plan_mode(True)")
        return "done"

    model = ScriptedModel([calling("first", "act", "look"), "A plan."])
    await run(kept_session, model, tools=[first, act, look])
    done, refused, seen = results(model.requests[1])
    assert (done, seen) == ("done", "saw it")
    assert refused.startswith(f"act {REFUSED}")
    assert model.requests[1].tools == ["look"]


async def test_another_session_object_switches_it_on_between_two_calls_of_one_answer(
    kept_session: Session, tmp_path: Path
) -> None:
    other = headway.open(tmp_path)

    @tool(effect="write")
    def first() -> str:
        """Is being run when someone turns plan mode on."""
        other.set_plan_mode(True)
        return "done"

    model = ScriptedModel([calling("first", "first"), "A plan."])
    await run(kept_session, model, tools=[first])
    done, refused = results(model.requests[1])
    assert done == "done" and refused.startswith(f"first {REFUSED}")


async def test_a_sub_run_is_in_the_plan_mode_of_its_session(session: Session) -> None:
    switch = then(lambda: session.set_plan_mode(False), calling("act"))
    model = ScriptedModel([calling("act"), switch, "Done."])
    await run(planning(session).agent("sub-1"), model)
    assert [PART in request.instructions for request in model.requests] == [True, True, False]
    assert results(model.requests[1])[0].startswith(f"act {REFUSED}")
    assert results(model.requests[2]) == ["did it"]


# what other tools have let through


async def test_nothing_that_a_model_may_try_changes_anything(session: Session, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old", encoding="utf-8")
    session.add("Mine")
    version = session.todo_list.changed_in
    ran: list[str] = []

    def plug_in() -> str:
        """Declares nothing."""
        ran.append("plug_in")
        return "did something"

    class Odd:
        effect = "harmless"

    @tool(effect="execute")
    def odd() -> str:
        """Declares nonsense."""
        ran.append("odd")
        return "did something"

    odd.effect = Odd  # type: ignore[assignment]
    tries = [
        Call("bash", {"command": "echo new > a.txt"}),
        Call("bash", {"command": "cat > a.txt <<'END'\nnew\nEND"}),
        Call("bash", {"command": "ls"}),
        Call("bash", {"command": "TodoWrite '{\"todos\": []}'"}),
        Call("write_file", {"path": "new.txt", "content": "new"}),
        Call("edit", {"path": "a.txt", "old_string": "old", "new_string": "new"}),
        Call("TodoWrite", {"todos": []}),
        Call("create_todo_list", {"items": [{"description": "Theirs"}]}),
        Call("update_todo_item", {"item_id": "t1", "status": "completed"}),
        Call("plug_in"),
        Call("odd"),
    ]
    unknown = [Call("write_todos", {"todos": []}), Call("todo", {"done": ["t1"]})]
    reads = [Call("read_file", {"path": "a.txt"}), Call("rg", {"pattern": "old"})]
    model = ScriptedModel([Turn(calls=[*reads, *tries, *unknown]), "A plan."])
    tools = [*builtin_tools(tmp_path), plug_in, odd]
    await run(planning(session), model, tools=tools, approvals=Approvals(mode="yolo", allow=["bash", "write_file"]))
    calls = facts(session, ToolFinished)
    assert [call.ok for call in calls] == [True, True, *[False] * (len(tries) + len(unknown))]
    assert all(call.denied and REFUSED in call.text and call.effect is None for call in calls[2 : 2 + len(tries)])
    assert model.requests[0].tools == READING
    assert ran == []
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "old" and not (tmp_path / "new.txt").exists()
    assert session.todo_list.changed_in == version and states(session) == {"t1": "pending"}


async def test_a_yes_for_always_given_before_does_not_help_and_nobody_is_asked(session: Session) -> None:
    async def always(question: Question) -> Answer:
        return Answer("always")

    switch = then(lambda: session.set_plan_mode(True), calling("act"))
    model = ScriptedModel([calling("act"), switch, "A plan."])
    await run(session, model, approvals=Approvals(always))
    assert results(model.requests[1]) == ["did it"]
    assert results(model.requests[2])[0].startswith(f"act {REFUSED}")
    assert len(facts(session, ApprovalAsked)) == 1


class Query(ToolInput):
    sql: str


class Database(Tool[Query]):
    """Reads with some calls and writes with others."""

    name = "query"
    description = "Runs a query."
    input = Query
    effect = Effect.READ

    def __init__(self) -> None:
        self.ran: list[str] = []

    def effect_of(self, call: Query) -> Effect:
        return Effect.READ if call.sql.startswith("SELECT") else Effect.WRITE

    async def run(self, call: Query, context: Context) -> ToolResult:
        self.ran.append(f"{call.sql} begins")
        await asyncio.sleep(0)
        self.ran.append(f"{call.sql} ends")
        return ToolResult("rows")


async def test_a_tool_is_judged_by_what_each_call_of_it_does(session: Session) -> None:
    queries = in_turn(calling("query", sql="SELECT"), calling("query", sql="DROP"), calling("query", sql="SELECT"))
    database = Database()
    model = ScriptedModel([queries, then(lambda: session.set_plan_mode(False), queries), "Done."])
    await run(planning(session), model, tools=[database])
    first, refused, last = results(model.requests[1])
    assert (first, last) == ("rows", "rows") and refused.startswith(f"query {REFUSED}")
    read, wrote = ["SELECT begins", "SELECT ends"], ["DROP begins", "DROP ends"]
    # Since one of them may write, they are not run side by side.
    assert database.ran == [*read, *read, *read, *wrote, *read]


# the list


@pytest.mark.parametrize("tracking", ["auto", "judge"])
async def test_tracking_leaves_the_list_as_it_is(session: Session, tracking: str) -> None:
    await run(session, [creating("Look at it", "Act on it"), "Done."], max_nudges=0)
    before = states(session)
    changed_in = session.todo_list.changed_in
    turns = [*[calling("look")] * 4, *[calling("act")] * 3, "A plan."]
    await run(planning(session), turns, "Plan", tracking=tracking, complete_after=2, max_nudges=0)
    assert states(session) == before == {"t1": "pending", "t2": "pending"}
    assert session.todo_list.changed_in == changed_in
    assert facts(session, TodoEvaluationStarted) == []


async def test_an_item_in_progress_is_neither_completed_nor_blocked_by_calls(session: Session) -> None:
    await run(session, [creating("Look at it"), "Done."], max_nudges=0)
    session.update("t1", status="in_progress")
    seen: list[dict[str, str]] = []

    @tool(effect="read")
    def note() -> str:
        """Notes the states."""
        seen.append(states(session))
        return ""

    turns = [*[calling("note")] * 3, *[calling("fail")] * 3, calling("note"), "A plan."]
    await run(planning(session), turns, "Plan", tools=[note, tool(effect="read", name="fail")(_raises)], max_nudges=0)
    assert seen == [{"t1": "in_progress"}] * 4
    assert len(facts(session, TodoListItemProgress)) == 7  # they are recorded all the same


def _raises() -> str:
    """Fails."""
    raise ValueError("no")


async def test_there_are_neither_nudges_nor_reminders(session: Session) -> None:
    session.write([{"content": "A"}, {"content": "B", "status": "in_progress"}])
    model = ScriptedModel([*looking(4), "A plan.", "Never."])
    result = await run(planning(session), model, remind_after=1)
    assert (result.reason, result.rounds, result.text) == ("finished", 5, "A plan.")
    assert all(added(request).endswith("</todo-list>") for request in model.requests)
    assert "still open" not in "".join(str(fact.message) for fact in facts(session, MessageAdded))


# the plan


async def test_a_plan_is_kept_in_the_session_and_the_run_goes_on_with_the_answer(
    session: Session, tmp_path: Path
) -> None:
    bad: dict[str, Any] = {**PLAN, "steps": [{"id": "a", "description": "A", "dependencies": ["b"]}]}
    turns = [calling("ls"), calling("create_plan", **bad), calling("create_plan", **PLAN), "Two steps; shall I?"]
    model = ScriptedModel(turns)
    result = await run(planning(session), model, tools=builtin_tools(tmp_path))
    assert (result.reason, result.text, result.rounds) == ("finished", "Two steps; shall I?", 4)
    assert session.plan is not None and session.plan.title == "重构解析器"
    assert [step.id for step in session.plan.steps] == ["step-1", "step-2"]
    assert session.plan_mode and session.todos == []
    [rejected], [taken] = (results(request) for request in model.requests[2:])
    assert json.loads(rejected)["success"] is False and "steps[0].dependencies" in rejected
    assert json.loads(taken)["success"] is True
    assert facts(session, ToolStarted)[2].summary == "create_plan 重构解析器 (2 steps)"
    _, refused, accepted = facts(session, ToolFinished)
    assert (refused.text, refused.ok, refused.effect) == (rejected, False, "plan")
    assert (accepted.text, accepted.ok, accepted.effect) == (taken, True, "plan")


async def test_a_model_that_ends_without_a_plan_has_answered(session: Session) -> None:
    result = await run(planning(session), ["It has 12 lines."], "How long is the parser?")
    assert (result.ok, result.text, session.plan) == (True, "It has 12 lines.", None)


async def test_out_of_plan_mode_create_plan_is_not_offered(session: Session, tmp_path: Path) -> None:
    model = ScriptedModel(["Done."])
    await run(session, model, tools=builtin_tools(tmp_path))
    assert "create_plan" not in offering(model)[0] and "bash" in offering(model)[0]
