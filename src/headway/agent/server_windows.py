"""How much fits into a model on the user's own server, as the server itself says: Ollama, vLLM, llama.cpp, others.

Asked once, when a run begins, and never for long: a server that says nothing costs a moment.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from headway.agent.providers import PROVIDERS, is_elsewhere

if TYPE_CHECKING:
    import httpx2
    from pydantic_ai.models import Model

SECONDS = 2.0
"""How long the server has for all that it is asked."""
ASSUMED_OF_SERVERS = 32_000
"""Tokens that a model on the user's own server is taken to have room for, if nobody says."""
ASSUMED = 128_000
"""Tokens of a large provider's model that Headway does not know yet."""
_NUM_CTX = re.compile(r"^\s*num_ctx\s+(\d{1,9})\s*$", re.MULTILINE)
_Json: TypeAlias = dict[str, Any]


def is_own_server(model: Model) -> bool:
    """Return whether the model runs on a server that the user runs or named, where names say nothing about models."""
    provider = PROVIDERS.get(model.system)
    if provider is None or model.base_url is None or not provider.takes_base_url:
        return False
    return provider.name != "openai" or is_elsewhere(provider, model.base_url)


def assumed_window(model: Model) -> int | None:
    """Return what a model is taken to have room for when nothing is known; None if it is asked over no network."""
    if model.base_url is None:
        return None
    return ASSUMED_OF_SERVERS if is_own_server(model) else ASSUMED


async def ask_for_window(model: Model) -> int | None:
    """Return how many tokens fit into the model, if its server says."""
    import httpx2

    if not is_own_server(model):
        return None
    asks = _ASKS.get(model.system, tuple(question for questions in _ASKS.values() for question in questions))
    root = (model.base_url or "").rstrip("/")
    key = getattr(getattr(model, "client", None), "api_key", None)
    headers = {"authorization": f"Bearer {key}"} if isinstance(key, str) and key else {}
    try:
        async with (
            asyncio.timeout(SECONDS),
            httpx2.AsyncClient(headers=headers, timeout=SECONDS, follow_redirects=False) as client,
        ):
            for method, path, read in asks:
                base = root if path == "/models" else root.removesuffix("/v1")
                body = {"model": model.model_name} if method == "POST" else None
                window = read(await _fetch_json(client, method, f"{base}{path}", body), model.model_name)
                if isinstance(window, int) and not isinstance(window, bool) and window > 0:
                    return window
    except (TimeoutError, httpx2.HTTPError, httpx2.InvalidURL):
        return None
    return None


async def _fetch_json(client: httpx2.AsyncClient, method: str, url: str, body: _Json | None) -> _Json:
    """Return the JSON object at the address; an empty one if there is none."""
    response = await client.request(method, url, json=body)
    try:
        answer: object = response.json() if response.is_success else None
    except ValueError:
        answer = None
    return cast("_Json", answer) if isinstance(answer, dict) else {}


def _read_ollama_window(answer: _Json, name: str) -> object:
    """Return what the model is set to, else the most that it can have."""
    found = _NUM_CTX.search(str(answer.get("parameters") or ""))
    if found:
        return int(found[1])
    about = answer.get("model_info")
    items = cast("_Json", about).items() if isinstance(about, dict) else ()
    return next((value for key, value in items if key.endswith(".context_length")), None)


def _read_ollama_loaded_window(answer: _Json, name: str) -> object:
    """Return the room that Ollama has made for a model that is loaded."""
    return _find_first_field(answer.get("models"), ("name", "model"), {name, f"{name}:latest"}, ("context_length",))


def _read_model_list_window(answer: _Json, name: str) -> object:
    return _find_first_field(answer.get("data"), ("id",), {name}, ("max_model_len", "context_length", "context_window"))


def _read_llama_cpp_window(answer: _Json, name: str) -> object:
    settings = answer.get("default_generation_settings")
    return cast("_Json", settings).get("n_ctx") if isinstance(settings, dict) else None


def _find_first_field(entries: object, keys: tuple[str, ...], names: set[str], fields: tuple[str, ...]) -> object:
    """Return the first of the fields that the entry of one of these names has."""
    for entry in cast("list[object]", entries) if isinstance(entries, list) else ():
        if isinstance(entry, dict) and names & {str(cast("_Json", entry).get(key)) for key in keys}:
            return next((value for field in fields if (value := cast("_Json", entry).get(field))), None)
    return None


_Question: TypeAlias = tuple[str, str, Callable[[_Json, str], object]]
_ASKS: dict[str, tuple[_Question, ...]] = {
    "vllm": (("GET", "/models", _read_model_list_window),),
    "llamacpp": (("GET", "/props", _read_llama_cpp_window),),
    "ollama": (("GET", "/api/ps", _read_ollama_loaded_window), ("POST", "/api/show", _read_ollama_window)),
}
"""What the servers are asked, in this order; one of another kind is asked all of it."""
