"""Every failure of a provider becomes one sentence that says what to do, and a class that says what kind it is."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
from pydantic_ai import exceptions
from pydantic_ai.models.test import TestModel

from headway.agent import explain, resolve_model
from headway.core.errors import ContextTooLong, ModelBusy, ModelError, ModelNotReady

from .asking import EVERY, LOCAL, failure, failure_at, made
from .loopback import Behaviour, Loopback

both_ways = pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "whole"])
every_provider = pytest.mark.parametrize("provider", EVERY)


@pytest.fixture
def closed() -> Iterator[str]:
    """An address at which no one answers: taken, so that no one else takes it, but not listened at."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}/v1"


def is_one_sentence(error: ModelError) -> bool:
    text = str(error)
    return text[:1].isupper() and text.endswith(".") and "\n" not in text and "; " in text and ".." not in text


@both_ways
@pytest.mark.parametrize(
    ("provider", "what_to_do"),
    [
        ("openai", "start it, or set OPENAI_BASE_URL."),
        ("ollama", "start it with 'ollama serve', or set OLLAMA_BASE_URL."),
        ("vllm", "start it with 'vllm serve m', or set VLLM_BASE_URL."),
        ("llamacpp", "start it with 'llama-server -m FILE.gguf', or set LLAMACPP_BASE_URL."),
        ("compatible", "start it, or set base_url."),
    ],
)
async def test_a_server_that_is_not_there_is_to_be_started(
    closed: str, provider: str, what_to_do: str, streamed: bool
) -> None:
    error = await failure(made(provider, closed), streamed=streamed)
    assert isinstance(error, ModelNotReady)
    assert str(error) == f"No server answers at {closed}; {what_to_do}"


async def test_the_address_of_a_compatible_server_is_corrected_by_a_command(loopback: Loopback) -> None:
    command = "correct base_url."
    loopback.behaviour = "web page"
    assert str(await failure_at(loopback, "compatible", streamed=True)).endswith(command)
    loopback.fail(404)
    model = made("compatible", loopback.url.removesuffix("/v1"))
    assert str(await failure(model, streamed=True)).endswith(command)


@both_ways
@pytest.mark.parametrize(("provider", "label"), [("anthropic", "Anthropic"), ("google", "Google")])
async def test_a_provider_that_cannot_be_reached_may_be_reached_later(
    closed: str, provider: str, label: str, streamed: bool
) -> None:
    error = await failure(made(provider, closed), streamed=streamed)
    assert isinstance(error, ModelBusy)
    assert str(error).startswith(f"{label} cannot be reached at http://127.0.0.1:")
    assert "check the network" in str(error)


@both_ways
@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize(
    ("provider", "variable"),
    [
        ("openai", "OPENAI_API_KEY"),
        ("ollama", "OLLAMA_API_KEY"),
        ("vllm", "VLLM_API_KEY"),
        ("llamacpp", "LLAMACPP_API_KEY"),
        ("compatible", "HEADWAY_API_KEY"),
        ("anthropic", "ANTHROPIC_API_KEY"),
        ("google", "GOOGLE_API_KEY or GEMINI_API_KEY"),
    ],
)
async def test_a_key_that_is_refused_is_named_by_its_variable_and_never_repeated(
    loopback: Loopback, provider: str, variable: str, status: int, streamed: bool
) -> None:
    loopback.fail(status, "Incorrect API key provided: key-o key-a key-g")
    error = await failure_at(loopback, provider, streamed=streamed)
    assert isinstance(error, ModelNotReady)
    assert f"({status}); set {variable} to " in str(error)
    assert "key-" not in str(error)
    assert is_one_sentence(error)


@both_ways
@every_provider
async def test_an_unknown_model_is_named(loopback: Loopback, provider: str, streamed: bool) -> None:
    loopback.fail(404, "no such model")
    error = await failure_at(loopback, provider, streamed=streamed)
    assert isinstance(error, ModelNotReady)
    assert "has no model 'm'; " in str(error)
    assert is_one_sentence(error)


async def test_with_ollama_an_unknown_model_is_to_be_pulled(loopback: Loopback) -> None:
    loopback.fail(404, 'model "qwen3:8b" not found, try pulling it first')
    error = await failure(made("ollama", loopback.url, name="qwen3:8b"), streamed=True)
    assert "run 'ollama pull qwen3:8b'" in str(error)


@both_ways
@pytest.mark.parametrize("provider", LOCAL)
async def test_an_address_without_v1_is_not_changed_but_hinted_at(
    loopback: Loopback, provider: str, streamed: bool
) -> None:
    loopback.fail(404)
    error = await failure(made(provider, loopback.url.removesuffix("/v1")), streamed=streamed)
    assert loopback.paths == ["/chat/completions"]
    assert "usually ends in /v1" in str(error)
    assert is_one_sentence(error)


@both_ways
@every_provider
async def test_a_rate_limit_says_how_long_to_wait(loopback: Loopback, provider: str, streamed: bool) -> None:
    loopback.fail(429, "Too many requests.")
    loopback.headers = {"retry-after": "20"}
    error = await failure_at(loopback, provider, streamed=streamed)
    assert isinstance(error, ModelBusy)
    assert error.retry_after == 20
    assert "(429: Too many requests); try again in 20 seconds." in str(error)


async def test_a_rate_limit_without_a_time_says_later(loopback: Loopback) -> None:
    loopback.fail(429)
    error = await failure_at(loopback, "vllm", streamed=True)
    assert isinstance(error, ModelBusy)
    assert error.retry_after is None
    assert str(error).endswith("try again later.")


@both_ways
async def test_an_exhausted_quota_is_not_a_matter_of_waiting(loopback: Loopback, streamed: bool) -> None:
    loopback.fail(429, "You exceeded your current quota", code="insufficient_quota", type="insufficient_quota")
    error = await failure_at(loopback, "openai", streamed=streamed)
    assert isinstance(error, ModelNotReady)
    assert "no credit left (429: You exceeded your current quota); add credit there" in str(error)


@both_ways
@pytest.mark.parametrize("status", [500, 503])
@every_provider
async def test_trouble_of_the_provider_is_worth_another_try(
    loopback: Loopback, provider: str, status: int, streamed: bool
) -> None:
    loopback.fail(status, "The server is overloaded.")
    error = await failure_at(loopback, provider, streamed=streamed)
    assert isinstance(error, ModelBusy)
    assert f"reported a server error ({status}: The server is overloaded); try again later" in str(error)


@both_ways
@pytest.mark.parametrize(
    ("message", "more"),
    [
        ("This model's maximum context length is 2048 tokens.", {"code": "context_length_exceeded"}),
        ("This model's maximum context length is 2048 tokens.", {}),
        ("request (5031 tokens) exceeds the available context size (2048 tokens), try increasing it", {"code": 400}),
    ],
)
async def test_a_conversation_that_is_too_long_is_told_from_other_faults(
    loopback: Loopback, message: str, more: dict[str, str], streamed: bool
) -> None:
    loopback.fail(400, message, **more)
    error = await failure_at(loopback, "llamacpp", streamed=streamed)
    assert isinstance(error, ContextTooLong)
    assert "context window of 'm'" in str(error)
    assert is_one_sentence(error)


@pytest.mark.parametrize(
    ("provider", "message", "more"),
    [
        ("anthropic", "prompt is too long: 220000 tokens > 200000 maximum", {"type": "invalid_request_error"}),
        (
            "google",
            "The input token count (2000000) exceeds the maximum number of tokens allowed (1048576).",
            {"status": "INVALID_ARGUMENT", "code": 400},
        ),
    ],
)
async def test_the_large_providers_words_for_too_long_are_known(
    loopback: Loopback, provider: str, message: str, more: dict[str, str]
) -> None:
    loopback.fail(400, message, **more)
    assert isinstance(await failure_at(loopback, provider, streamed=True), ContextTooLong)


@both_ways
@every_provider
async def test_a_rejected_request_says_why(loopback: Loopback, provider: str, streamed: bool) -> None:
    loopback.fail(400, "tools are not supported")
    error = await failure_at(loopback, provider, streamed=streamed)
    assert type(error) is ModelError
    assert "rejected the request (400: tools are not supported); " in str(error)
    assert is_one_sentence(error)


@both_ways
@every_provider
@pytest.mark.parametrize("behaviour", ["web page", "no JSON"])
async def test_what_is_no_provider_is_found_out(
    loopback: Loopback, provider: str, behaviour: Behaviour, streamed: bool
) -> None:
    loopback.behaviour = behaviour
    error = await failure_at(loopback, provider, streamed=streamed)
    assert isinstance(error, ModelBusy)
    expected = "does not speak OpenAI's protocol" if provider in LOCAL else "is not valid"
    assert expected in str(error)
    assert is_one_sentence(error)


@both_ways
@every_provider
async def test_a_server_that_hangs_is_not_waited_for_longer_than_set(
    loopback: Loopback, provider: str, streamed: bool
) -> None:
    loopback.behaviour = "hang"
    # The time that is set holds for connecting too, which on a busy machine may take all of it: only a request that has
    # reached the server says something about a server that hangs.
    for timeout in (0.2, 3, 20):
        error = await failure_at(loopback, provider, streamed=streamed, timeout=timeout)
        if loopback.paths:
            break
    else:
        raise AssertionError("the server was never asked")
    assert isinstance(error, ModelBusy)
    assert "did not answer in time; try again" in str(error)


@both_ways
@every_provider
async def test_a_connection_that_closes_is_worth_another_try(loopback: Loopback, provider: str, streamed: bool) -> None:
    loopback.behaviour = "close"
    error = await failure_at(loopback, provider, streamed=streamed)
    assert isinstance(error, ModelBusy)
    assert "was lost before the answer was complete; try again." in str(error)


@pytest.mark.parametrize("provider", LOCAL)
async def test_a_stream_that_breaks_in_the_middle_is_worth_another_try(loopback: Loopback, provider: str) -> None:
    loopback.behaviour = "break off"
    error = await failure_at(loopback, provider, streamed=True)
    assert isinstance(error, ModelBusy)
    assert "was lost before the answer was complete" in str(error)


@pytest.mark.parametrize("provider", LOCAL)
async def test_an_error_inside_a_stream_is_explained_like_one_before_it(loopback: Loopback, provider: str) -> None:
    loopback.behaviour = "error inside"
    error = await failure_at(loopback, provider, streamed=True)
    assert isinstance(error, ModelBusy)
    assert "reported a server error (500: ran out of memory)" in str(error)


@every_provider
async def test_a_long_answer_with_keys_and_escapes_in_it_is_cut_and_cleaned(loopback: Loopback, provider: str) -> None:
    secret = "sk-abcdefghijklmnopqrstuvwxyz0123456789"
    loopback.fail(400, f"bad \x1b[31m\n{secret} " + "x" * 5_000)
    error = await failure_at(loopback, provider, streamed=False)
    assert secret not in str(error)
    assert "\x1b" not in str(error)
    assert len(str(error)) < 500
    assert is_one_sentence(error)


async def test_a_password_in_the_address_is_not_shown(closed: str) -> None:
    model = made("compatible", closed.replace("http://", "http://me:hunter2@"))
    error = await failure(model, streamed=True)
    assert "hunter2" not in str(error)
    assert "127.0.0.1" in str(error)


def test_errors_of_headway_stay_as_they_are() -> None:
    error = ModelNotReady("No key.")
    assert explain(error, TestModel()) is error


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (TimeoutError(), ModelBusy),
        (exceptions.ModelRequestTimeout("m", 3), ModelBusy),
        (exceptions.ContentFilterError("filtered"), ModelError),
        (exceptions.UnexpectedModelBehavior("odd", "body"), ModelBusy),
        (exceptions.UserError("wrong setting"), ModelError),
        (TypeError("'NoneType' object is not iterable"), ModelError),
        (KeyError("choices"), ModelError),
        (
            exceptions.FallbackExceptionGroup("all failed", [exceptions.ModelRateLimitError("m", "slow down")]),
            ModelBusy,
        ),
    ],
)
def test_whatever_else_is_raised_becomes_a_sentence(error: Exception, kind: type[ModelError]) -> None:
    explained = explain(error, TestModel())
    assert type(explained) is kind
    assert is_one_sentence(explained)


@pytest.mark.parametrize(
    "kind",
    [
        exceptions.ModelAuthenticationError,
        exceptions.ModelNotFoundError,
        exceptions.ModelRateLimitError,
        exceptions.ModelServerError,
        exceptions.ModelRequestRejectedError,
        exceptions.ModelConnectionError,
        exceptions.ModelTimeoutError,
    ],
)
def test_a_sentence_begins_with_a_capital_whoever_was_asked(kind: type[exceptions.ModelAPIError]) -> None:
    error = kind("m", "no")
    assert TestModel().system == "test"
    for model in (TestModel(), *(made(provider, "http://127.0.0.1:9/v1") for provider in EVERY)):
        assert is_one_sentence(explain(error, model))


def test_a_model_of_a_provider_unknown_here_is_explained_too() -> None:
    error = exceptions.ModelHTTPError.for_category(
        exceptions.ModelAuthenticationError, status_code=401, model_name="test"
    )
    assert str(explain(error, TestModel())).startswith("Test refused the key (401); ")


async def test_a_near_name_of_the_provider_is_suggested() -> None:
    error = exceptions.ModelHTTPError.for_category(
        exceptions.ModelNotFoundError, status_code=404, model_name="gpt-5o", suggested_model_id="openai:gpt-5"
    )
    model = resolve_model("openai:gpt-5o", environ={"OPENAI_API_KEY": "k"})
    assert str(explain(error, model)).endswith("choose openai:gpt-5 or another model.")
