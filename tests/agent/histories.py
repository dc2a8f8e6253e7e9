"""Conversations for the tests of repair: whole ones, ones that were cut, and ones of parts thrown together."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import strategies as st
from pydantic_ai.messages import (
    BinaryContent,
    CachePoint,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    NativeToolCallPart,
    NativeToolReturnPart,
    RetryPromptPart,  # pyright: ignore[reportDeprecated]
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

AT = datetime(2026, 1, 2, tzinfo=UTC)
BLANK = ["", " ", "\n\n"]
BROKEN = ['{"path": "a', "[1]", '"text"', "null", "{'a': 1}", '{"a": NaN}', "}{", "7"]
BAD_NAMES = ["", "two words", "n" * 65, "bash<|channel|>", "läsen", "a.b"]
HALF = "\ud83d"
"""Half of a character, as a stream gives it that was cut between its two."""


def call(id: str, name: str = "bash", args: str | dict[str, object] | None = '{"command": "ls"}') -> ToolCallPart:
    return ToolCallPart(name, args, id)


def result(id: str, content: str | None = None, name: str = "bash") -> ToolReturnPart:
    return ToolReturnPart(name, f"result of {id}" if content is None else content, id, timestamp=AT)


def retry(id: str, name: str | None = "bash") -> ModelRequestPart:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return RetryPromptPart("wrong", tool_name=name, tool_call_id=id, timestamp=AT)  # pyright: ignore[reportDeprecated]


def user(*content: str | ModelRequestPart) -> ModelRequest:
    """A request with these parts; texts are the user's."""
    return ModelRequest([UserPromptPart(part, timestamp=AT) if isinstance(part, str) else part for part in content])


def said(*content: str | ModelResponsePart) -> ModelResponse:
    return ModelResponse([TextPart(part) if isinstance(part, str) else part for part in content], timestamp=AT)


def thought(provider: str, content: str = "I think") -> ThinkingPart:
    """A thought that this provider knows for its own."""
    return ThinkingPart(content, id=f"rs_{content[:3].strip()}", signature="signed", provider_name=provider)


_thoughts = st.sampled_from([thought("anthropic"), thought("openai"), ThinkingPart("so"), ThinkingPart("")])
_texts = st.sampled_from(["I look.", "Done.", "ä😀", *BLANK, HALF]).map(TextPart)
_native = st.sampled_from(
    [
        NativeToolCallPart("web_search", {"query": "x"}, "srv_1", provider_name="anthropic"),
        NativeToolReturnPart("web_search", [], "srv_1", provider_name="anthropic"),
    ]
)
_ids = st.sampled_from(["a", "b", "c", "d", "call_1", "", " ", "functions.bash:0", HALF])
_names = st.sampled_from(["bash", "bash", "bash", "read_file", "n" * 64, *BAD_NAMES])
_args = st.sampled_from(
    [None, "", "{}", {}, {"command": "ls"}, '{"command": "ls"}', f'{{"a": "{HALF}"}}', " ", *BROKEN]
)
_calls = st.builds(call, _ids, _names, _args)
_results = st.one_of(
    st.builds(result, _ids, st.sampled_from(["out", "ok", *BLANK]), _names),
    st.builds(retry, _ids, _names),
)
_prompts = st.sampled_from(
    [
        "Hello",
        *BLANK,
        ["Look", " ", BinaryContent(b"x", media_type="image/png")],
        ["", CachePoint()],
        ["Look", CachePoint()],
    ]
).map(lambda content: UserPromptPart(content, timestamp=AT))
_others = st.sampled_from([SystemPromptPart("Be brief.", timestamp=AT), retry("a", None)])

_answers = st.builds(
    ModelResponse,
    st.lists(st.one_of(_calls, _calls, _texts, _thoughts, _native), max_size=5),
    provider_name=st.sampled_from([None, "anthropic", "openai"]),
    timestamp=st.just(AT),
)
_requests = st.builds(ModelRequest, st.lists(st.one_of(_results, _results, _prompts, _others), max_size=5))

answers: st.SearchStrategy[ModelResponse] = _answers
thrown_together: st.SearchStrategy[list[ModelMessage]] = st.lists(st.one_of(_answers, _requests), max_size=10)


@st.composite
def whole(draw: st.DrawFn, max_turns: int = 6) -> list[ModelMessage]:
    """A conversation as a loop leaves it."""
    messages: list[ModelMessage] = [user(SystemPromptPart("Be brief.", timestamp=AT), "Begin.")]
    count = 0
    for turn in range(draw(st.integers(0, max_turns))):
        provider = draw(st.sampled_from(["anthropic", "openai"]))
        names = draw(st.lists(st.sampled_from(["bash", "read_file"]), max_size=4))
        calls = [call(f"call-{count + at}", name, draw(_whole_args)) for at, name in enumerate(names)]
        count += len(calls)
        before = [thought(provider, f"{turn} thought")] if draw(st.booleans()) else []
        text = [TextPart(f"answer {turn}")] if not calls or draw(st.booleans()) else []
        messages.append(replace(said(*before, *text, *calls), provider_name=provider))
        prompt = f"prompt {turn}"
        results = [result(one.tool_call_id, name=one.tool_name) for one in calls]
        match draw(st.sampled_from(["results", "one", "two"])):
            case "results" if results:
                messages.append(user(*results))
            case "two" if results:
                messages += [user(*results), user(prompt)]
            case _:
                messages.append(user(*results, prompt))
    return messages


_whole_args = st.one_of(
    st.sampled_from([None, "", "{}"]), st.dictionaries(st.text("abä😀", max_size=3), st.integers()).map(json.dumps)
)


def pieces(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """The conversation with each part in a message of its own."""
    return [replace(message, parts=[part]) for message in messages for part in message.parts]


@st.composite
def cut(draw: st.DrawFn) -> list[ModelMessage]:
    """A conversation of which parts at the beginning and at the end are gone, and of the rest a few."""
    messages = draw(whole())
    left: list[ModelMessage] = []
    total = sum(len(message.parts) for message in messages)
    first, last = sorted((draw(st.integers(0, total)), draw(st.integers(0, total))))
    gone = draw(st.sets(st.integers(0, total), max_size=2))
    at = 0
    for message in messages:
        numbered = [(at + number, part) for number, part in enumerate(message.parts) if first <= at + number < last]
        at += len(message.parts)
        if numbered:
            left.append(replace(message, parts=[part for number, part in numbered if number not in gone]))
    return left


@st.composite
def in_disorder(draw: st.DrawFn) -> list[ModelMessage]:
    """A conversation with messages moved, and some of them twice."""
    messages = draw(whole(max_turns=3))
    if draw(st.booleans()):
        messages = pieces(messages)
    return draw(st.lists(st.sampled_from(messages), max_size=len(messages) + 3))


damaged: st.SearchStrategy[list[ModelMessage]] = st.one_of(thrown_together, cut(), in_disorder())
