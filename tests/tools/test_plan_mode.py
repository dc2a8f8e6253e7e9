"""Plan mode is held where calls are run: by effect, for any tool, however it is called."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import headway
from headway.tools import Answer, Effect, Executor, Question, ToolInput, tool
from headway.tools.approvals import Approvals

from .samples import ALWAYS, ONCE, Marking, executor

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
        assert "in plan mode nothing is changed" in (await runner.call(name, {})).text
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
    assert runner.offered() == []
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
    assert runner.offered() == tools
    session.set_plan_mode(True)
    assert [one.name for one in runner.offered()] == ["tool_read", "tool_network", "tool_plan"]
    session.set_plan_mode(False)
    assert runner.offered() == tools


async def test_plan_mode_that_begins_while_the_question_waits_still_counts(tmp_path: Path):
    session = headway.open(memory=True)
    marking = Marking(Effect.WRITE)

    async def ask(question: Question) -> Answer:
        session.set_plan_mode(True)
        return ONCE

    result = await executor(tmp_path, marking, session=session, ask=ask).call("marking", {})
    assert "in plan mode" in result.text and not marking.ran and result.effect is None


async def test_another_process_switches_plan_mode_in_the_middle_of_a_run(tmp_path: Path):
    session = headway.open(tmp_path)
    marking = Marking(Effect.EXECUTE)
    runner = Executor([marking], session, project=tmp_path, approvals=Approvals(mode="yolo"))
    seen: list[bool] = []
    for switch in ("off", "on", "off"):
        subprocess.run([sys.executable, "-c", SWITCH, str(tmp_path), switch], check=True, timeout=60)
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
        "marking was not run: in plan mode nothing is changed and no command is run."
        " Look around with the tools that read, then say what you would do."
    )
    with_one = await planning(tmp_path, Marking(Effect.WRITE), create_plan).call("marking", {})
    assert with_one.text.endswith("then finish the plan with create_plan.")
    assert without.denied and with_one.denied
