"""Messages that every provider accepts, whatever was cut from a conversation, and whatever a model answered."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import httpx2
import pytest
from hypothesis import example, given, settings
from pydantic_ai.exceptions import ModelAPIError
from pydantic_ai.messages import (
    BinaryContent,
    CachePoint,
    FilePart,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    NativeToolCallPart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.settings import ModelSettings
from tests.support.counts import some

from headway.agent.repair import (
    CUT_OFF,
    INVALID_NAME,
    NO_ANSWER,
    NO_OUTPUT,
    UNFINISHED,
    SentCall,
    repair_answer,
    repair_messages,
)

from .histories import (
    BAD_NAMES,
    BLANK,
    BROKEN,
    HALF,
    answers,
    call,
    cut,
    damaged,
    pieces,
    result,
    retry,
    said,
    thought,
    user,
    whole,
)


def wrong(messages: Sequence[ModelMessage]) -> list[str]:
    """What a provider would refuse, found without the code that repairs."""
    faults: list[str] = []
    kinds = [part.part_kind for message in before_answers(messages) for part in message.parts]
    if any(isinstance(message, ModelResponse) for message in messages) and "user-prompt" not in kinds:
        faults += [] if "retry-prompt" in kinds else ["the user does not begin"]
    expected: list[tuple[str, str]] = []
    ids: Counter[str] = Counter()
    for at, message in enumerate(messages):
        if not message.parts:
            faults.append(f"{at}: nothing")
        if isinstance(message, ModelResponse):
            faults += [f"{at}: no result for {name}" for name, _ in expected]
            expected = [(part.tool_call_id, part.tool_name) for part in calls_of(message)]
            ids.update(id for id, _ in expected)
            faults += [f"{at}: {fault}" for fault in wrong_in_answer(message)]
            continue
        given = [(one.tool_call_id, one.tool_name) for one in results_of(message)]
        if given != expected or len(results_of(ModelRequest(message.parts[: len(given)]))) < len(given):
            faults.append(f"{at}: results {given} instead of {expected}")
        expected = []
        faults += [f"{at}: blank" for part in message.parts if is_blank(part)]
    faults += [f"twice: {id!r}" for id, count in ids.items() if count > 1 or not id.strip()]
    return faults + [f"no result for {id}" for id, _ in expected]


def before_answers(messages: Sequence[ModelMessage]) -> list[ModelRequest]:
    first = next((at for at, message in enumerate(messages) if isinstance(message, ModelResponse)), len(messages))
    return [message for message in messages[:first] if isinstance(message, ModelRequest)]


def wrong_in_answer(answer: ModelResponse) -> list[str]:
    faults = (
        ["blank text"] if any(isinstance(part, TextPart) and not part.content.strip() for part in answer.parts) else []
    )
    kinds = [part.part_kind for part in answer.parts if not part.part_kind.startswith("builtin")]
    if kinds[-1:] == ["thinking"] or any(isinstance(part, ThinkingPart) for part in answer.parts[-1:]):
        faults.append("a thought at the end")
    for one in calls_of(answer):
        if not re.fullmatch("[a-zA-Z0-9_-]{1,64}", one.tool_name):
            faults.append(f"name {one.tool_name}")
        if isinstance(one.args, str) and one.args and not isinstance(json.loads(one.args), dict):
            faults.append(f"arguments {one.args}")
    return faults


def is_blank(part: ModelRequestPart) -> bool:
    if isinstance(part, UserPromptPart):
        content = [part.content] if isinstance(part.content, str) else part.content
        blank = any(isinstance(item, str) and not item.strip() for item in content)
        return blank or all(isinstance(item, CachePoint) for item in content)
    return isinstance(part, ToolReturnPart) and isinstance(part.content, str) and not part.content.strip()


def calls_of(message: ModelMessage) -> list[ToolCallPart]:
    return [part for part in message.parts if isinstance(part, ToolCallPart)]


def results_of(message: ModelMessage) -> list[Any]:
    named = [part for part in message.parts if getattr(part, "tool_name", None) is not None]
    return named if isinstance(message, ModelRequest) else []


def identities(messages: Sequence[ModelMessage]) -> list[int]:
    return [id(message) for message in messages]


def inside(messages: Sequence[ModelMessage]) -> list[list[dict[str, Any]]]:
    return [[dict(vars(part)) for part in message.parts] for message in messages]


@given(damaged)
def test_a_damaged_history_becomes_one_that_providers_accept(messages: list[ModelMessage]) -> None:
    before = inside(messages)
    repaired = repair_messages(messages)
    assert wrong(repaired) == []
    assert inside(messages) == before  # nothing that was given is changed


@given(damaged)
def test_repairing_twice_changes_nothing(messages: list[ModelMessage]) -> None:
    repaired = repair_messages(messages)
    assert identities(repair_messages(repaired)) == identities(repaired)


@given(damaged)
def test_the_same_history_is_repaired_in_the_same_way(messages: list[ModelMessage]) -> None:
    assert repair_messages(messages) == repair_messages(messages)


@given(whole())
def test_a_whole_history_stays_as_it_is(messages: list[ModelMessage]) -> None:
    assert wrong(messages) == []
    assert identities(repair_messages(messages)) == identities(messages)


@given(damaged)
def test_what_was_said_stays_and_in_its_order(messages: list[ModelMessage]) -> None:
    def texts(messages: Sequence[ModelMessage]) -> list[str]:
        parts = [part for message in messages for part in message.parts if isinstance(part, TextPart | UserPromptPart)]
        spoken = [part.content for part in parts if isinstance(part.content, str)]
        return [text for text in spoken if text.strip() and text not in (CUT_OFF, NO_ANSWER)]

    assert texts(repair_messages(messages)) == [text.replace(HALF, "\ufffd") for text in texts(messages)]


@given(cut())
def test_results_stay_with_their_calls_wherever_a_history_is_cut(messages: list[ModelMessage]) -> None:
    there = {part.tool_call_id for message in messages for part in message.parts if isinstance(part, ToolReturnPart)}
    for message in repair_messages(messages):
        for part in message.parts:
            if isinstance(part, ToolReturnPart):
                id = part.tool_call_id
                assert part.content == (f"result of {id}" if id in there else UNFINISHED)


@given(whole())
def test_a_history_in_pieces_loses_no_result_of_its_last_call(messages: list[ModelMessage]) -> None:
    repaired = repair_messages(pieces(messages))
    assert wrong(repaired) == []
    texts = [part.content for message in repaired for part in message.parts if isinstance(part, ToolReturnPart)]
    last = [calls_of(message)[-1].tool_call_id for message in messages if calls_of(message)]
    assert [text for text in texts if text != UNFINISHED] == [f"result of {id}" for id in last]


@pytest.mark.parametrize("args", BROKEN)
def test_a_call_with_unreadable_arguments_goes_and_takes_its_result_with_it(args: str) -> None:
    repaired = repair_messages(
        [user("Hi"), said("I look.", call("a", args=args), call("b")), user(result("a"), result("b"))]
    )
    assert repaired == [user("Hi"), said("I look.", call("b")), user(result("b"))]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_call_whose_name_no_provider_takes_goes_and_takes_its_result_with_it(name: str) -> None:
    repaired = repair_messages([user("Hi"), said("I look.", call("a", name)), user(result("a", name=name), "On")])
    assert repaired == [user("Hi"), said("I look."), user("On")]


@pytest.mark.parametrize("id", ["", " ", HALF])
def test_a_call_without_an_id_goes_and_takes_its_result_with_it(id: str) -> None:
    repaired = repair_messages([user("Hi"), said(call(id)), user(result(id))])
    assert repaired == [user("Hi"), said(NO_ANSWER)]


@pytest.mark.parametrize("args", [None, "", "{}", {}, '{"a": 1, "a": 2}', ' {"a": 1}\n', '\ufeff{"a": 1}'])
def test_arguments_that_can_be_read_stay(args: str | dict[str, object] | None) -> None:
    messages = [user("Hi"), said(call("a", args=args)), user(result("a"))]
    assert identities(repair_messages(messages)) == identities(messages)


def test_a_call_without_a_result_gets_one_that_blames_nobody() -> None:
    *_, last = repair_messages([user("Hi"), said(call("a"), call("b")), user("Go on", result("b"))])
    first, *others = last.parts
    assert isinstance(first, ToolReturnPart)
    assert (first.tool_call_id, first.content, first.outcome) == ("a", UNFINISHED, "interrupted")
    assert others == user(result("b"), "Go on").parts
    assert not re.search("user|person|cancel|abort|stopped", UNFINISHED)


def test_a_history_that_ends_with_calls_ends_with_their_results() -> None:
    *_, last = repair_messages([user("Hi"), said(call("a"))])
    assert [part.tool_call_id for part in results_of(last)] == ["a"]


def test_results_from_all_requests_up_to_the_next_answer_come_first() -> None:
    calls = said(call("a"), call("b"))
    repaired = repair_messages(
        [user("Hi"), calls, user("Wait"), user(result("b"), "more"), user(result("a"), result("b", "again"))]
    )
    assert repaired == [user("Hi"), calls, user(result("a"), result("b"), "Wait"), user("more")]


def test_a_result_that_comes_after_another_answer_is_dropped() -> None:
    repaired = repair_messages([user("Hi"), said(call("a")), said("Done."), user(result("a"), "Go on")])
    assert [len(message.parts) for message in repaired] == [1, 1, 1, 1, 1]
    assert [part.content for message in repaired for part in message.parts if isinstance(part, ToolReturnPart)] == [
        UNFINISHED
    ]


def test_a_result_without_a_call_goes_and_so_does_a_request_without_parts() -> None:
    history = [
        user(result("z")),
        user("Hi"),
        said("Hello."),
        user(result("z"), retry("y")),
        ModelRequest([]),
        user("On"),
    ]
    assert repair_messages(history) == [user("Hi"), said("Hello."), user("On")]


def test_of_an_id_used_twice_each_call_keeps_its_own_result() -> None:
    first = [user("Hi"), said(call("a"), call("a", args="{}")), user(result("a", "one"), result("a", "two"))]
    repaired = repair_messages([*first, said(call("a")), user(result("a", "three"))])
    assert wrong(repaired) == []
    assert [one.content for message in repaired for one in results_of(message)] == [
        "one",
        "two",
        "three",
    ]
    ids = [one.tool_call_id for message in repaired for one in calls_of(message)]
    assert ids[0] == "a"
    assert all(re.fullmatch("call_[0-9a-f]{32}", id) for id in ids[1:])


def test_a_new_id_is_none_that_the_history_has() -> None:
    repeated = [user("Hi"), *[said(call("a")), user(result("a"))] * 2]
    once = repair_messages(repeated)
    again = repair_messages([*once, *once[3:], *repeated])
    assert wrong(again) == []
    assert [one.content for message in again for one in results_of(message)] == ["result of a"] * 5


def test_a_result_never_passes_to_a_call_that_only_shares_the_id() -> None:
    repaired = repair_messages([user("Hi"), said(call("a", args="{"), call("a")), user(result("a", "of the first"))])
    assert [part.content for part in results_of(repaired[-1])] == [UNFINISHED]


def test_a_request_to_try_again_counts_as_the_result_of_its_call() -> None:
    messages = [user("Hi"), said(call("a")), user(retry("a"), retry("x", None))]
    assert identities(repair_messages(messages)) == identities(messages)


def test_a_request_to_try_again_goes_with_the_new_id_of_its_call() -> None:
    *_, last = repair_messages([user("Hi"), said(call("a"), call("a")), user(result("a"), retry("a"))])
    second = last.parts[1]
    assert isinstance(second, ToolReturnPart)
    assert second.outcome == "retried"
    assert "wrong" in str(second.content)


def test_a_result_is_named_as_its_call_is_and_is_not_empty() -> None:
    repaired = repair_messages([user("Hi"), said(call("a"), call("b")), user(result("a", " "), result("b", name="x"))])
    assert repaired[-1] == user(result("a", NO_OUTPUT), result("b"))


@pytest.mark.parametrize(
    "answer",
    [
        said(),
        said(*BLANK),
        said(thought("anthropic")),
        said(" ", ThinkingPart("")),
        said(call("", args="{"), thought("x")),
    ],
)
def test_an_answer_with_nothing_in_it_stays_as_text(answer: ModelResponse) -> None:
    assert repair_messages([user("Hi"), answer, user("Go on")]) == [user("Hi"), said(NO_ANSWER), user("Go on")]


def test_a_thought_stays_where_something_follows_it() -> None:
    thinking = thought("anthropic")
    repaired = repair_messages([user("Hi"), said(thinking, " ", call("a"), thinking), user(result("a"))])
    assert repaired == [user("Hi"), said(thinking, call("a")), user(result("a"))]


def test_a_thought_before_something_that_is_not_always_sent_is_followed_by_text() -> None:
    native = NativeToolCallPart("web_search", {"query": "x"}, "srv", provider_name="anthropic")
    answer = said(thought("anthropic"), native)
    assert repair_messages([user("Hi"), answer])[-1] == said(thought("anthropic"), native, NO_ANSWER)


def test_what_a_provider_ran_itself_is_left_alone() -> None:
    native = NativeToolCallPart("two words", "{", "", provider_name="x")
    messages = [user("Hi"), said(native), user("Go on")]
    assert identities(repair_messages(messages)) == identities(messages)


def test_what_a_model_drew_is_no_empty_answer() -> None:
    messages = [user("Draw"), said(FilePart(BinaryContent(b"x", media_type="image/png"))), user("Thanks")]
    assert identities(repair_messages(messages)) == identities(messages)


@pytest.mark.parametrize("first", [[], [user(SystemPromptPart("Be brief."))], [user(result("z"))], [user(" ")]])
def test_a_history_that_begins_with_an_answer_gets_a_beginning(first: list[ModelMessage]) -> None:
    repaired = repair_messages([*first, said("Hello."), user("Hi")])
    assert wrong(repaired) == []
    assert repaired[-3].parts == user(CUT_OFF).parts
    assert repaired[-2:] == [said("Hello."), user("Hi")]


@pytest.mark.parametrize("messages", [[], [user()], [user(result("a"))]])
def test_of_nothing_nothing_is_made(messages: list[ModelMessage]) -> None:
    assert repair_messages(messages) == []


def test_a_character_that_a_stream_cut_in_two_is_put_together() -> None:
    repaired = repair_messages(
        [user("Hi"), said("\ud83d\ude00", call("a", args='{"a": "\ud83d\ude00"}')), user(result("a"))]
    )
    assert repaired[1] == said("😀", call("a", args='{"a": "😀"}'))


def faults_of(sent: list[SentCall]) -> dict[str, str]:
    return {one.id: one.fault for one in sent if one.fault is not None}


@given(answers)
def test_any_answer_is_made_one_that_can_be_appended(answer: ModelResponse) -> None:
    before = inside([answer])
    made, sent = repair_answer(answer, {"c", "d"})
    faults = faults_of(sent)
    ids = [one.tool_call_id for one in calls_of(made)]
    results = [result(one.tool_call_id, faults.get(one.tool_call_id), one.tool_name) for one in calls_of(made)]
    history = [user("Hi"), made, user(*results, "On")]
    assert identities(repair_messages(history)) == identities(history)
    assert wrong(history) == []
    assert len(ids) == len(calls_of(answer))
    assert not {"c", "d"} & set(ids)
    assert faults.keys() <= set(ids)
    assert inside([answer]) == before


@given(whole())
def test_a_sound_answer_is_the_same_object(messages: list[ModelMessage]) -> None:
    for message in messages:
        if isinstance(message, ModelResponse):
            made, sent = repair_answer(message, frozenset())
            faults = faults_of(sent)
            assert made is message
            assert faults == {}


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        ('{"path": "a', "unterminated string starting at"),
        ("[1]", "expected object, received array"),
        ('"{}"', "expected object, received string"),
        ('{"a": NaN}', "NaN is not a JSON value"),
        ('{"a":' * 99_999, "it is nested too deeply"),
    ],
)
def test_unreadable_arguments_are_a_fault_that_says_why(args: str, reason: str) -> None:
    made, sent = repair_answer(said("I look.", call("a", args=args)), set())
    faults = faults_of(sent)
    assert made == said("I look.", call("a", args={}))
    assert f"not a valid JSON object ({reason}" in faults["a"]
    assert args[:100] in faults["a"]


def test_a_fault_shows_only_the_beginning_and_nothing_that_a_terminal_obeys() -> None:
    _, sent = repair_answer(said(call("a", args='{"\x1b[31m\n' + "x" * 5_000_000)), set())
    faults = faults_of(sent)
    assert len(faults["a"]) < 500
    assert faults["a"].isprintable()


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_name_that_cannot_be_sent_is_a_fault_that_shows_it(name: str) -> None:
    made, sent = repair_answer(said(call("a", name)), set())
    faults = faults_of(sent)
    assert made == said(call("a", INVALID_NAME, {}))
    assert (repr(name[:59])[:-1] if name else "does not name a tool") in faults["a"]


def test_an_id_that_is_missing_or_used_is_replaced() -> None:
    made, sent = repair_answer(said(call("a"), call(""), call("b"), call("a", args="{")), {"b"})
    faults = faults_of(sent)
    first, *others = [one.tool_call_id for one in calls_of(made)]
    assert first == "a"
    assert len(set(others)) == 3
    assert all(re.fullmatch("call_[0-9a-f]{32}", id) for id in others)
    assert list(faults) == [others[2]]


def test_long_arguments_stay_the_same_object() -> None:
    args = json.dumps({"content": "ä" * 5_000_000}, ensure_ascii=False)
    answer = said(call("a", args=args))
    made, sent = repair_answer(answer, set())
    faults = faults_of(sent)
    assert made is answer
    assert faults == {}


def test_an_answer_of_nothing_is_appended_as_text() -> None:
    assert repair_answer(said(ThinkingPart("hm")), set()) == (said(NO_ANSWER), [])
    assert repair_answer(said("Done.", call("a", args=" ")), set()) == (
        said("Done.", call("a", args={})),
        [SentCall("a", "bash", {})],
    )


class Wire:
    """What each provider would be sent. Its models reach no network."""

    def __init__(self) -> None:
        self._body: Any = None
        client = httpx2.AsyncClient(transport=httpx2.MockTransport(self._receive))
        openai = OpenAIProvider(api_key="k", http_client=client)
        self.chat = OpenAIChatModel("gpt-5", provider=openai)
        self.responses = OpenAIResponsesModel("gpt-5", provider=openai)
        provider = AnthropicProvider(api_key="k", http_client=client)
        self.anthropic = AnthropicModel("claude-sonnet-5", provider=provider)

    def _receive(self, request: httpx2.Request) -> httpx2.Response:
        self._body = json.loads(request.content)
        return httpx2.Response(500, json={})

    def sent(self, model: Model, messages: Sequence[ModelMessage]) -> list[dict[str, Any]]:
        self._body = None
        with pytest.raises(ModelAPIError):
            asyncio.run(model.request([*messages], ModelSettings(max_retries=0), ModelRequestParameters()))
        return self._body["input" if model is self.responses else "messages"]


@pytest.fixture(scope="module")
def wire() -> Wire:
    return Wire()


BROKEN_OFF = [said("Hello", call("a")), user("And?"), said(thought("openai"), call("a"), call("a")), user(result("a"))]


@settings(max_examples=some(30, 2))
@given(messages=damaged)
@example(messages=BROKEN_OFF)
def test_openai_is_sent_every_result_right_after_its_call(wire: Wire, messages: list[ModelMessage]) -> None:
    expected: list[str] = []
    for message in wire.sent(wire.chat, [*repair_messages(messages), user("On")]):
        if message["role"] == "tool":
            assert message["tool_call_id"] == expected.pop(0)
            assert message["content"].strip()
            continue
        assert not expected
        calls = message.get("tool_calls", [])
        expected = [one["id"] for one in calls]
        assert calls or message["content"]
        assert all(isinstance(json.loads(one["function"]["arguments"]), dict) for one in calls)
        assert "INVALID_JSON" not in str(calls)
    assert not expected


@settings(max_examples=some(30, 2))
@given(messages=damaged)
@example(messages=BROKEN_OFF)
def test_openais_other_protocol_is_sent_each_call_once_and_its_result(wire: Wire, messages: list[ModelMessage]) -> None:
    items = wire.sent(wire.responses, [*repair_messages(messages), user("On")])
    calls = [item["call_id"] for item in items if item.get("type") == "function_call"]
    assert len(set(calls)) == len(calls)
    assert [item["call_id"] for item in items if item.get("type") == "function_call_output"] == calls
    for item, after in pairwise(items):
        if item.get("type") == "reasoning":
            assert after.get("type") in ("reasoning", "function_call") or after.get("role") == "assistant"
        if item.get("type") == "function_call" and after.get("type") != "function_call_output":
            assert after.get("type") in ("function_call", "reasoning") or after.get("role") == "assistant"


@settings(max_examples=some(30, 2))
@given(messages=damaged)
@example(messages=BROKEN_OFF)
def test_anthropic_is_sent_every_result_first_in_the_next_message(wire: Wire, messages: list[ModelMessage]) -> None:
    sent = wire.sent(wire.anthropic, [*repair_messages(messages), user("On")])
    assert sent[0]["role"] == "user"
    expected: list[str] = []
    ids: list[str] = []
    for message in sent:
        blocks: list[dict[str, Any]] = message["content"]
        assert blocks
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        assert results == expected  # which the answer before has asked for
        assert not results or message["role"] == "user"
        assert all(block["type"] == "tool_result" for block in blocks[: len(results)])
        expected = [block["id"] for block in blocks if block["type"] == "tool_use"]
        ids += expected
        assert blocks[-1]["type"] != "thinking"
        inner = [part for block in blocks if block["type"] == "tool_result" for part in block["content"]]
        assert all(part["text"].strip() for part in [*blocks, *inner] if part["type"] == "text")
    assert not expected
    assert len(set(ids)) == len(ids)
