"""What is set about the model goes along with every request, as each provider takes it."""

from __future__ import annotations

from typing import Any

import pytest

import headway
from headway.agent import LoopConfig, run_loop
from headway.agent.config import to_loop_config
from headway.core.errors import HeadwayError
from headway.settings.model import Settings

from .provider_servers import MAKERS, Format, Json, provider_server, streamed


async def sent(session: headway.Session, format: Format, name: str = "", **config: Any) -> Json:
    """The only request of a run."""
    with provider_server(streamed(MAKERS[format]("Done."))) as server:
        settings = LoopConfig(instructions="Work.", **config)
        result = await run_loop(session, "Go.", model=server.model(format, name), tools=[], config=settings)
    assert result.error is None
    [body] = server.bodies
    return body


async def test_without_settings_the_models_own_hold(session: headway.Session) -> None:
    body = await sent(session, "chat")
    assert not {"temperature", "max_tokens", "max_completion_tokens", "reasoning_effort", "prompt_cache_key"} & set(
        body
    )


async def test_the_temperature_and_the_length_of_an_answer_are_sent(session: headway.Session) -> None:
    body = await sent(session, "chat", temperature=0.25, reply_tokens=700)
    assert (body["temperature"], body["max_completion_tokens"]) == (0.25, 700)


@pytest.mark.parametrize(
    ("thinking", "effort"), [("minimal", "minimal"), ("low", "low"), ("medium", "medium"), ("high", "high")]
)
async def test_thinking_is_the_effort_of_openais_models(session: headway.Session, thinking: str, effort: str) -> None:
    body = await sent(session, "responses", thinking=thinking)
    assert body["reasoning"]["effort"] == effort


@pytest.mark.parametrize(("thinking", "kind"), [("off", "disabled"), ("on", "adaptive"), ("high", "adaptive")])
async def test_thinking_is_switched_for_anthropics_models(session: headway.Session, thinking: str, kind: str) -> None:
    body = await sent(session, "anthropic", thinking=thinking)
    assert body["thinking"]["type"] == kind


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"temperature": 3}, "`temperature` must be a number from 0 to 2"),
        ({"temperature": float("nan")}, "`temperature` must be a number from 0 to 2"),
        ({"thinking": "much"}, "`thinking` cannot be 'much'; choose from: off, on, minimal"),
        ({"inject": "top"}, "`inject` cannot be 'top'; choose from: tail, tool, system."),
        ({"reply_tokens": 1}, "`reply_tokens` must be a whole number of at least 16"),
    ],
)
def test_what_cannot_be_meant_is_refused(wrong: dict[str, Any], why: str) -> None:
    with pytest.raises(HeadwayError) as error:
        LoopConfig(**wrong)
    assert why in str(error.value)


def test_every_setting_of_the_loop_is_taken_from_the_settings() -> None:
    values: dict[str, Any] = {
        "context_window": 5_000,
        "reply_tokens": 500,
        "temperature": 0.5,
        "thinking": "low",
        "inject": "tool",
        "remind_after": 3,
        "max_nudges": 1,
        "retries": 1,
    }
    config = to_loop_config(Settings(**values))
    assert {name: getattr(config, name) for name in values} == values
