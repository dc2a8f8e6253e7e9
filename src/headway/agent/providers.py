"""The providers a model can come from, as a table, and what a model's name means by it.

Imports no provider's library: whether one is there is looked up, not tried. `models.py` makes the model.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from urllib.parse import urlsplit

from headway.core.errors import ModelNotReady
from headway.core.secrets import HIDDEN
from headway.core.text import sanitize_for_display


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    name: str
    """What stands before the colon of a model's name."""
    label: str
    """What people call it, in sentences."""
    package: str | None = None
    """The module its library is imported as."""
    extra: str | None = None
    """What `pip install 'headway[…]'` needs for it."""
    keys: tuple[str, ...] = ()
    """Environment variables that can hold its key; the first that is set counts."""
    needs_key: bool = False
    url: str | None = None
    """Where it is when nothing else is said."""
    url_variable: str | None = None
    """The environment variable that says where it is."""
    takes_base_url: bool = True
    """Whether the setting `base_url` is meant for it."""
    start: str | None = None
    """How its server is started, where that is the user's to do; NAME stands for the model."""


PROVIDERS: Mapping[str, Provider] = {
    row.name: row
    for row in (
        Provider(
            name="openai",
            label="OpenAI",
            package="openai",
            extra="openai",
            keys=("OPENAI_API_KEY",),
            needs_key=True,
            url="https://api.openai.com/v1",
            url_variable="OPENAI_BASE_URL",
        ),
        Provider(
            name="anthropic",
            label="Anthropic",
            package="anthropic",
            extra="anthropic",
            keys=("ANTHROPIC_API_KEY",),
            needs_key=True,
            url="https://api.anthropic.com",
            url_variable="ANTHROPIC_BASE_URL",
            takes_base_url=False,
        ),
        Provider(
            name="google",
            label="Google",
            package="google.genai",
            extra="google",
            keys=("GOOGLE_API_KEY", "GEMINI_API_KEY"),
            needs_key=True,
            url="https://generativelanguage.googleapis.com",
            url_variable="GOOGLE_GEMINI_BASE_URL",
            takes_base_url=False,
        ),
        Provider(
            name="ollama",
            label="Ollama",
            package="openai",
            extra="openai",
            keys=("OLLAMA_API_KEY",),
            url="http://localhost:11434/v1",
            url_variable="OLLAMA_BASE_URL",
            start="ollama serve",
        ),
        Provider(
            name="vllm",
            label="vLLM",
            package="openai",
            extra="openai",
            keys=("VLLM_API_KEY",),
            url="http://localhost:8000/v1",
            url_variable="VLLM_BASE_URL",
            start="vllm serve NAME",
        ),
        Provider(
            name="llamacpp",
            label="llama.cpp",
            package="openai",
            extra="openai",
            keys=("LLAMACPP_API_KEY",),
            url="http://localhost:8080/v1",
            url_variable="LLAMACPP_BASE_URL",
            start="llama-server -m FILE.gguf",
        ),
        # A key for OpenAI must not reach a server that is not OpenAI's: only a key given for this purpose is sent.
        Provider(
            name="compatible",
            label="the compatible server",
            package="openai",
            extra="openai",
            keys=("HEADWAY_API_KEY",),
        ),
        Provider(name="scripted", label="the scripted model", takes_base_url=False),
    )
}


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A model's name, understood: all that is needed to make the model."""

    provider: Provider
    name: str
    url: str | None
    key: str | None = field(repr=False)

    @property
    def is_elsewhere(self) -> bool:
        """Whether it is asked at another address than the provider's own."""
        return is_elsewhere(self.provider, self.url)


def parse_model_name(model: str, base_url: str | None = None, environ: Mapping[str, str] | None = None) -> ModelChoice:
    """Return what a model's name stands for. Raises `ModelNotReady` when something is missing for it."""
    environ = os.environ if environ is None else environ
    provider, name = _split_model_name(model)
    if provider.name == "scripted":
        if not os.path.isfile(name):
            raise ModelNotReady(
                f"There is no script '{sanitize_for_display(name, 200)}'; name a JSON file as scripted:FILE.json."
            )
        return ModelChoice(provider, name, None, None)
    url = _find_address(provider, base_url, environ)
    if provider.package and not _is_installed(provider.package):
        package = provider.package.replace("google.genai", "google-genai")
        raise ModelNotReady(f"The package '{package}' is not installed; run pip install 'headway[{provider.extra}]'.")
    key = next((value for variable in provider.keys if (value := environ.get(variable, "").strip())), None)
    if key is None and provider.needs_key and not (provider.takes_base_url and is_elsewhere(provider, url)):
        raise ModelNotReady(
            f"No API key for {provider.label}; set {' or '.join(provider.keys)}, or choose another model."
        ).with_advice("choose_model")
    return ModelChoice(provider, name, url, key)


def readiness(model: str, base_url: str | None = None, environ: Mapping[str, str] | None = None) -> str | None:
    """Return a sentence on what keeps the model from being used, if anything. Loads no library, sends nothing."""
    try:
        parse_model_name(model, base_url, environ)
    except ModelNotReady as error:
        return str(error)
    return None


def is_elsewhere(provider: Provider, url: str | None) -> bool:
    """Return whether the address is not the one the provider itself has."""
    if provider.url is None or url is None:
        return True
    own = urlsplit(provider.url).hostname
    return not f".{urlsplit(url).hostname}".endswith(f".{own}")


def format_url(url: str) -> str:
    """The address as it may stand in a message: without the name and password it may have, and without a last slash."""
    before, at, after = url.rpartition("@")
    if at:
        url = f"{before.partition('://')[0]}://{HIDDEN}@{after}"
    return sanitize_for_display(url.rstrip("/"), 200)


_MEANT = {
    "gpt-oss": "ollama",
    "gpt": "openai",
    "claude": "anthropic",
    "gemini": "google",
    "llama.cpp": "llamacpp",
    "llama-cpp": "llamacpp",
}
"""What people call a provider, or its models, and who provides them."""


def _guess_provider(name: str) -> str | None:
    """Return the provider that is probably meant by a name that none has."""
    from difflib import get_close_matches

    known = next((provider for part, provider in _MEANT.items() if name.lower().startswith(part)), None)
    return known or next(iter(get_close_matches(name.lower(), PROVIDERS, n=1, cutoff=0.65)), None)


def _split_model_name(model: str) -> tuple[Provider, str]:
    before, colon, after = (part.strip() for part in model.partition(":"))
    names = ", ".join(PROVIDERS)
    if not colon:
        raise ModelNotReady(
            f"The model '{sanitize_for_display(model)}' has no provider; write provider:name, for example "
            f"{_format_example(model.strip())}; the providers are {names}."
        )
    if before not in PROVIDERS:
        near = _guess_provider(before)
        meant = f"did you mean '{near}'? The" if near else "the"
        raise ModelNotReady(
            f"There is no provider named '{sanitize_for_display(before)}'; {meant} providers are {names}."
        )
    if not after:
        raise ModelNotReady(
            f"The model '{sanitize_for_display(model)}' has no name; write it after the colon, as in {before}:NAME."
        )
    return PROVIDERS[before], after


def _format_example(name: str) -> str:
    """Return how a name without a provider is written with one."""
    before, slash, after = name.partition("/")
    if slash and before in PROVIDERS:
        return f"{before}:{sanitize_for_display(after) or 'NAME'}"
    return (
        f"{_guess_provider(name) or 'openai'}:{'NAME' if not name or name in PROVIDERS else sanitize_for_display(name)}"
    )


def _find_address(provider: Provider, base_url: str | None, environ: Mapping[str, str]) -> str | None:
    """Return the setting, else the provider's variable, else where the provider usually is."""
    given = (base_url or "").strip()
    if given and not provider.takes_base_url:
        raise ModelNotReady(
            f"The setting base_url does not apply to {provider.label}; remove it, or set {provider.url_variable} "
            "instead."
        )
    source = "base_url"
    if not given and provider.url_variable:
        given = environ.get(provider.url_variable, "").strip()
        source = provider.url_variable
    if not given:
        if provider.url is None:
            raise ModelNotReady(f"{provider.name}:NAME needs the address of the server; set base_url.").with_advice(
                "set_base_url"
            )
        return provider.url
    if not _is_address(given):
        raise ModelNotReady(
            f"{source} is '{format_url(given)}', which is not a valid address; write it as http://HOST:PORT/v1 or "
            "https://HOST/v1."
        )
    return given


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018  (reading it is what checks it)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and url.isprintable() and " " not in url


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:  # the part before the dot is missing
        return False
