"""What goes along with a run's requests besides the messages: temperature, thinking, the key of OpenAI's cache; and how
long an answer may be, where someone said so or the model is known."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from headway.agent.providers import PROVIDERS, is_elsewhere
from headway.settings.model import Thinking

if TYPE_CHECKING:
    from pydantic_ai.models import Model

    from headway.agent.config import LoopConfig
    from headway.session import Session


def run_settings(model: Model, config: LoopConfig, session: Session) -> dict[str, Any]:
    """Return the settings of all requests of a run. What is not set is left to the model."""
    settings: dict[str, Any] = {}
    if config.temperature is not None:
        settings["temperature"] = config.temperature
    if config.thinking is not None:
        switch = {Thinking.OFF: False, Thinking.ON: True}
        settings["thinking"] = switch.get(Thinking(config.thinking), str(config.thinking))
    openai = PROVIDERS["openai"]
    if model.system == openai.name and not is_elsewhere(openai, model.base_url):  # other servers may refuse it
        settings["openai_prompt_cache_key"] = prompt_cache_key(session)
    return settings


def prompt_cache_key(session: Session) -> str:
    """Return what requests of this session, and of no other, have in common in every process."""
    began = session.store.event(session.name, 1).timestamp
    name = "\n".join([session.name, session.agent_id, began])
    return f"headway-{hashlib.sha256(name.encode(errors='replace')).hexdigest()[:32]}"


def caller_reply_limit(model: Model) -> int | None:
    """Return the tokens that an answer may have by the model's own settings, as whoever made it set them."""
    settings = cast("Mapping[str, object]", model.settings or {})
    limit = settings.get("max_tokens")
    return limit if isinstance(limit, int) else None


def max_reply_tokens(model: Model) -> int | None:
    """Return the tokens that an answer of the model can have, where that is known."""
    most: object = model.profile.get("anthropic_max_output_tokens")
    return most if isinstance(most, int) else None
