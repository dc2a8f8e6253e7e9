"""Headway in agents of LangChain and deepagents."""

# pyright: basic, reportMissingImports=false

from __future__ import annotations

import gc
import weakref
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

pytest.importorskip("langchain.agents", reason="LangChain is not installed: make test-adapters")

from deepagents import create_deep_agent
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware, SummarizationMiddleware
from langchain_anthropic.middleware import AnthropicPromptCachingMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, messages_to_dict
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic import PrivateAttr
from tests.adapters.examples import check_example
from tests.adapters.obligations import (
    ITEMS,
    TASK,
    TOOLS,
    Obligations,
    Outcome,
    Tools,
    Turn,
    create,
    done,
    list_blocks,
    list_calls,
    own,
    tidy,
    to_json,
)
from tests.adapters.provider_server import Provider, serve_provider

import headway
from headway import Session
from headway.adapters.langchain import HeadwayMiddleware


def to_texts(messages: Sequence[BaseMessage]) -> list[str]:
    found: list[str] = []
    for message in messages_to_dict([message for message in messages if not isinstance(message, SystemMessage)]):
        if not str(message["data"].get("id") or "").startswith("kept"):
            message["data"]["id"] = None
        found.append(tidy(to_json(message)))
    return found


def to_answer(turn: Turn) -> AIMessage:
    turn.before()
    if turn.error:
        raise RuntimeError(turn.error)
    calls = [{"name": name, "args": args, "id": id} for (name, args), id in zip(turn.calls, turn.ids, strict=True)]
    return AIMessage(turn.text, tool_calls=calls)


class Scripted(BaseChatModel):
    """A chat model that answers one turn after the other."""

    turns: list[Any]
    _requests: list[list[str]] = PrivateAttr(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    @property
    def requests(self) -> list[list[str]]:
        return self._requests

    def bind_tools(self, tools: Any, **more: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **more: Any) -> ChatResult:
        self._requests.append(to_texts(messages))
        return ChatResult(generations=[ChatGeneration(message=to_answer(self.turns[len(self._requests) - 1]))])


class TestLangChain(Obligations):
    async def drive(
        self,
        turns: list[Turn],
        session: Session | None,
        *,
        tools: Tools = TOOLS,
        task: str = TASK,
        middleware: Any = (),
        options: Mapping[str, Any] = MappingProxyType({}),
        config: Any = None,
        **more: Any,
    ) -> Outcome:
        model = Scripted(turns=turns)
        if session is not None:
            middleware = [*middleware, HeadwayMiddleware(session, **more)]
        made = [
            StructuredTool.from_function(coroutine=tool, name=name, description=name) for name, tool in tools.items()
        ]
        agent = create_agent(model, made, system_prompt="Be brief.", middleware=middleware, **options)
        try:
            state = await agent.ainvoke({"messages": [("user", task)]}, config)
        except Exception as error:
            return Outcome(model.requests, [], error)
        return Outcome(model.requests, to_texts(state["messages"]))

    def test_the_mark_for_the_cache_stands_just_before_the_list(self, monkeypatch: pytest.MonkeyPatch) -> None:
        turns = [create(*ITEMS), own("read", path="a.py"), done("t1", "t2", "t3"), Turn("Done.")]
        with serve_provider(Provider(turns)) as provider:
            monkeypatch.setenv("ANTHROPIC_BASE_URL", provider.url)
            monkeypatch.setenv("ANTHROPIC_API_KEY", "no-key")
            middleware = [AnthropicPromptCachingMiddleware(), HeadwayMiddleware(headway.open(memory=True))]

            def read(path: str) -> str:
                """Read a file."""
                return path

            agent = create_agent("anthropic:claude-sonnet-5", [read], middleware=middleware)
            agent.invoke({"messages": [("user", TASK)]})
        sent: list[list[Any]] = []
        for body in provider.bodies:
            blocks = list_blocks(body)
            if body is not provider.bodies[0]:
                assert "cache_control" not in body
                assert "todo-list" in blocks.pop()["text"]
                assert blocks[-1]["type"] == "tool_result" and "cache_control" in blocks[-1]
            sent.append([{name: value for name, value in block.items() if name != "cache_control"} for block in blocks])
        assert all(later[: len(earlier)] == earlier for earlier, later in pairwise(sent))

    async def test_a_summary_brings_the_whole_list_back(self) -> None:
        session = headway.open(memory=True)
        items = [f"Read {number}.py" for number in range(12)]
        summary = SummarizationMiddleware(
            Scripted(turns=[Turn("They read.")]), trigger=("messages", 8), keep=("messages", 2)
        )
        turns = [create(*items), *(own("read", path="a.py") for _ in range(4)), done(*(f"t{n}" for n in range(1, 13)))]
        outcome = await self.drive([*turns, Turn("Done.")], session, middleware=[summary])
        assert outcome.error is None
        sent = [request[-1] for request in outcome.requests]
        assert not all(item in sent[3] for item in items) and all(item in sent[4] for item in items)

    async def test_a_checkpoint_holds_no_list_and_a_run_that_goes_on_from_it_shows_it(self) -> None:
        session = headway.open(memory=True)
        saver = InMemorySaver()
        config = {"configurable": {"thread_id": "1"}}
        options = {"options": {"checkpointer": saver}, "config": config}
        await self.drive([create(*ITEMS), Turn("I wait."), Turn("I wait.")], session, **options)
        outcome = await self.drive([done("t1", "t2", "t3"), Turn("Done.")], session, **options)
        assert ITEMS[2] in outcome.tails[0]
        assert not any("<todo-list>" in str(saved.checkpoint) for saved in saver.list(config))

    async def test_no_item_is_in_progress_after_a_stream_that_is_left_early(self) -> None:
        session = headway.open(memory=True)
        model = Scripted(turns=[create(*ITEMS), Turn(calls=[("todo", {"start": "t1"})]), Turn("Done.")])
        agent = create_agent(model, [], middleware=[HeadwayMiddleware(session)])
        stream = agent.stream({"messages": [("user", TASK)]})
        for _ in stream:
            if any(todo.status == "in_progress" for todo in session.todos):
                break
        stream.close()
        assert [todo.status for todo in session.todos] == ["pending"] * 3

    async def test_a_call_that_waits_for_a_person_has_not_failed(self) -> None:
        session = headway.open(memory=True)
        config = {"configurable": {"thread_id": "1"}}
        model = Scripted(turns=[create(*ITEMS), own("look", path="a.py"), done("t1", "t2", "t3"), Turn("Done.")])

        def look(path: str) -> str:
            """Look at a file."""
            return path

        middleware = [HumanInTheLoopMiddleware(interrupt_on={"look": True}), HeadwayMiddleware(session)]
        agent = create_agent(model, [look], middleware=middleware, checkpointer=InMemorySaver())
        await agent.ainvoke({"messages": [("user", TASK)]}, config)
        assert list_calls(session) == []
        await agent.ainvoke(Command(resume={"decisions": [{"type": "approve"}]}), config)
        assert [(call.tool, call.ok) for call in list_calls(session)] == [("look", True)]
        assert [todo.status for todo in session.todos] == ["completed"] * 3

    def test_calls_side_by_side_that_waited_for_a_person_are_of_one_run(self, tmp_path: Path) -> None:
        config: Any = {"configurable": {"thread_id": "1"}}
        calls = [("look", {"path": f"{number}.py"}) for number in range(4)]

        def look(path: str) -> str:
            """Look at a file."""
            return path

        for number in range(5):  # the calls begin in threads, in any order
            folder = tmp_path / str(number)
            folder.mkdir()
            session = headway.open(str(folder))
            middleware = [HumanInTheLoopMiddleware(interrupt_on={"look": True}), HeadwayMiddleware(session)]
            model = Scripted(turns=[Turn(calls=calls), Turn("Done.")])
            agent = create_agent(model, [look], middleware=middleware, checkpointer=InMemorySaver())
            agent.invoke({"messages": [("user", TASK)]}, config)
            agent.invoke(Command(resume={"decisions": [{"type": "approve"}] * 4}), config)
            assert [call.ok for call in list_calls(session)] == [True] * 4

    def test_a_middleware_keeps_nothing_of_the_conversations_that_it_served(self) -> None:
        class Claude(Scripted):
            @property
            def _llm_type(self) -> str:
                return "anthropic-chat"

        message = HumanMessage(TASK)
        kept = weakref.ref(message)
        middleware = HeadwayMiddleware(headway.open(memory=True))
        create_agent(Claude(turns=[Turn("Done.")]), [], middleware=[middleware]).invoke({"messages": [message]})
        del message
        gc.collect()
        assert kept() is None

    def test_agents_of_many_conversations_have_a_session_each(self) -> None:
        sessions = {name: headway.open(memory=True) for name in ("one", "two")}
        turns = [create("First"), done("t1"), Turn("Done."), create("Second"), done("t1"), Turn("Done.")]
        middleware = HeadwayMiddleware(lambda config: sessions[config["configurable"]["thread_id"]])
        agent = create_agent(Scripted(turns=turns), [], middleware=[middleware])
        for name in sessions:
            agent.invoke({"messages": [("user", TASK)]}, {"configurable": {"thread_id": name}})
        assert [[todo.content for todo in session.todos] for session in sessions.values()] == [["First"], ["Second"]]

    def test_a_deep_agent_has_the_list_and_its_sub_agent_has_none(self) -> None:
        session = headway.open(memory=True)
        ask = {"description": "Count.", "subagent_type": "general-purpose"}
        turns = [create(*ITEMS), Turn(calls=[("task", ask)]), Turn("It is 7."), done("t1", "t2", "t3"), Turn("Done.")]
        model = Scripted(turns=turns)
        agent = create_deep_agent(model, middleware=[HeadwayMiddleware(session)])
        agent.invoke({"messages": [("user", TASK)]})
        assert [todo.status for todo in session.todos] == ["completed"] * 3
        shown = ["<todo-list>" in request[-1] for request in model.requests]
        assert shown == [False, True, False, True, True]
        assert [(call.tool, call.ok) for call in list_calls(session)] == [("task", True)]

    def test_the_example_of_the_page_runs(self, tmp_path: Path) -> None:
        check_example("LangChain and deepagents", tmp_path)
