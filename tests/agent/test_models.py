"""From a model's name to a model: which one it is, where it asks, with which key; and what is known about it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path

import pytest
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import RequestUsage

from headway.agent import context_window, price, resolve_model
from headway.core.errors import ModelNotReady
from headway.testing import ScriptedModel

from .asking import EVERY, LOCAL, ask, made
from .loopback import Loopback

KEYS = {"OPENAI_API_KEY": "key-o", "ANTHROPIC_API_KEY": "key-a", "GEMINI_API_KEY": "key-g"}
USAGE = RequestUsage(input_tokens=1_000_000, output_tokens=100_000)


@pytest.mark.parametrize(
    ("name", "kind", "system", "url"),
    [
        ("openai:gpt-5", "OpenAIResponsesModel", "openai", "https://api.openai.com/v1/"),
        ("anthropic:claude-sonnet-4-5", "AnthropicModel", "anthropic", "https://api.anthropic.com"),
        ("google:gemini-2.5-pro", "GoogleModel", "google", "https://generativelanguage.googleapis.com/"),
        ("ollama:qwen3:8b", "OllamaModel", "ollama", "http://localhost:11434/v1/"),
        ("vllm:Qwen/Qwen3-8B", "OpenAIChatModel", "vllm", "http://localhost:8000/v1/"),
        ("llamacpp:any", "OpenAIChatModel", "llamacpp", "http://localhost:8080/v1/"),
    ],
)
def test_a_name_gives_the_model_at_its_usual_address(name: str, kind: str, system: str, url: str) -> None:
    model = resolve_model(name, environ=KEYS)
    assert type(model).__name__ == kind
    assert (model.system, model.model_name) == (system, name.partition(":")[2])
    assert str(model.base_url).rstrip("/") == url.rstrip("/")


def test_spaces_around_the_parts_of_a_name_do_not_matter() -> None:
    assert resolve_model(" ollama : qwen3 ", environ={}).model_name == "qwen3"


def test_a_model_passes_through() -> None:
    model = TestModel()
    assert resolve_model(model) is model


def test_a_script_is_a_model(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps(["Hello"]), encoding="utf-8")
    model = resolve_model(f"scripted:{script}", environ={})
    assert isinstance(model, ScriptedModel)
    assert model.model_name == "scripted"


def test_openai_at_another_address_is_asked_by_the_chat_protocol() -> None:
    model = resolve_model("openai:gpt-5", base_url="http://localhost:9/v1", environ=KEYS)
    assert type(model).__name__ == "OpenAIChatModel"


@pytest.mark.parametrize("host", ["api.openai.com", "eu.api.openai.com"])
def test_openais_own_addresses_written_out_are_no_other_address(host: str) -> None:
    model = resolve_model("openai:gpt-5", base_url=f"https://{host}/v1", environ=KEYS)
    assert type(model).__name__ == "OpenAIResponsesModel"
    with pytest.raises(ModelNotReady, match="No API key for OpenAI"):
        resolve_model("openai:gpt-5", base_url=f"https://{host}/v1", environ={})


@pytest.mark.parametrize("host", ["api.openai.com.example", "notapi.openai.com.example", "xapi.openai.com"])
def test_an_address_that_only_looks_like_openais_is_another(host: str) -> None:
    model = resolve_model("openai:gpt-5", base_url=f"https://{host}/v1", environ=KEYS)
    assert type(model).__name__ == "OpenAIChatModel"


@pytest.mark.parametrize("provider", ["openai", "ollama", "vllm", "llamacpp"])
def test_the_setting_comes_before_the_variable_and_the_variable_before_the_usual_address(provider: str) -> None:
    environ = {**KEYS, f"{provider.upper()}_BASE_URL": "http://from-variable:1/v1"}
    by_setting = resolve_model(f"{provider}:m", base_url="http://from-setting:1/v1", environ=environ)
    by_variable = resolve_model(f"{provider}:m", base_url=" ", environ=environ)
    assert str(by_setting.base_url).startswith("http://from-setting:1/v1")
    assert str(by_variable.base_url).startswith("http://from-variable:1/v1")


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize("provider", LOCAL)
async def test_a_compatible_server_answers(loopback: Loopback, provider: str, streamed: bool) -> None:
    answer = await ask(made(provider, loopback.url), streamed=streamed)
    assert answer.text == "Hello you"
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (7, 2)
    assert loopback.paths == ["/v1/chat/completions"]


@pytest.mark.parametrize(
    ("provider", "environ", "sent"),
    [
        ("openai", {}, "key-o"),
        ("ollama", {}, "none"),
        ("ollama", {"OLLAMA_API_KEY": "key-x"}, "key-x"),
        ("vllm", {}, "none"),
        ("vllm", {"VLLM_API_KEY": "key-x"}, "key-x"),
        ("llamacpp", {}, "none"),
        ("llamacpp", {"LLAMACPP_API_KEY": " key-x "}, "key-x"),
        ("compatible", {}, "none"),
        ("compatible", {"HEADWAY_API_KEY": "key-x"}, "key-x"),
    ],
)
async def test_a_server_is_sent_its_own_key_and_openais_only_when_openai_is_meant(
    loopback: Loopback,
    monkeypatch: pytest.MonkeyPatch,
    provider: str,
    environ: Mapping[str, str],
    sent: str,
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_ADMIN_KEY"):
        monkeypatch.setenv(name, "key-of-openai")
    await ask(made(provider, loopback.url, environ), streamed=False)
    headers = loopback.received[0]
    assert headers["Authorization"] == f"Bearer {sent}"
    if provider != "openai":
        assert "key-of-openai" not in str(headers)


async def test_openai_at_another_address_needs_no_key(loopback: Loopback) -> None:
    await ask(resolve_model("openai:m", base_url=loopback.url, environ={}), streamed=True)
    assert loopback.received[0]["Authorization"] == "Bearer none"


@pytest.mark.parametrize("provider", LOCAL)
def test_a_model_is_used_on_one_event_loop_after_another(loopback: Loopback, provider: str) -> None:
    model = made(provider, loopback.url)
    for _ in range(2):
        assert asyncio.run(ask(model, streamed=True)).text == "Hello you"


async def test_inside_one_entering_many_requests_share_the_connections(loopback: Loopback) -> None:
    model = made("vllm", loopback.url)
    async with model:
        answers = await asyncio.gather(*(ask(model, streamed=True) for _ in range(5)))
    assert [answer.text for answer in answers] == ["Hello you"] * 5


@pytest.mark.parametrize("provider", EVERY)
def test_a_model_that_was_never_asked_leaves_nothing_open(provider: str) -> None:
    made(provider, "http://127.0.0.1:9/v1")  # warnings are errors here


def test_the_context_window_is_told_where_it_is_known() -> None:
    assert (context_window(resolve_model("openai:gpt-4o", environ=KEYS)) or 0) >= 128_000
    assert (context_window(resolve_model("anthropic:claude-sonnet-4-5", environ=KEYS)) or 0) >= 200_000
    assert context_window(ScriptedModel([], context_window=1_234)) == 1_234


@pytest.mark.parametrize("provider", LOCAL)
def test_the_context_window_and_price_of_an_own_server_are_not_guessed_from_the_name(provider: str) -> None:
    model = resolve_model(f"{provider}:gpt-4o", base_url="http://localhost:9/v1", environ=KEYS)
    assert context_window(model) is None
    assert price(model, USAGE) is None


def test_the_price_is_told_where_it_is_known() -> None:
    cost = price(resolve_model("openai:gpt-4o", environ=KEYS), USAGE)
    assert isinstance(cost, float)
    assert cost > 0
    assert price(resolve_model("openai:no-such-model", environ=KEYS), USAGE) is None
    assert price(ScriptedModel([]), USAGE) == 0
    assert price(TestModel(), USAGE) is None


def test_a_price_that_the_provider_reported_counts() -> None:
    assert price(TestModel(), RequestUsage(cost=Decimal("0.25"))) == Decimal("0.25")


def test_usage_that_makes_no_sense_has_no_price() -> None:
    odd = RequestUsage(input_tokens=1, cache_read_tokens=100, output_tokens=1)
    assert price(resolve_model("openai:gpt-4o", environ=KEYS), odd) is None


def test_what_is_missing_is_raised_before_anything_is_made() -> None:
    with pytest.raises(ModelNotReady, match="No API key for OpenAI"):
        resolve_model("openai:gpt-5", environ={})
