"""Servers that refuse what others take: a user message after a tool's result, or a message that is not plain text."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

import headway
from headway.agent import LoopConfig, RunResult, resolve_model, run_loop
from headway.agent.config import InjectName
from headway.agent.conversation import Conversation
from headway.agent.strict_order import refuses_user_after_tool
from headway.core.run_events import RunError, ToolFinished

from .looping import facts, look, texts
from .provider_servers import (
    MAKERS,
    Answer,
    Format,
    Json,
    ProviderServer,
    chat,
    provider_server,
    refusal,
    streamed,
)

BLOCK = "<todo-list>\n## Current Task List"
REFUSAL = "Unexpected role 'user' after role 'tool'"
BETWEEN = "(I stopped here.)"


def mistral_rules(answer: Callable[[int], Answer]) -> Callable[[Json], Answer]:
    """A server that answers only what Mistral's would take; `answer` is for the number of such a request, from 1."""
    taken = 0

    def check(body: Json) -> Answer:
        nonlocal taken
        roles = [message["role"] for message in body["messages"]]
        if ("tool", "user") in pairwise(roles):
            return refusal(400, {"object": "error", "message": REFUSAL, "type": "invalid_request_message_order"})
        taken += 1
        return answer(taken)

    return check


def plain_text_only(answer: Answer) -> Callable[[Json], Answer]:
    def check(body: Json) -> Answer:
        if any(not isinstance(message["content"], str | None) for message in body["messages"]):
            return refusal(422, {"error": {"message": "content: Input should be a valid string"}})
        return answer

    return check


def working(rounds: int) -> Callable[[int], Answer]:
    """Calls in so many rounds, then an answer."""

    def answer(number: int) -> Answer:
        return streamed(chat("", ("look", "{}"), "tool_calls") if number <= rounds else chat("Done."))

    return answer


async def run(session: headway.Session, server: ProviderServer, task: str = "Go.", **config: Any) -> RunResult:
    settings = LoopConfig(instructions="Work.", max_nudges=0, **config)
    return await run_loop(session, task, model=server.model("chat"), tools=[look], config=settings)


def said(body: Json) -> list[str]:
    return [f"{message['role']}: {message.get('content') or ''}" for message in body["messages"]]


async def test_a_server_that_refuses_a_user_after_a_tool_is_served_from_its_first_refusal(
    session: headway.Session,
) -> None:
    session.add("Look at it")
    with provider_server(mistral_rules(working(3))) as server:
        result = await run(session, server)
    assert (result.error, result.text, result.rounds) == (None, "Done.", 4)
    refused, *rest = facts(session, RunError)
    assert (REFUSAL in refused.message, refused.retry_in, rest) == (True, 0.0, [])
    assert len(server.bodies) == 5
    for body in server.bodies[2:]:
        *before, last = said(body)
        assert last.startswith(f"tool: saw it\n\n{BLOCK}")
        assert BLOCK not in str(before)
    assert "todo-list" not in str(texts(Conversation.load(session).messages))
    assert {call.text for call in facts(session, ToolFinished)} == {"saw it"}


async def test_what_comes_before_the_last_message_stays_the_same_for_such_a_server(session: headway.Session) -> None:
    session.add("Look at it")
    with provider_server(mistral_rules(working(5))) as server:
        await run(session, server, inject="tool")
    assert len(server.bodies) == 6
    for before, after in pairwise(server.bodies):
        known = len(before["messages"]) - 1
        assert json.dumps(after["messages"][:known]) == json.dumps(before["messages"][:known])
        assert after["messages"][known]["content"] == before["messages"][known]["content"].partition("\n\n<todo")[0]


async def test_a_task_after_a_run_that_ended_with_a_call_is_served_too(session: headway.Session) -> None:
    session.add("Look at it")
    with provider_server(mistral_rules(working(2))) as server:
        assert (await run(session, server, max_rounds=2)).reason == "max_rounds"
        result = await run(session, server, "And now?")
    assert (result.error, result.text) == (None, "Done.")
    *_, tool, between, task = said(server.bodies[-1])
    assert (tool, between) == ("tool: saw it", f"assistant: {BETWEEN}")
    assert task.startswith("user: And now?\n\n" + BLOCK)
    assert BETWEEN not in str(texts(Conversation.load(session).messages))


@pytest.mark.parametrize("inject", ["tail", "tool", "system"])
async def test_a_server_that_takes_only_plain_text_is_served(session: headway.Session, inject: InjectName) -> None:
    session.add("Look at it")
    call, done = streamed(chat("", ("look", "{}"), "tool_calls")), streamed(chat("Done."))
    with provider_server(plain_text_only(call), plain_text_only(done)) as server:
        result = await run(session, server, inject=inject)
    assert (result.error, result.text, len(server.bodies)) == (None, "Done.", 2)
    assert all(BLOCK in str(said(body)[0 if inject == "system" else -1]) for body in server.bodies)


@pytest.mark.parametrize("format", ["responses", "anthropic", "google"])
async def test_the_list_can_stand_in_the_last_result_in_every_format(session: headway.Session, format: Format) -> None:
    session.add("Look at it")
    make = MAKERS[format]
    end = {"anthropic": "tool_use", "google": "STOP"}.get(format)
    config = LoopConfig(inject="tool", max_nudges=0)
    with provider_server(streamed(make("", ("look", "{}"), end)), streamed(make("Done."))) as server:
        result = await run_loop(session, "Go.", model=server.model(format), tools=[look], config=config)
    assert (result.error, result.text) == (None, "Done.")
    first, second = (json.dumps(body).count("## Current Task List") for body in server.bodies)
    assert (first, second) == (1, 1)
    last = {"responses": "input", "anthropic": "messages", "google": "contents"}[format]
    assert "saw it\\n\\n<todo-list>" in json.dumps(server.bodies[1][last][-1])


def test_mistrals_own_servers_are_known() -> None:
    def at(url: str) -> bool:
        return refuses_user_after_tool(resolve_model("compatible:m", base_url=url, environ={}))

    assert at("https://api.mistral.ai/v1")
    assert not at("https://mistral.ai.example.com/v1")
    assert not at("http://localhost:8000/v1")


async def test_a_server_that_refuses_every_order_is_asked_twice(session: headway.Session) -> None:
    session.add("Look at it")
    with provider_server(refusal(400, {"error": {"message": REFUSAL}})) as server:
        result = await run(session, server)
    assert (result.reason, len(server.bodies)) == ("error", 2)
    assert "refused the order of the messages" in str(result.error)


async def test_a_summary_is_in_an_order_that_such_a_server_takes(session: headway.Session) -> None:
    def answer(number: int) -> Answer:
        call = ("look", json.dumps({"at": f"{number}" + "x" * 1500}))
        return streamed(chat("", call, "tool_calls", prompt_tokens=1_500 * number))

    with provider_server(mistral_rules(answer)) as server:
        await run(session, server, inject="tool", context_window=8_000, max_rounds=12)
    summaries = [body for body in server.bodies if "The conversation is about to be shortened" in str(body)]
    assert summaries
    for body in summaries:
        assert ("tool", "user") not in pairwise(message["role"] for message in body["messages"])
