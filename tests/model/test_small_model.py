"""The provider path end to end: a real model behind a real server, asked as the loop asks. Not whether it is clever."""

from __future__ import annotations

import asyncio

import pytest
from pydantic_ai.exceptions import ModelAPIError
from pydantic_ai.messages import (
    InstructionPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    PartDeltaEvent,
    TextPart,
    TextPartDelta,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from headway.agent import explain, resolve_model
from headway.core.errors import ContextTooLong

pytestmark = pytest.mark.model
PLAIN = ModelRequestParameters()
SHORT = ModelSettings(max_tokens=24, temperature=0, timeout=120)
BASH = ToolDefinition(
    name="bash",
    description="Runs a command.",
    parameters_json_schema={"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
)


@pytest.fixture
def model(server: str) -> Model:
    return resolve_model("llamacpp:smollm2", base_url=f"{server}/v1", environ={})


def prompt(text: str) -> list[ModelMessage]:
    return [ModelRequest.user_text_prompt(text)]


async def streamed(
    model: Model,
    messages: list[ModelMessage],
    parameters: ModelRequestParameters = PLAIN,
    settings: ModelSettings = SHORT,
) -> tuple[list[str], ModelResponse]:
    """The deltas of the text, and the answer."""
    deltas: list[str] = []
    async with model, model.request_stream(messages, settings, parameters) as response:
        async for event in response:
            if isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
                deltas.append(event.delta.content_delta)
    return deltas, response.get()


async def test_text_arrives_in_several_deltas_and_usage_at_the_end(model: Model) -> None:
    deltas, answer = await streamed(model, prompt("Tell me a story about a fox."))
    assert len(deltas) > 3
    assert "".join(deltas) in str(answer.text)
    assert answer.usage.input_tokens > 5
    assert answer.usage.output_tokens > 3
    assert answer.state == "complete"


async def test_a_request_without_streaming_is_answered_too(model: Model) -> None:
    async with model:
        answer = await model.request(prompt("Say hello."), SHORT, PLAIN)
    assert answer.text
    assert answer.usage.output_tokens > 0


async def test_the_server_takes_a_system_prompt_and_tools(model: Model) -> None:
    rules = InstructionPart("You are a geographer. Answer in one word, " + "with no more than one word, " * 10)
    told = ModelRequestParameters(instruction_parts=[rules], function_tools=[BASH])
    _, plain = await streamed(model, prompt("What is the capital of France?"))
    _, answer = await streamed(model, prompt("What is the capital of France?"), told)
    assert answer.parts
    assert answer.usage.input_tokens > plain.usage.input_tokens


async def test_a_history_with_a_call_and_its_result_is_taken(model: Model) -> None:
    history: list[ModelMessage] = [
        *prompt("Which files are there?"),
        ModelResponse(parts=[TextPart("I look."), ToolCallPart("bash", '{"command": "ls"}', "call-1")]),
        ModelRequest(parts=[ToolReturnPart("bash", "parser.py\ntest_parser.py", "call-1")]),
        ModelResponse(parts=[TextPart("Two: parser.py and test_parser.py.")]),
        *prompt("Which of them is a test?"),
    ]
    _, answer = await streamed(model, history, ModelRequestParameters(function_tools=[BASH]))
    assert answer.parts


async def test_a_limit_of_tokens_is_kept(model: Model) -> None:
    settings = ModelSettings(max_tokens=6, temperature=0, timeout=120)
    _, answer = await streamed(model, prompt("Count to a hundred."), settings=settings)
    assert 0 < answer.usage.output_tokens <= 6
    assert answer.finish_reason == "length"


async def test_a_stream_that_is_cancelled_ends_cleanly_and_the_server_goes_on(model: Model) -> None:
    seen = asyncio.Event()

    async def endless() -> None:
        settings = ModelSettings(max_tokens=1_000, timeout=120)
        async with model, model.request_stream(prompt("Tell a very long story."), settings, PLAIN) as response:
            async for _ in response:
                seen.set()

    task = asyncio.create_task(endless())
    await asyncio.wait_for(seen.wait(), 120)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    _, answer = await streamed(model, prompt("Say hello."))
    assert answer.text


async def test_a_stream_can_be_stopped_from_inside(model: Model) -> None:
    settings = ModelSettings(max_tokens=1_000, timeout=120)
    async with model:
        async with model.request_stream(prompt("Tell a very long story."), settings, PLAIN) as response:
            async for event in response:
                if isinstance(event, PartDeltaEvent):
                    break
            await response.cancel()
        assert response.get().state == "interrupted"
        assert (await model.request(prompt("Say hello."), SHORT, PLAIN)).text


async def test_a_request_that_is_too_long_is_told_from_other_faults(model: Model) -> None:
    with pytest.raises(ModelAPIError) as caught:
        await streamed(model, prompt("word " * 5_000))
    assert isinstance(explain(caught.value, model), ContextTooLong)
