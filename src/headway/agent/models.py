"""From a model's name to a model that can be asked, and what is known about it.

The model is pydantic-ai's, and imported only when one is made. Its connections belong to one event loop: ask it inside
`async with model:`, which closes them at the end and makes new ones when it is entered again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from headway.agent.providers import ModelChoice, parse_model_name
from headway.agent.server_windows import is_own_server

if TYPE_CHECKING:
    from pydantic_ai.models import Model
    from pydantic_ai.usage import RequestUsage

_NO_KEY = "none"
"""The libraries insist on a key; a server that wants none ignores it."""


def resolve_model(
    model: str | Model, *, base_url: str | None = None, environ: Mapping[str, str] | None = None
) -> Model:
    """Return the model that a `provider:name` stands for; a model passes through. Nothing is sent.

    `base_url` is for OpenAI and the servers that speak its protocol. Raises `ModelNotReady` when a key, a package or an
    address is missing.
    """
    if not isinstance(model, str):
        return model
    choice = parse_model_name(model, base_url, environ)
    if choice.provider.name == "scripted":
        from headway.testing import ScriptedModel

        return ScriptedModel.from_file(choice.name)
    import pydantic_ai

    # The library's greeting on stderr would land in the middle of what Headway draws.
    pydantic_ai.BANNER_ENABLED = False
    match choice.provider.name:
        case "anthropic":
            return _make_anthropic(choice)
        case "google":
            return _make_google(choice)
        case "openai" if not choice.is_elsewhere:
            return _make_openai(choice)
        case _:
            return _make_compatible(choice)


def turn_off_client_retries(model: Model) -> bool:
    """Has the provider's library not ask again by itself. False where only the settings of a request can say that."""
    client: object = getattr(model, "client", None)
    if not hasattr(client, "max_retries"):
        return False
    client.max_retries = 0  # pyright: ignore[reportAttributeAccessIssue, reportOptionalMemberAccess]
    return True


def context_window(model: Model) -> int | None:
    """Return how many tokens fit into a request and its answer together, where that is known without asking anyone."""
    return None if is_own_server(model) else model.context_window


def price(model: Model, usage: RequestUsage) -> float | None:
    """Return what a request cost in US dollars by the provider's public prices, where they are known. Asks no one."""
    if usage.cost is not None:
        return float(usage.cost)
    if model.system == "openai" and is_own_server(model):
        return None
    if model.system == "scripted":  # it asks no one
        return 0.0
    from pydantic_ai.messages import ModelResponse

    answered = ModelResponse(
        parts=[], model_name=model.model_name, provider_name=model.system, provider_url=model.base_url, usage=usage
    )
    try:
        return float(answered.cost().total_price)
    except (LookupError, ValueError):
        return None


def _make_anthropic(choice: ModelChoice) -> Model:
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    return AnthropicModel(choice.name, provider=AnthropicProvider(api_key=choice.key, base_url=choice.url))


def _make_google(choice: ModelChoice) -> Model:
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google import GoogleProvider

    return GoogleModel(choice.name, provider=GoogleProvider(api_key=choice.key, base_url=choice.url))


def _make_openai(choice: ModelChoice) -> Model:
    from pydantic_ai.models import infer_model
    from pydantic_ai.providers.openai import OpenAIProvider

    from headway.agent.openai_bodies import skip_message_walk

    provider = OpenAIProvider(api_key=choice.key, base_url=choice.url)
    skip_message_walk(provider.client)
    return infer_model(f"openai:{choice.name}", lambda _: provider)


def _make_compatible(choice: ModelChoice) -> Model:
    """Return a model on a server with OpenAI's protocol, of which such servers have the Chat part."""
    from pydantic_ai.models.ollama import OllamaModel
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.ollama import OllamaProvider
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider
    from pydantic_ai.providers.vllm import VLLMProvider

    from headway.agent.openai_bodies import skip_message_walk

    name, url, key = choice.name, choice.url or "", choice.key or _NO_KEY
    match choice.provider.name:
        case "openai":
            provider = OpenAIProvider(base_url=url, api_key=key)
            skip_message_walk(provider.client)
            return OpenAIChatModel(name, provider=provider)
        case "ollama":
            provider = OllamaProvider(base_url=url, api_key=key)
            model = OllamaModel(name, provider=provider)
        case "vllm":
            provider = VLLMProvider(base_url=url, api_key=key)
            model = OpenAIChatModel(name, provider=provider)
        case other:
            provider = OpenAICompatibleProvider(other, base_url=url, api_key=key)
            model = OpenAIChatModel(name, provider=provider)
    # The client reads OPENAI_ORG_ID and OPENAI_PROJECT_ID, which are no business of another server. Not None: then it
    # would read them again.
    provider.client.organization = provider.client.project = ""
    skip_message_walk(provider.client)
    return model
