"""Plan mode is held where calls are run: by effect, for any tool, however it is called."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.support.processes import run_python
from tests.support.tables import check_rows

import headway
from headway.tools import Answer, Effect, Executor, Question, ToolInput, WriteTodos, builtin_tools, tool
from headway.tools.approvals import Approvals
from headway.tools.todos import TodoTool

from .samples import ALWAYS, ONCE, Marking, Person, executor

SWITCH = """
import sys, headway
headway.open(sys.argv[1]).set_plan_mode(sys.argv[2] == "on")
"""


def planning(tmp_path: Path, *tools: Any, **approvals: Any) -> Executor:
    session = headway.open(memory=True)
    session.set_plan_mode(True)
    return executor(tmp_path, *tools, session=session, **{"mode": "yolo", **approvals})


async def test_a_tool_that_borrows_a_reading_tools_name_is_still_refused(tmp_path: Path):
    liar = Marking(Effect.WRITE, "safe", aliases=("read_file", "create_plan"))
    runner = planning(tmp_path, liar)
    for name in ("safe", "read_file", "create_plan"):
        assert "plan mode changes nothing" in (await runner.call(name, {})).text
    assert not liar.ran


async def test_a_function_that_declares_nothing_is_refused(tmp_path: Path):
    def harmless() -> str:
        return "did something"

    result = await planning(tmp_path, harmless).call("harmless", {})
    assert not result.ok and result.effect is None


@pytest.mark.parametrize("odd", [None, "", "safe", "READ", 3, []])
async def test_an_effect_that_is_none_counts_as_execute(tmp_path: Path, odd: Any):
    marking = Marking(odd)
    runner = planning(tmp_path, marking)
    assert not (await runner.call("marking", {})).ok and not marking.ran
    assert runner.list_offered() == []
    result = await executor(tmp_path, marking, ask=None).call("marking", {})
    assert "nobody is there" in result.text


async def test_an_effect_written_as_text_is_the_effect(tmp_path: Path):
    marking = Marking("network")  # pyright: ignore
    marking.host = lambda call: call.subject
    asked: list[str | None] = []

    async def ask(question: Question) -> Answer:
        asked.append(question.preview.host)
        return ALWAYS

    runner = planning(tmp_path, marking, mode="default", ask=ask)
    for host in ("a.org", "a.org", "b.org"):
        assert (await runner.call("marking", {"subject": host})).effect is Effect.NETWORK
    assert asked == ["a.org", "b.org"]


async def test_a_call_is_judged_by_what_that_very_call_does(tmp_path: Path):
    class Input(ToolInput):
        subject: str

    class Either(Marking):
        input = Input

        def effect_of(self, call: Any) -> Effect:
            return Effect.READ if call.subject == "look" else Effect.EXECUTE

    either = Either(Effect.READ)
    runner = planning(tmp_path, either)
    assert (await runner.call("marking", {"subject": "look"})).ok
    assert not (await runner.call("marking", {"subject": "touch"})).ok
    assert either.ran == ["look"]


async def test_what_is_offered_follows_the_mode_in_a_stable_order(tmp_path: Path):
    session = headway.open(memory=True)
    tools = [Marking(effect, f"tool_{effect}") for effect in Effect]
    runner = executor(tmp_path, *tools, session=session)
    usual = [one for one in tools if one.effect is not Effect.PLAN]
    for _ in range(2):
        assert runner.list_offered() == runner.list_offered(planning=False) == usual
        assert [one.name for one in runner.list_offered(planning=True)] == ["tool_read", "tool_network", "tool_plan"]
        session.set_plan_mode(True)
        assert runner.list_offered() == runner.list_offered(planning=True)
        assert runner.list_offered(planning=False) == usual
        session.set_plan_mode(False)


async def test_out_of_plan_mode_a_plan_is_still_taken_though_nobody_is_told_of_the_tool(tmp_path: Path):
    session = headway.open(memory=True)
    runner = executor(tmp_path, *builtin_tools(tmp_path), session=session)
    assert "create_plan" not in [one.name for one in runner.list_offered()]
    plan = {"title": "T", "overview": "O", "steps": [{"id": "step-1", "description": "Do it"}]}
    assert (await runner.call("create_plan", plan)).ok
    assert session.plan is not None and session.plan.title == "T"


async def test_of_the_built_in_tools_exactly_those_that_read_and_create_plan_are_offered(tmp_path: Path):
    runner = planning(tmp_path, *builtin_tools(tmp_path, web_search="brave", environ={"BRAVE_API_KEY": "none"}))
    assert {one.name for one in runner.list_offered()} == {
        *("read_file", "read_many_files", "ls", "glob", "grep", "web_fetch", "web_search", "create_plan")
    }
    (tmp_path / "a.txt").write_text("needle\n")
    for name in ("grep", "rg"):
        assert "a.txt:1: needle" in (await runner.call(name, {"pattern": "needle"})).text


COMMANDS = [
    "echo new > a.txt",
    "cat > a.txt",
    "cat > a.txt <<'END'\nnew\nEND",
    "tee a.txt < b.txt",
    "sed -i s/old/new/ a.txt",
    "python3 -c \"open('a.txt', 'w')\"",
    "git status",
    "ls",
    "cat a.txt",
    "true",
    "TodoWrite '{\"todos\": []}'",
    "echo '{\"todos\": []}' | TodoWrite",
    "cat <<'END' | TodoWrite\n{\"todos\": []}\nEND",
]


@pytest.mark.parametrize("kind", ["full", "light", "plan", "off"])
def test_no_command_is_run_also_none_that_looks_harmless(tmp_path: Path, kind: Any):
    (tmp_path / "a.txt").write_text("old")
    session = headway.open(tmp_path)
    session.add("Mine")
    session.set_plan_mode(True)
    runner = executor(tmp_path, *builtin_tools(tmp_path, todo_tools=kind), session=session, mode="yolo")

    def check(command: str) -> None:
        result = asyncio.run(runner.call("bash", {"command": command}))
        assert (result.ok, result.denied, result.effect) == (False, True, None)
        assert result.text.startswith("bash was not run: plan mode changes nothing")
        assert (tmp_path / "a.txt").read_text() == "old"
        assert [todo.content for todo in session.todos] == ["Mine"]

    check_rows(COMMANDS, check)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("write_file", {"path": "new.txt", "content": "new"}),
        ("edit", {"path": "a.txt", "old_string": "old", "new_string": "new"}),
        ("TodoWrite", {"todos": []}),
        ("write_todos", {"todos": []}),
        ("create_todo_list", {"items": [{"description": "Theirs"}]}),
        ("update_todo_item", {"item_id": "t1", "status": "completed"}),
        ("todo", {"done": ["t1"], "add": ["Theirs"]}),
    ],
)
async def test_neither_files_nor_the_list_are_written_by_any_tool_that_there_is(
    tmp_path: Path, name: str, arguments: dict[str, Any]
):
    (tmp_path / "a.txt").write_text("old")
    session = headway.open(memory=True)
    session.add("Mine")
    session.set_plan_mode(True)
    version = session.version
    tools = [*builtin_tools(tmp_path, todo_tools="full"), WriteTodos(), TodoTool()]
    runner = executor(tmp_path, *tools, session=session, mode="yolo")
    assert (await runner.call("read_file", {"path": "a.txt"})).ok
    result = await runner.call(name, arguments)
    assert (result.ok, result.denied) == (False, True)
    assert "finish the plan with create_plan" in result.text
    assert session.version == version
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"] and (tmp_path / "a.txt").read_text() == "old"


async def test_a_tool_that_was_hidden_is_refused_when_it_is_called_all_the_same(tmp_path: Path):
    markings = [Marking(effect, f"tool_{effect}") for effect in Effect]
    runner = planning(tmp_path, *markings)
    shown = runner.list_offered()
    for marking in markings:
        assert (await runner.call(marking.name, {})).ok is (marking in shown)
        assert bool(marking.ran) is (marking in shown)


@pytest.mark.parametrize("odd", [None, "", "harmless", "READ", 3, [], Effect])
async def test_an_answer_to_what_a_call_does_that_is_none_counts_as_execute(tmp_path: Path, odd: Any):
    class Odd(Marking):
        def effect_of(self, call: Any) -> Any:
            return odd

    tool = Odd(Effect.READ)
    result = await planning(tmp_path, tool).call("marking", {})
    assert (result.ok, result.denied, tool.ran) == (False, True, [])


async def test_a_tool_that_cannot_say_what_a_call_does_is_not_run(tmp_path: Path):
    class Broken(Marking):
        def effect_of(self, call: Any) -> Effect:
            raise RuntimeError("no idea")

    tool = Broken(Effect.READ)
    result = await planning(tmp_path, tool).call("marking", {})
    assert (result.ok, tool.ran) == (False, [])


async def test_no_mode_no_allow_pattern_and_no_answer_of_before_helps(tmp_path: Path):
    session = headway.open(memory=True)
    person = Person(ALWAYS)
    marking = Marking(Effect.WRITE)
    asked = executor(tmp_path, marking, session=session, ask=person)
    assert (await asked.call("marking", {})).ok and (await asked.call("marking", {})).ok
    session.set_plan_mode(True)
    others = [
        {"mode": "yolo"},
        {"mode": "auto_edit"},
        {"allow": ["marking"]},
        {"allow": ["marking: *"]},
        {"ask": person},
    ]
    for runner in (asked, *(executor(tmp_path, marking, session=session, **about) for about in others)):
        result = await runner.call("marking", {})
        assert (result.ok, result.denied) == (False, True)
    assert (len(marking.ran), len(person.questions)) == (2, 1)


async def test_a_sub_agent_is_in_the_plan_mode_of_its_session(tmp_path: Path):
    session = headway.open(memory=True)
    marking = Marking(Effect.WRITE)
    runner = executor(tmp_path, marking, session=session.agent("sub-1"), mode="yolo")
    assert (await runner.call("marking", {})).ok
    session.set_plan_mode(True)
    assert runner.list_offered() == []
    assert (await runner.call("marking", {})).denied
    session.agent("sub-2").set_plan_mode(False)
    assert (await runner.call("marking", {})).ok


async def test_plan_mode_that_begins_while_the_question_waits_still_counts(tmp_path: Path):
    session = headway.open(memory=True)
    marking = Marking(Effect.WRITE)

    async def ask(question: Question) -> Answer:
        session.set_plan_mode(True)
        return ONCE

    result = await executor(tmp_path, marking, session=session, ask=ask).call("marking", {})
    assert "plan mode" in result.text and not marking.ran and result.effect is None


async def test_another_process_switches_plan_mode_in_the_middle_of_a_run(tmp_path: Path):
    session = headway.open(tmp_path)
    marking = Marking(Effect.EXECUTE)
    runner = Executor([marking], session, project=tmp_path, approvals=Approvals(mode="yolo"))
    seen: list[bool] = []
    for switch in ("off", "on", "off"):
        assert run_python(SWITCH, tmp_path, switch).code == 0
        seen.append((await runner.call("marking", {})).ok)
    assert seen == [True, False, True]


async def test_a_session_that_cannot_be_read_refuses(tmp_path: Path):
    session = headway.open(tmp_path)
    session.set_plan_mode(True)
    marking = Marking(Effect.EXECUTE)
    runner = Executor([marking], session, project=tmp_path, approvals=Approvals(mode="yolo"))
    for file in (tmp_path / ".headway").glob("*.db*"):
        file.write_bytes(b"not a database" * 1_000)
    result = await runner.call("marking", {})
    assert not result.ok and not marking.ran


async def test_the_agents_own_list_is_closed_in_plan_mode_too(tmp_path: Path):
    @tool(effect="todo", name="TodoWrite")
    def write() -> str:
        return "written"

    @tool(effect="plan")
    async def create_plan() -> str:
        await asyncio.sleep(0)
        return "planned"

    runner = planning(tmp_path, write, create_plan)
    assert not (await runner.call("TodoWrite", {})).ok
    assert (await runner.call("create_plan", {})).ok


async def test_the_refusal_names_create_plan_only_where_there_is_one(tmp_path: Path):
    @tool(effect="plan")
    def create_plan() -> str:
        return "planned"

    without = await planning(tmp_path, Marking(Effect.WRITE)).call("marking", {})
    assert without.text == (
        "marking was not run: plan mode changes nothing and runs no commands. Explore with the read-only tools, "
        "then describe what you would do."
    )
    with_one = await planning(tmp_path, Marking(Effect.WRITE), create_plan).call("marking", {})
    assert with_one.text.endswith("then finish the plan with create_plan.")
    assert without.denied and with_one.denied
