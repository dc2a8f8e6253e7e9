"""A model's thoughts are sent back as they came, or not at all: providers refuse one that is not what they signed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ThinkingPart, ToolCallPart

import headway
from headway.agent import LoopConfig, run_loop
from headway.agent.conversation import Conversation, to_stored_message
from headway.agent.repair import repair_answer
from headway.core.secrets import Redactor

from .looping import look
from .provider_servers import Json, ProviderServer, anthropic, provider_server, streamed

KEY = "sk-abcdefghijklmnopqrstuvwxyz0123456789"


def kept(answer: ModelResponse) -> list[dict[str, Any]]:
    return to_stored_message(answer, Redactor())["parts"]


def test_a_thought_without_a_key_is_kept_with_its_signature() -> None:
    [thought, _] = kept(ModelResponse([ThinkingPart("I look.", signature="s"), TextPart("Well.")]))
    assert (thought["content"], thought["signature"]) == ("I look.", "s")


@pytest.mark.parametrize(
    "thought",
    [
        ThinkingPart(f"The key is {KEY}.", signature="s", id="rs_1"),
        ThinkingPart("", signature="s", id="rs_1", provider_details={"raw_content": [f"The key is {KEY}."]}),
    ],
)
def test_of_an_answer_that_thinks_of_a_key_no_thought_is_kept_and_nothing_that_refers_to_one(
    thought: ThinkingPart,
) -> None:
    call = ToolCallPart("look", '{"at":"it"}', "call_1", id="fc_1")
    parts = kept(ModelResponse([ThinkingPart("Hm.", signature="t"), thought, TextPart("Well.", id="msg_1"), call]))
    assert [part["part_kind"] for part in parts] == ["text", "tool-call"]
    assert not any(part.get("id") for part in parts)
    assert parts[1]["tool_call_id"] == "call_1"
    assert KEY not in str(parts)


def test_a_thought_that_cannot_be_sent_is_left_out() -> None:
    answer, _ = repair_answer(
        ModelResponse([ThinkingPart("half \ud83d", signature="s"), TextPart("half \ud83d")]), set()
    )
    [text] = answer.parts
    assert isinstance(text, TextPart)
    assert text.content.isprintable()


async def run(session: headway.Session, server: ProviderServer, task: str) -> None:
    config = LoopConfig(instructions="Work.", max_nudges=0)
    result = await run_loop(session, task, model=server.model("anthropic"), tools=[look], config=config)
    assert result.error is None


def thoughts(body: Json) -> list[Json]:
    blocks = [block for message in body["messages"] for block in message["content"]]
    return [block for block in blocks if block["type"] == "thinking"]


async def test_a_run_sends_thoughts_back_as_they_came_and_one_that_goes_on_leaves_out_what_it_must_not_know(
    session: headway.Session,
) -> None:
    first = streamed(anthropic("", ("look", "{}"), "tool_use", thinking=f"The key is {KEY}."))
    second = streamed(anthropic("Done.", thinking="All is well."))
    with provider_server(first, second, second) as server:
        await run(session, server, "Go.")
        await run(session, server, "And now?")
    assert [block["thinking"] for block in thoughts(server.bodies[1])] == [f"The key is {KEY}."]
    [left] = thoughts(server.bodies[2])
    assert (left["thinking"], left["signature"]) == ("All is well.", "signed")
    assert KEY not in json.dumps(server.bodies[2])
    assert all(isinstance(message, ModelRequest | ModelResponse) for message in Conversation.load(session).messages)
