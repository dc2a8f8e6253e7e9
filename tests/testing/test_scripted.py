"""A scripted model is asked as any other, and answers as it was told to: whole or streamed, alone or side by side."""

from __future__ import annotations

import asyncio
import gc
import json
from typing import Any

import pytest
from pydantic_ai import Agent, exceptions
from pydantic_ai.messages import (
    CachePoint,
    InstructionPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

import headway
from headway.agent import LoopConfig, run_loop
from headway.core.errors import ModelError, ModelNotReady
from headway.testing import Call, Failure, Request, ScriptedModel, Turn
from headway.tools import tool

PLAIN = ModelRequestParameters()
both_ways = pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "whole"])


def prompt(text: str) -> list[ModelMessage]:
    return [ModelRequest.user_text_prompt(text)]


async def stream(model: ScriptedModel, text: str = "Hi") -> tuple[list[ModelResponseStreamEvent], ModelResponse]:
    events: list[ModelResponseStreamEvent] = []
    async with model, model.request_stream(prompt(text), None, PLAIN) as response:
        events.extend([event async for event in response])
    return events, response.get()


async def ask(model: ScriptedModel, text: str = "Hi", *, streamed: bool = False) -> ModelResponse:
    if streamed:
        return (await stream(model, text))[1]
    return await model.request(prompt(text), None, PLAIN)


@both_ways
async def test_turns_are_answered_one_after_another(streamed: bool) -> None:
    model = ScriptedModel(["One.", Turn(text="Two."), {"text": "Three."}])
    assert [(await ask(model, streamed=streamed)).text for _ in range(3)] == ["One.", "Two.", "Three."]


@both_ways
async def test_a_turn_has_thinking_text_and_calls_in_this_order(streamed: bool) -> None:
    call = Call("bash", {"command": "ls -la", "why": "看一下"})
    answer = await ask(ScriptedModel([Turn("I look.", "Hm, what is there?", [call])]), streamed=streamed)
    assert answer.parts == [
        ThinkingPart("Hm, what is there?"),
        TextPart("I look."),
        ToolCallPart("bash", '{"command": "ls -la", "why": "看一下"}', "call-1"),
    ]
    assert (answer.finish_reason, answer.state) == ("tool_call", "complete")


@both_ways
async def test_the_same_turn_as_a_dict_is_the_same_turn(streamed: bool) -> None:
    written = {"thinking": "Hm.", "calls": [{"name": "bash", "args": {"command": "ls"}}]}
    made = Turn(thinking="Hm.", calls=[Call("bash", {"command": "ls"})])
    first, second = ScriptedModel([written]), ScriptedModel([made])
    assert (await ask(first, streamed=streamed)).parts == (await ask(second, streamed=streamed)).parts


async def test_text_arrives_by_words_and_arguments_in_pieces() -> None:
    call = Call("write_file", {"path": "a.py", "content": "print('hello')\n" * 5})
    events, answer = await stream(ScriptedModel([Turn("Three words only. ", calls=[call])]))
    starts = [event.part.part_kind for event in events if isinstance(event, PartStartEvent)]
    deltas = [event.delta.part_delta_kind for event in events if isinstance(event, PartDeltaEvent)]
    assert starts == ["text", "tool-call"]
    assert deltas.count("text") == 3
    assert deltas.count("tool_call") > 5
    assert answer.text == "Three words only. "
    assert answer.tool_calls[0].args_as_dict() == call.args


async def test_text_without_spaces_arrives_in_pieces_too() -> None:
    events, answer = await stream(ScriptedModel(["先看一下失败的测试，然后修好解析器，最后把全部测试再跑一遍。"]))
    assert sum(isinstance(event, PartDeltaEvent) for event in events) >= 2
    assert answer.text == "先看一下失败的测试，然后修好解析器，最后把全部测试再跑一遍。"


@both_ways
async def test_calls_are_numbered_over_the_models_life_unless_they_have_an_id(streamed: bool) -> None:
    model = ScriptedModel([Turn(calls=[Call("a"), Call("b", id="mine")]), Turn(calls=[Call("c"), Call("d")])])
    ids = [call.tool_call_id for _ in range(2) for call in (await ask(model, streamed=streamed)).tool_calls]
    assert ids == ["call-1", "mine", "call-2", "call-3"]


@both_ways
async def test_arguments_that_are_no_json_are_sent_as_they_are(streamed: bool) -> None:
    answer = await ask(ScriptedModel([Turn(calls=[Call("bash", '{"command": ')])]), streamed=streamed)
    assert answer.tool_calls[0].args == '{"command": '


@both_ways
async def test_a_function_decides_when_it_is_asked(streamed: bool) -> None:
    def decide(messages: list[ModelMessage], request: Request) -> Turn:
        return Turn(f"{len(messages)} message, streamed: {request.streamed}", calls=[Call("a")])

    answer = await ask(ScriptedModel([decide, lambda messages, request: "text"]), streamed=streamed)
    assert answer.text == f"1 message, streamed: {streamed}"
    assert answer.tool_calls[0].tool_call_id == "call-1"


async def test_a_function_that_decides_on_no_turn_is_told_what_is_wrong() -> None:
    with pytest.raises(ModelNotReady, match="The turn is not valid") as caught:
        await ask(ScriptedModel([lambda messages, request: {"txt": "x"}]))
    assert str(caught.value).endswith("- txt: Unknown field")


@both_ways
async def test_an_empty_turn_is_an_empty_answer(streamed: bool) -> None:
    answer = await ask(ScriptedModel([""]), streamed=streamed)
    assert (answer.parts, answer.finish_reason) == ([], "stop")


async def test_what_was_asked_is_kept_as_it_was_then() -> None:
    model = ScriptedModel(["One.", "Two."])
    messages = prompt("Hi")
    tool = ToolDefinition(name="bash", description="Runs a command.")
    parameters = ModelRequestParameters(function_tools=[tool], instruction_parts=[InstructionPart("Be brief.")])
    settings = ModelSettings(max_tokens=5)
    messages.append(await model.request(messages, settings, parameters))
    messages += prompt("And now?")
    await model.request(messages, None, parameters)
    first, second = model.requests
    assert (len(first.messages), len(second.messages)) == (1, 3)
    assert (first.settings, second.settings) == (settings, None)
    assert (first.instructions, first.tools) == ("Be brief.", ["bash"])
    assert first.parameters is parameters


async def test_of_many_requests_only_the_newest_are_kept_when_asked_for() -> None:
    model = ScriptedModel([str(n) for n in range(5)], keep_requests=2)
    for n in range(5):
        await ask(model, f"prompt {n}")
    assert [str(request.messages[0].parts[0].content)[-1] for request in model.requests] == ["3", "4"]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]


@both_ways
async def test_a_script_that_is_used_up_says_how_many_turns_it_had(streamed: bool) -> None:
    model = ScriptedModel(["One.", "Two."])
    for _ in range(2):
        await ask(model, streamed=streamed)
    with pytest.raises(ModelError, match=r"no turns left \(all 2 turns used\); add a turn"):
        await ask(model, streamed=streamed)


@both_ways
async def test_usage_is_what_the_script_says(streamed: bool) -> None:
    usage = {"input_tokens": 900, "output_tokens": 40, "cache_read_tokens": 800}
    answer = await ask(ScriptedModel([{"text": "One.", "usage": usage}]), streamed=streamed)
    assert (answer.usage.input_tokens, answer.usage.output_tokens, answer.usage.cache_read_tokens) == (900, 40, 800)


@both_ways
async def test_usage_that_is_not_given_grows_with_the_texts(streamed: bool) -> None:
    short = await ask(ScriptedModel(["word"]), "word " * 10, streamed=streamed)
    long = await ask(ScriptedModel(["word " * 400]), "word " * 1_000, streamed=streamed)
    assert 10 <= short.usage.input_tokens < 50
    assert 1_000 <= long.usage.input_tokens < 2_000
    assert short.usage.output_tokens < 10 < 400 <= long.usage.output_tokens < 1_000


async def test_usage_that_is_not_given_shrinks_with_the_history() -> None:
    model = ScriptedModel(["One.", "Two.", "Three."])
    history = [*prompt("word " * 1_000), *prompt("word " * 1_000)]
    whole = await model.request(history, None, PLAIN)
    again = await model.request(history, None, PLAIN)
    half = await model.request(history[:1], None, PLAIN)
    assert whole.usage == again.usage
    assert half.usage.input_tokens * 2 == whole.usage.input_tokens


async def test_usage_comes_with_the_last_piece() -> None:
    model = ScriptedModel([{"text": "One two three", "usage": {"output_tokens": 9}}])
    async with model.request_stream(prompt("Hi"), None, PLAIN) as response:
        async for event in response:
            if isinstance(event, PartStartEvent):
                assert response.usage.output_tokens == 0
    assert response.usage.output_tokens == 9


def test_the_context_window_is_as_set_or_unknown() -> None:
    assert ScriptedModel([], context_window=2_000).context_window == 2_000
    assert ScriptedModel([]).context_window is None
    assert ScriptedModel([]).model_id == "scripted:scripted"


@both_ways
@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"status": 429, "message": "slow down", "retry_after": 3}, exceptions.ModelRateLimitError),
        ({"status": 401}, exceptions.ModelAuthenticationError),
        ({"status": 402}, exceptions.ModelQuotaExceededError),
        ({"status": 404}, exceptions.ModelNotFoundError),
        ({"status": 400}, exceptions.ModelRequestRejectedError),
        ({"status": 500}, exceptions.ModelServerError),
        ({"status": 504}, exceptions.ModelServerError),
        ({"status": 529}, exceptions.ModelOverloadedError),
        ({"status": 418}, exceptions.ModelHTTPError),
        ({}, exceptions.ModelServerError),
        ({"kind": "connection"}, exceptions.ModelConnectionError),
        ({"kind": "timeout"}, exceptions.ModelTimeoutError),
        ({"kind": "context"}, exceptions.ModelContextWindowExceededError),
    ],
)
async def test_a_failure_is_raised_as_a_providers_is(
    error: dict[str, Any], kind: type[Exception], streamed: bool
) -> None:
    model = ScriptedModel([{"error": error}, "Better."])
    with pytest.raises(kind) as caught:
        await ask(model, streamed=streamed)
    assert isinstance(caught.value, exceptions.ModelAPIError)
    assert caught.value.retry_after == error.get("retry_after")
    assert error.get("message", "scripted failure") in str(caught.value)
    assert (await ask(model, streamed=streamed)).text == "Better."


async def test_a_stream_can_break_after_some_text() -> None:
    model = ScriptedModel([Turn(error=Failure(kind="connection", after="Half an answer"))])
    seen: list[ModelResponseStreamEvent] = []
    async with model.request_stream(prompt("Hi"), None, PLAIN) as response:
        with pytest.raises(exceptions.ModelConnectionError) as caught:
            async for event in response:
                seen.append(event)
    assert len(seen) >= 3
    assert response.get().text == "Half an answer"
    assert response.get().state == "incomplete"
    assert caught.value.phase == "read"


async def test_conversations_are_told_apart_by_what_the_user_said() -> None:
    model = ScriptedModel(conversations={"parser": ["P1", "P2"], "docs": ["D1", "D2"]})
    asked = ["Write the docs", "Fix the parser", "Fix the parser", "Write the docs"]
    assert [(await ask(model, text)).text for text in asked] == ["D1", "P1", "P2", "D2"]


async def test_the_first_prompt_that_fits_decides() -> None:
    model = ScriptedModel(conversations={"parser": ["P"], "docs": ["D"]})
    tail = ModelRequest(parts=[UserPromptPart([CachePoint(), "[ ] t1: Fix the parser"])])
    answer = await model.request([*prompt("Hello"), *prompt("Write the docs"), tail], None, PLAIN)
    assert answer.text == "D"
    answer = await model.request([*prompt("Hello"), tail], None, PLAIN)
    assert answer.text == "P"


async def test_the_match_that_stands_earliest_in_a_prompt_decides_and_of_several_there_the_longest() -> None:
    model = ScriptedModel(conversations={"todo: t1": ["1"], "todo: t10": ["10"], "todo: t3": ["3"]})
    assert (await ask(model, "todo: t3\nAn earlier attempt failed: todo: t1 is missing")).text == "3"
    assert (await ask(model, "todo: t10")).text == "10"


async def test_an_error_about_a_prompt_of_no_conversation_matches_no_other_conversation() -> None:
    model = ScriptedModel(conversations={"todo: t1": ["P"], "todo: t2": ["D"]})
    with pytest.raises(ModelError, match="in the prompt “todo: t3”") as caught:
        await ask(model, "todo: t3")
    with pytest.raises(ModelError):
        await ask(model, f"todo: t3\nAn earlier attempt failed: {caught.value}")


async def test_conversations_side_by_side_each_keep_their_place() -> None:
    names = [f"job-{n:02}" for n in range(20)]
    scripts = {name: [f"{name} turn {n}" for n in range(10)] for name in names}
    model = ScriptedModel(conversations=scripts)

    async def converse(name: str) -> list[str | None]:
        return [(await ask(model, f"Do {name}.", streamed=n % 2 == 0)).text for n in range(10)]

    told = await asyncio.gather(*(converse(name) for name in names))
    assert dict(zip(names, told, strict=True)) == scripts
    assert len(model.requests) == 200


def test_a_model_serves_several_threads_with_loops_of_their_own() -> None:
    from concurrent.futures import ThreadPoolExecutor

    model = ScriptedModel([Turn(calls=[Call("a")]) for _ in range(200)])

    def some(_: int) -> list[str]:
        return [asyncio.run(ask(model, streamed=True)).tool_calls[0].tool_call_id for _ in range(25)]

    with ThreadPoolExecutor(8) as pool:
        ids = [found for ids in pool.map(some, range(8)) for found in ids]
    assert sorted(ids) == sorted(f"call-{n}" for n in range(1, 201))


async def test_a_stream_that_is_left_early_is_incomplete_and_the_next_turn_follows() -> None:
    model = ScriptedModel(["One two three four", "Next."])
    async with model.request_stream(prompt("Hi"), None, PLAIN) as response:
        async for event in response:
            if isinstance(event, PartDeltaEvent):
                break
    assert response.get().state == "incomplete"
    assert (await ask(model)).text == "Next."
    del response
    gc.collect()


async def test_a_slow_answer_ends_when_its_stream_is_cancelled() -> None:
    model = ScriptedModel(["One two three four"], delay=3_600)

    async with model.request_stream(prompt("Hi"), None, PLAIN) as response:

        async def read() -> int:
            return len([event async for event in response])

        reading = asyncio.create_task(read())
        await asyncio.sleep(0)
        await response.cancel()
        assert await asyncio.wait_for(reading, 60) == 0
    assert response.get().state == "interrupted"


@both_ways
async def test_a_slow_answer_ends_when_its_task_is_cancelled(streamed: bool) -> None:
    model = ScriptedModel([Turn("One two three four", delay=3_600), "Next."])
    task = asyncio.create_task(ask(model, streamed=streamed))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await ask(model)).text == "Next."


@both_ways
async def test_an_answer_with_a_delay_arrives_whole(streamed: bool) -> None:
    assert (await ask(ScriptedModel(["One two three"], delay=0.01), streamed=streamed)).text == "One two three"
    assert (await ask(ScriptedModel([""], delay=0.01), streamed=streamed)).parts == []


async def test_agents_of_the_library_can_use_it() -> None:
    model = ScriptedModel([Turn(calls=[Call("double", {"number": 4})]), lambda messages, request: "It is 8."])
    agent = Agent(model)

    @agent.tool_plain
    def double(number: int) -> int:
        return number * 2

    assert (await agent.run("Double 4")).output == "It is 8."
    assert json.loads(str(model.requests[1].messages[-1].parts[0].content)) == 8  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]


def test_a_script_or_conversations_but_not_both() -> None:
    with pytest.raises(TypeError, match="either a script or conversations"):
        ScriptedModel()
    with pytest.raises(TypeError, match="either a script or conversations"):
        ScriptedModel([], conversations={})


def test_a_text_in_the_place_of_a_script_is_told_so() -> None:
    sentence = r"^A script is a list of turns; put the text in a list: \['…'\]\.$"
    with pytest.raises(TypeError, match=sentence):
        ScriptedModel("Hello")
    with pytest.raises(TypeError, match=sentence):
        ScriptedModel("")
    with pytest.raises(TypeError, match=sentence):
        ScriptedModel(conversations={"a": ["Fine."], "b": "Hello"})


@pytest.mark.parametrize(
    ("turn", "fault"),
    [
        ({"txt": "x"}, "turns[1].txt: Unknown field"),
        ({"calls": [{"name": 5}]}, "turns[1].calls[0].name: Expected string, received number"),
        ({"delay": -1}, "turns[1].delay: Must be at least 0, received -1"),
        (None, "turns[1]: Expected object, received null"),
        (["Nested."], "turns[1]: Expected object, received array"),
    ],
)
def test_a_wrong_turn_is_named_by_its_place(turn: Any, fault: str) -> None:
    with pytest.raises(ModelNotReady) as caught:
        ScriptedModel(["Fine.", turn])
    assert str(caught.value) == f"The script is not valid; correct this and try again:\n- {fault}"


async def test_a_wrong_turn_that_is_decided_on_later_is_named_then() -> None:
    def decide(messages: list[ModelMessage], request: Request) -> Any:
        return {"txt": "x"}

    with pytest.raises(ModelNotReady) as caught:
        await ask(ScriptedModel([decide]))
    assert str(caught.value) == "The turn is not valid; correct this and try again:\n- txt: Unknown field"


def test_every_fault_of_a_script_in_python_is_named() -> None:
    script: list[Any] = ["Fine.", {"txt": "x"}, {"calls": [{"args": 5}]}, 7]
    with pytest.raises(ModelNotReady) as caught:
        ScriptedModel(script)
    assert str(caught.value).splitlines() == [
        "The script is not valid; correct this and try again:",
        "- turns[1].txt: Unknown field",
        "- turns[2].calls[0].name: Required",
        "- turns[2].calls[0].args: Expected object | string, received number",
        "- turns[3]: Expected object, received number",
    ]


async def test_a_request_says_what_is_new_in_it() -> None:
    @tool(effect="read")
    def look(at: str) -> str:
        """Look."""
        return f"{at} is empty"

    model = ScriptedModel([Turn(calls=[Call("look", {"at": "a.py"}), Call("look", {"at": "b.py"})]), "Done."])
    await run_loop(headway.open(memory=True), "Look around.", model=model, tools=[look])
    first, second = model.requests
    assert first.text.startswith("Look around.") and first.tool_results == []
    assert (second.text, second.tool_results) == ("", ["a.py is empty", "b.py is empty"])
    model.assert_used_up()


async def test_turns_that_no_request_used_are_named() -> None:
    model = ScriptedModel(["One", "Two", "Three"])
    await ask(model)
    with pytest.raises(AssertionError, match="not used: 2 of 3"):
        model.assert_used_up()
    with pytest.raises(AssertionError, match="1 of 1 of the conversation 'B'"):
        ScriptedModel(conversations={"A": [], "B": ["One"]}).assert_used_up()


def test_a_failure_is_no_answer() -> None:
    with pytest.raises(ValueError, match="from 400 to 599, not 200; for an answer use a Turn"):
        Failure(200)


async def test_a_test_need_not_wait_for_a_retry() -> None:
    model = ScriptedModel([Turn(error=Failure(429, retry_after=100_000)), Turn(error=Failure()), "Done."])
    config = LoopConfig(retry_wait=0)
    result = await run_loop(headway.open(memory=True), "Go.", model=model, tools=[], config=config)
    assert (result.text, result.reason) == ("Done.", "finished")
    with pytest.raises(headway.HeadwayError, match="`retry_wait` must be a number from 0 to 3600, not -1"):
        LoopConfig(retry_wait=-1)
