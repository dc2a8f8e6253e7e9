"""How the tests ask a model, and what they make of its failure."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic_ai.messages import ModelRequest, ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings

from headway.agent import explain, resolve_model
from headway.core.errors import ModelError

from .loopback import Loopback

LOCAL = ("openai", "ollama", "vllm", "llamacpp", "compatible")
EVERY = (*LOCAL, "anthropic", "google")


def made(provider: str, url: str, environ: Mapping[str, str] | None = None, name: str = "m") -> Model:
    """A model of that provider at this address."""
    variables = {"OPENAI_API_KEY": "key-o", "ANTHROPIC_API_KEY": "key-a", "GOOGLE_API_KEY": "key-g", **(environ or {})}
    if provider in LOCAL:
        return resolve_model(f"{provider}:{name}", base_url=url, environ=variables)
    bare = url.removesuffix("/v1")
    variables |= {"ANTHROPIC_BASE_URL": bare, "GOOGLE_GEMINI_BASE_URL": bare}
    return resolve_model(f"{provider}:{name}", environ=variables)


async def ask(model: Model, *, streamed: bool, timeout: float = 30) -> ModelResponse:
    messages = [ModelRequest.user_text_prompt("Hello")]
    settings = ModelSettings(max_retries=0, timeout=timeout)
    async with model:
        if not streamed:
            return await model.request([*messages], settings, ModelRequestParameters())
        async with model.request_stream([*messages], settings, ModelRequestParameters()) as response:
            async for _ in response:
                pass
        return response.get()


async def failure(model: Model, *, streamed: bool, timeout: float = 30) -> ModelError:
    """The failure of a request, explained."""
    try:
        answer = await ask(model, streamed=streamed, timeout=timeout)
    except Exception as error:
        return explain(error, model)
    raise AssertionError(f"it answered: {answer}")


async def failure_at(loopback: Loopback, provider: str, *, streamed: bool, timeout: float = 30) -> ModelError:
    return await failure(made(provider, loopback.url), streamed=streamed, timeout=timeout)
