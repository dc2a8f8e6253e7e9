"""How much fits is asked of the server where Headway does not know it, set where someone says so, and else assumed."""

from __future__ import annotations

import json
from typing import Any

import pytest

import headway
from headway.agent import LoopConfig, RunResult, resolve_model, run_loop
from headway.agent.server_windows import ASSUMED, ASSUMED_OF_SERVERS, ask_for_window, assumed_window
from headway.core.run_events import ConversationCompacted
from headway.testing import ScriptedModel
from headway.tools import tool

from .looping import facts
from .provider_servers import Answer, Json, ProviderServer, chat, provider_server, streamed

SHOW: Json = {"model_info": {"general.architecture": "qwen3", "qwen3.context_length": 40_960}}
SET: Json = {**SHOW, "parameters": 'temperature 0.6\nnum_ctx                        16384\nstop "<|im_end|>"'}
LOADED: Json = {"models": [{"name": "n:latest", "context_length": 9}, {"name": "m:latest", "context_length": 4_096}]}
LISTED: Json = {"data": [{"id": "other", "max_model_len": 9}, {"id": "m", "max_model_len": 24_000}]}
PROPS: Json = {"default_generation_settings": {"n_ctx": 8_192, "params": {}}}


@pytest.mark.parametrize(
    ("provider", "about", "window"),
    [
        ("ollama", {"/api/show": SHOW}, 40_960),
        ("ollama", {"/api/show": SET}, 16_384),
        ("ollama", {"/api/show": SHOW, "/api/ps": LOADED}, 4_096),
        ("ollama", {"/api/show": SHOW, "/api/ps": {"models": []}}, 40_960),
        ("vllm", {"/v1/models": LISTED}, 24_000),
        ("llamacpp", {"/props": PROPS}, 8_192),
        ("compatible", {"/v1/models": LISTED, "/props": PROPS}, 24_000),
        ("compatible", {"/v1/models": {"data": [{"id": "m"}]}, "/props": PROPS}, 8_192),
        ("compatible", {"/api/show": SHOW}, 40_960),
        ("openai", {"/v1/models": LISTED}, 24_000),
        ("vllm", {"/v1/models": {"data": [{"id": "other", "max_model_len": 9}]}}, None),
        ("vllm", {"/v1/models": {"data": "?"}}, None),
        ("llamacpp", {"/props": {"default_generation_settings": {"n_ctx": "many"}}}, None),
        ("ollama", {"/api/show": {"model_info": None, "parameters": 3}}, None),
        ("compatible", {}, None),
    ],
)
async def test_a_server_says_how_much_fits(provider: str, about: dict[str, Json], window: int | None) -> None:
    with provider_server() as server:
        server.about = about
        model = resolve_model(f"{provider}:m", base_url=server.url, environ={"OPENAI_API_KEY": "k"})
        assert await ask_for_window(model) == window


async def test_no_server_is_asked_about_a_providers_own_models() -> None:
    for name in ("openai:gpt-4o", "anthropic:claude-sonnet-5", "google:gemini-2.5-pro"):
        keys = {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k", "GOOGLE_API_KEY": "k"}
        assert await ask_for_window(resolve_model(name, environ=keys)) is None
    assert await ask_for_window(ScriptedModel([])) is None


async def test_a_server_that_is_not_there_says_nothing() -> None:
    assert await ask_for_window(resolve_model("vllm:m", base_url="http://127.0.0.1:9/v1", environ={})) is None


def test_what_nobody_says_is_assumed_modestly() -> None:
    assert assumed_window(resolve_model("vllm:m", environ={})) == ASSUMED_OF_SERVERS
    assert assumed_window(resolve_model("openai:gpt-99", environ={"OPENAI_API_KEY": "k"})) == ASSUMED
    assert assumed_window(ScriptedModel([])) is None


async def long_run(
    session: headway.Session, about: dict[str, Json], size: int = 6_000, **config: Any
) -> tuple[RunResult, ProviderServer]:
    """A run in which so much is read in each of eight rounds, on a vLLM server."""

    @tool(effect="read")
    def read(number: int) -> str:
        """Read much."""
        return f"{number}: " + "word " * (size // 5)

    def answer(body: Json) -> Answer:
        number, tokens = len(server.bodies), len(json.dumps(body)) // 4
        call = ("read", json.dumps({"number": number}))
        more = chat("", call, "tool_calls", prompt_tokens=tokens)
        return streamed(more if number < 9 else chat("Done.", prompt_tokens=tokens))

    with provider_server(answer) as server:
        server.about = about
        model = resolve_model("vllm:m", base_url=server.url, environ={})
        settings = LoopConfig(instructions="Work.", **config)
        result = await run_loop(session, "Read.", model=model, tools=[read], config=settings)
    return result, server


def listed(window: int) -> dict[str, Json]:
    return {"/v1/models": {"data": [{"id": "m", "max_model_len": window}]}}


async def test_a_run_keeps_within_what_its_server_says(session: headway.Session) -> None:
    result, server = await long_run(session, listed(12_000))
    assert (result.error, result.text) == (None, "Done.")
    assert facts(session, ConversationCompacted) != []
    assert server.asked == ["/v1/models"]


async def test_a_window_that_is_set_counts_and_nobody_is_asked(session: headway.Session) -> None:
    result, server = await long_run(session, listed(12_000), context_window=500_000)
    assert (result.error, facts(session, ConversationCompacted), server.asked) == (None, [], [])


async def test_an_assumed_window_is_no_reason_to_refuse_a_request(session: headway.Session) -> None:
    result, _ = await long_run(session, {}, size=ASSUMED_OF_SERVERS * 5)
    assert (result.error, result.text) == (None, "Done.")
