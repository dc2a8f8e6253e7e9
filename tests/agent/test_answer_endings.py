"""However a provider ends an answer, the run ends for the right reason: streamed over HTTP in four formats."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support import processes
from tests.support.tables import check_rows

import headway
from headway.agent import LoopConfig, RunResult, run_loop
from headway.agent import model_requests as requests
from headway.agent.conversation import Conversation
from headway.core.run_events import RunError, ToolFinished, Usage
from headway.testing import Call, ScriptedModel, Turn
from headway.tools import Approvals, tool

from .looping import facts, look, results, texts
from .provider_servers import (
    FORMATS,
    MAKERS,
    Answer,
    Events,
    Format,
    ProviderServer,
    anthropic,
    chat,
    google,
    provider_server,
    responses,
    streamed,
)

every_format = pytest.mark.parametrize("format", FORMATS)
LENGTH: dict[Format, str] = {
    "chat": "length",
    "responses": "max_output_tokens",
    "anthropic": "max_tokens",
    "google": "MAX_TOKENS",
}

CALLS: dict[Format, str | None] = {"chat": "tool_calls", "responses": None, "anthropic": "tool_use", "google": "STOP"}


@pytest.fixture(autouse=True)
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "_FIRST_WAIT", 0.0)


@pytest.fixture
def server() -> Iterator[ProviderServer]:
    with provider_server() as server:
        yield server


@tool(effect="write")
def save(text: str) -> str:
    """Save a text."""
    return f"saved {len(text)} characters"


async def run(session: headway.Session, server: ProviderServer, format: Format, **config: Any) -> RunResult:
    return await ask(session, server.model(format), **config)


async def ask(session: headway.Session, model: Any, task: str = "Do it.", **config: Any) -> RunResult:
    settings = LoopConfig(instructions="Work.", max_nudges=0, retries=2, **config)
    approvals = Approvals(mode="yolo")
    return await run_loop(session, task, model=model, tools=[look, save], config=settings, approvals=approvals)


WELL: list[tuple[Format, str | None]] = [
    ("chat", "stop"),
    ("chat", "tool_calls"),
    ("chat", "function_call"),
    ("chat", "eos"),
    ("responses", None),
    ("anthropic", "end_turn"),
    ("anthropic", "stop_sequence"),
    ("anthropic", "tool_use"),
    ("anthropic", "compaction"),
    ("google", "STOP"),
    ("google", "OTHER"),
    ("google", "FINISH_REASON_UNSPECIFIED"),
]


@pytest.mark.parametrize(("format", "end"), WELL)
async def test_an_answer_that_ends_well_is_the_runs(
    session: headway.Session, server: ProviderServer, format: Format, end: str | None
) -> None:
    server.answers = [streamed(MAKERS[format]("All is well.", end=end))]
    result = await run(session, server, format)
    assert (result.error, result.reason, result.text, len(server.bodies)) == (None, "finished", "All is well.", 1)


@every_format
async def test_an_answer_that_ends_with_calls_has_them_run(
    session: headway.Session, server: ProviderServer, format: Format
) -> None:
    make = MAKERS[format]
    server.answers = [streamed(make("", ("save", '{"text": "ok"}'), CALLS[format])), streamed(make("Done."))]
    result = await run(session, server, format)
    assert (result.error, result.text) == (None, "Done.")
    assert [call.text for call in facts(session, ToolFinished)] == ["saved 2 characters"]


CUT: list[tuple[Format, str]] = [
    *LENGTH.items(),
    ("chat", "model_length"),
    ("anthropic", "model_context_window_exceeded"),
    ("anthropic", "pause_turn"),
    ("google", "CONTINUATION"),
]


@pytest.mark.parametrize(("format", "end"), CUT)
async def test_a_text_that_is_cut_off_is_completed_once(
    session: headway.Session, server: ProviderServer, format: Format, end: str
) -> None:
    make = MAKERS[format]
    server.answers = [streamed(make("The parser is ", end=end)), streamed(make("too short."))]
    result = await run(session, server, format)
    assert (result.error, result.reason, result.rounds) == (None, "finished", 2)
    assert result.text == "The parser is too short."
    asked = texts(Conversation.load(session).messages)
    assert asked[1:] == [
        "model: The parser is ",
        "user: (Your answer was cut off at the limit of 5 output tokens. Continue exactly where it stopped, and repeat "
        "nothing.)",
        "model: too short.",
    ]


@every_format
async def test_a_text_that_is_cut_off_again_is_reported_as_cut(
    session: headway.Session, server: ProviderServer, format: Format
) -> None:
    make = MAKERS[format]
    server.answers = [streamed(make(text, end=LENGTH[format])) for text in ("One, ", "two, ")]
    result = await run(session, server, format)
    assert (result.reason, result.text, len(server.bodies)) == ("error", "One, two,", 2)
    assert "was cut off at the limit of 5 output tokens and could not be completed" in str(result.error)


async def test_a_text_that_is_cut_off_in_the_last_round_is_reported_too(
    session: headway.Session, server: ProviderServer
) -> None:
    server.answers = [streamed(chat("One, ", end="length"))]
    result = await run(session, server, "chat", max_rounds=1)
    assert (result.reason, result.text) == ("error", "One,")


async def test_each_answer_that_is_cut_off_is_completed(session: headway.Session, server: ProviderServer) -> None:
    cut, whole = streamed(chat("One, ", end="length")), streamed(chat("two.", ("look", "{}"), "tool_calls"))
    server.answers = [cut, whole, cut, streamed(chat("two."))]
    result = await run(session, server, "chat")
    assert (result.error, result.text, result.rounds) == (None, "One, two.", 4)


async def test_an_answer_that_is_cut_off_while_the_model_thinks_is_asked_for_with_less_thought(
    session: headway.Session, server: ProviderServer
) -> None:
    server.answers = [streamed(anthropic(thinking="Hm …", end="max_tokens")), streamed(anthropic("Yes."))]
    result = await run(session, server, "anthropic")
    assert (result.error, result.text) == (None, "Yes.")
    assert "before its first word. Think less" in json.dumps(server.bodies[1]["messages"][-1])


@pytest.mark.parametrize("format", ["chat", "responses", "anthropic"])
@pytest.mark.parametrize("arguments", ["", '{"text": "the first li'])
async def test_a_call_that_is_cut_off_is_explained_and_not_run(
    session: headway.Session, server: ProviderServer, format: Format, arguments: str
) -> None:
    make = MAKERS[format]
    server.answers = [streamed(make("Here:", ("save", arguments), LENGTH[format])), streamed(make("I see."))]
    result = await run(session, server, format)
    assert (result.error, result.text) == (None, "I see.")
    [call] = facts(session, ToolFinished)
    assert not call.ok
    assert call.text == (
        "This call was cut off at the limit of 5 output tokens, so it was not run. Send it in smaller pieces: for "
        "example, write a long file in several calls, each with a part of it."
    )


async def test_of_an_answer_that_is_cut_off_the_whole_calls_are_run(session: headway.Session) -> None:
    whole, cut = Call("save", {"text": "one"}), Call("save", '{"text": "two')
    model = ScriptedModel([Turn(calls=[whole, cut], finish_reason="length"), "Done."])
    await ask(session, model)
    assert [text.split(" at ")[0] for text in results(model.requests[1])] == [
        "saved 3 characters",
        "This call was cut off",
    ]


async def test_a_limit_that_is_set_is_raised_to_the_models_own_when_a_call_is_cut_off(
    session: headway.Session, server: ProviderServer
) -> None:
    server.answers = [streamed(anthropic("", ("save", '{"te'), "max_tokens")), streamed(anthropic("I see."))]
    await run(session, server, "anthropic", reply_tokens=500)
    assert [body["max_tokens"] for body in server.bodies] == [500, 128_000]
    assert "limit of 500 output tokens" in facts(session, ToolFinished)[0].text


async def test_without_a_limit_anthropics_models_may_say_all_that_they_can(
    session: headway.Session, server: ProviderServer
) -> None:
    server.answers = [streamed(anthropic("Yes."))]
    await run(session, server, "anthropic")
    assert server.bodies[0]["max_tokens"] == 128_000


@pytest.mark.parametrize(("reply_tokens", "sent"), [(None, [12_000, 12_000]), (300, [300, 12_000])])
async def test_a_limit_in_the_settings_of_a_model_stays(
    session: headway.Session, server: ProviderServer, reply_tokens: int | None, sent: list[int]
) -> None:
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    server.answers = [streamed(anthropic("", ("save", '{"te'), "max_tokens")), streamed(anthropic("I see."))]
    provider = AnthropicProvider(api_key="k", base_url=server.url.removesuffix("/v1"))
    model = AnthropicModel("claude-sonnet-5", provider=provider, settings={"max_tokens": 12_000})
    await ask(session, model, reply_tokens=reply_tokens)
    assert [body["max_tokens"] for body in server.bodies] == sent


FAILING: list[tuple[Format, Events, str, int]] = [
    ("chat", chat("Half", end="content_filter"), "A content filter of", 1),
    ("chat", chat("", end="stop", refusal="I must not."), "refused to answer (I must not)", 1),
    ("chat", chat("Half", end="sensitive"), "A content filter of", 1),
    ("chat", chat("Half", end="insufficient_system_resource"), "ended its answer with an error (insuff", 3),
    ("responses", responses("Half", end="content_filter"), "A content filter of", 1),
    ("responses", responses(refusal="I must not."), "refused to answer (I must not)", 1),
    ("responses", responses("Half", status="failed"), "ended its answer with an error (failed)", 3),
    ("anthropic", anthropic("Half", end="refusal"), "refused to answer; rephrase the request", 1),
    ("anthropic", anthropic("", ("save", '{"text": "x"}'), "refusal"), "refused to answer", 1),
    ("google", google("", end="SAFETY"), "A content filter of", 1),
    ("google", google("Half", end="RECITATION"), "A content filter of", 1),
    ("google", google("", end="BLOCKLIST"), "A content filter of", 1),
    ("google", google("", end="PROHIBITED_CONTENT"), "A content filter of", 1),
    ("google", google("", end="SPII"), "A content filter of", 1),
    ("google", google(block="SAFETY"), "A content filter of Google stopped the answer (SAFETY)", 1),
    ("google", google("", end="MALFORMED_FUNCTION_CALL"), "ended its answer with an error (MALFORMED_FUNC", 3),
    ("google", google("", end="UNEXPECTED_TOOL_CALL"), "ended its answer with an error (UNEXP", 3),
    ("google", google("", end="LANGUAGE"), "ended its answer with an error (LANGUAGE)", 3),
    *((format, MAKERS[format](""), "gave an empty answer twice", 2) for format in FORMATS),
]


@pytest.mark.parametrize(
    ("format", "events", "sentence", "times"), FAILING, ids=[f"{row[0]}-{at}" for at, row in enumerate(FAILING)]
)
async def test_an_answer_that_ends_badly_ends_the_run_with_a_sentence(
    session: headway.Session, server: ProviderServer, format: Format, events: Events, sentence: str, times: int
) -> None:
    server.answers = [streamed(events)]
    result = await run(session, server, format)
    assert result.reason == "error"
    assert sentence in str(result.error)
    assert len(server.bodies) == times
    assert len(facts(session, Usage)) == times, "what was answered was paid for"
    assert facts(session, ToolFinished) == []
    assert [text for text in texts(Conversation.load(session).messages) if text.startswith("model: ")] == []


@every_format
async def test_an_answer_that_failed_may_be_whole_the_next_time(
    session: headway.Session, server: ProviderServer, format: Format
) -> None:
    bad = {
        "chat": chat("Half", end="error"),
        "responses": responses("Half", status="failed"),
        "anthropic": anthropic(""),
        "google": google("", end="MALFORMED_FUNCTION_CALL"),
    }
    server.answers = [streamed(bad[format]), streamed(MAKERS[format]("Whole."))]
    result = await run(session, server, format)
    assert (result.error, result.text) == (None, "Whole.")


def broken(format: Format) -> dict[str, Answer]:
    """Streams that are empty, malformed, or end before the answer does."""
    whole = MAKERS[format]("Half an answer")
    some = whole[0] if len(whole) > 1 else b""
    unended = {"chat": 3, "responses": 1, "anthropic": 1, "google": 1}[format]
    return {
        "nothing": Answer(b""),
        "only comments": Answer(b": ping\n\n: ping\n\n"),
        "a web page": Answer(b"<html>Bad gateway</html>", content_type="text/html"),
        "not JSON": Answer(b"data: {{{\n\n"),
        "not JSON later": Answer(some + b'data: {"candidates": [tru\n\n'),
        "null": Answer(some + b"event: message_start\ndata: null\n\n"),
        "a list": Answer(some + b"data: [1]\n\n"),
        "an empty object": Answer(b"data: {}\n\n"),
        "no UTF-8": Answer(some + b'data: {"a": "\xff"}\n\n'),
        "no end": streamed(whole, without_end=unended),
        "half a line": Answer(some + whole[-1][:20]),
        "a dropped connection": streamed(whole, without_end=unended, drops=True),
    }


@pytest.mark.parametrize("kind", broken("chat"))
@every_format
async def test_a_broken_stream_is_asked_for_again_and_no_setting_is_blamed(
    session: headway.Session, server: ProviderServer, format: Format, kind: str
) -> None:
    make = MAKERS[format]
    good = streamed(make("Working.", ("look", "{}"), CALLS[format]))
    bad = broken(format)[kind]
    server.answers = [good, bad, bad, streamed(make("Whole."))]
    result = await run(session, server, format)
    assert (result.error, result.text, len(server.bodies)) == (None, "Whole.", 4)
    errors = [error.message for error in facts(session, RunError)]
    assert len(errors) == 2
    for message in errors:
        assert "does not speak" not in message
        assert "BASE_URL" not in message
        assert "base_url" not in message


@every_format
async def test_a_stream_that_stays_broken_ends_the_run(
    session: headway.Session, server: ProviderServer, format: Format
) -> None:
    server.answers = [broken(format)["nothing"]]
    result = await run(session, server, format)
    assert (result.reason, len(server.bodies)) == ("error", 3)


async def test_a_server_that_ends_while_it_is_used_is_asked_again(session: headway.Session) -> None:
    """It is not to be started or set anywhere: it may be starting again."""
    with provider_server(streamed(chat("", ("look", "{}"), "tool_calls"))) as server:
        model = server.model("chat")

        @tool(effect="read")
        def look() -> str:
            """Have the server end."""
            return "seen"

        original = server.answers[0]
        assert isinstance(original, Answer)
        server.answers = [original, Answer(b"", drops=True)]
        result = await run_loop(
            session, "Go.", model=model, tools=[look], config=LoopConfig(instructions="Work.", retries=1)
        )
    assert result.reason == "error"
    assert "was lost before the answer was complete" in str(result.error)


# The Responses API is only spoken by a model that a program passes.
MODELS: dict[Format, str] = {
    "chat": "compatible:m",
    "anthropic": "anthropic:claude-sonnet-5",
    "google": "google:gemini-2.5-pro",
}


@pytest.mark.parametrize("format", MODELS)
def test_the_exit_code_says_how_it_ended(server: ProviderServer, tmp_path: Path, format: Format) -> None:
    bare = server.url.removesuffix("/v1")
    env = {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": bare, "GOOGLE_API_KEY": "k", "GOOGLE_GEMINI_BASE_URL": bare}
    if format == "chat":
        env = {"HEADWAY_BASE_URL": server.url}

    def ends(events: Events, code: int) -> None:
        server.answers, server.bodies = [streamed(events)], []
        words = ["run", "Do it.", "--project", str(tmp_path), "--model", MODELS[format], "--retries", "0", "--new"]
        done = processes.run(*words, env=env)
        assert server.bodies, done.err
        assert done.code == code, done.err

    well = [(MAKERS[format]("All is well.", end=end), 0) for kind, end in WELL if kind == format]
    cut = [(MAKERS[format]("Half", end=end), 1) for kind, end in CUT if kind == format]
    check_rows([*well, *cut, *((events, 1) for kind, events, _, _ in FAILING if kind == format)], ends)
