"""What went wrong with a request to a model, as one sentence that says what to set, start or try.

pydantic-ai sorts the errors of all providers into kinds; here each kind gets its sentence. Raises nothing, decides
nothing: whether a request is sent again is the loop's to say, by the class of the error.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar, cast
from urllib.parse import urlsplit

from headway.agent.providers import PROVIDERS, Provider, format_url
from headway.agent.server_windows import is_own_server
from headway.core.errors import ContextTooLong, ModelBusy, ModelError, ModelNotReady, UserAfterToolRefused
from headway.core.secrets import redact
from headway.core.text import sanitize_for_display

if TYPE_CHECKING:
    from pydantic_ai import exceptions
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import Model

Failure = TypeVar("Failure", bound=ModelError)
_TOO_LONG = ("exceed_context_size", "context size", "context length", "context window")
"""How llama.cpp and others word it that a request is too long; pydantic-ai knows the wording of the large providers."""

_REFUSES_ORDER = re.compile(r"role \W?user\W? after role \W?tool|roles must alternate", re.IGNORECASE)
"""How Mistral, vLLM and chat templates word it that a user message may not follow a tool's result."""
_MALFORMED = (AttributeError, TypeError, LookupError, AssertionError, json.JSONDecodeError)
"""What the providers' libraries raise for an answer of another form than they expect."""


def _or_another(kind: type[Failure], sentence: str, retry_after: float | None = None) -> Failure:
    """Return a failure after which another model may do."""
    error = kind(f"{sentence}, or choose another model.")
    if isinstance(error, ModelBusy):
        error.retry_after = retry_after
    return error.with_advice("choose_model")


def explain(error: BaseException, model: Model, *, has_answered: bool = False) -> ModelError:
    """Return the failure of a request in Headway's words. What is already a `ModelError` stays as it is.

    With `has_answered`, the model has answered in this run, so that no setting is to blame for a broken connection.
    """
    from pydantic_ai import exceptions

    if isinstance(error, ModelError):
        return error
    if isinstance(error, exceptions.FallbackExceptionGroup):
        return explain(error.exceptions[-1], model, has_answered=has_answered)
    asked = _ModelDescription.from_model(model, has_answered=has_answered)
    match error:
        case exceptions.ModelConnectionError():
            return _connection_error(error, asked)
        case exceptions.ModelRequestTimeout() | TimeoutError():
            return _or_another(ModelBusy, f"{asked.subject} did not answer in time; try again")
        case exceptions.ModelAPIError():
            return _provider_error(error, asked)
        case exceptions.ContentFilterError():
            return _or_another(ModelError, f"A content filter of {asked.who} stopped the answer; rephrase the request")
        case exceptions.UnexpectedModelBehavior():
            return _malformed_answer_error(error, asked)
        case _ if isinstance(error, _MALFORMED) and model.base_url is not None:
            return _malformed_answer_error(error, asked)
        case _:
            name = type(error).__name__
            return _or_another(
                ModelError, f"The request to {asked.who} failed ({name}{_format_provider_message(error)}); try again"
            )


@dataclass(frozen=True, slots=True)
class _ModelDescription:
    """Who was asked for what, as the sentences name it."""

    name: str
    provider: Provider | None
    url: str | None
    who: str
    is_own_server: bool
    """Whether it is a server that the user runs or named, and not a provider's own."""
    has_answered: bool

    @classmethod
    def from_model(cls, model: Model, *, has_answered: bool = False) -> _ModelDescription:
        provider = PROVIDERS.get(model.system)
        url = format_url(model.base_url) if model.base_url else None
        own = is_own_server(model)
        who = (
            f"the server at {url}"
            if own
            else provider.label
            if provider
            else sanitize_for_display(model.system or model.model_name)
        )
        return cls(sanitize_for_display(model.model_name, 100), provider, url, who, own, has_answered)

    @property
    def subject(self) -> str:
        """At the beginning of a sentence."""
        return self.who[:1].upper() + self.who[1:]

    @property
    def where_to_set(self) -> str:
        """What the address was, or can be, set with."""
        variable = self.provider.url_variable if self.provider else None
        return variable or "base_url"

    @property
    def keys(self) -> str:
        return " or ".join(self.provider.keys) if self.provider and self.provider.keys else "its key"


def _connection_error(error: exceptions.ModelConnectionError, asked: _ModelDescription) -> ModelError:
    from pydantic_ai.exceptions import ModelTimeoutError

    if error.phase in ("connect", "pool", None) and not error.in_stream:
        if asked.is_own_server and asked.has_answered:
            return _or_another(ModelBusy, f"The server at {asked.url} no longer answers: check that it is running")
        if asked.is_own_server:
            start = asked.provider.start if asked.provider else None
            how = f"start it with '{start.replace('NAME', asked.name)}'" if start else "start it"
            return ModelNotReady(f"No server answers at {asked.url}; {how}, or set {asked.where_to_set}.")
        at = f" at {asked.url}" if asked.url else ""
        return _or_another(ModelBusy, f"{asked.subject} cannot be reached{at}; check the network connection")
    if isinstance(error, ModelTimeoutError):
        return _or_another(ModelBusy, f"{asked.subject} did not answer in time; try again")
    return ModelBusy(f"The connection to {asked.who} was lost before the answer was complete; try again.")


def _provider_error(error: exceptions.ModelAPIError, asked: _ModelDescription) -> ModelError:
    """For what the provider itself said, before or during an answer."""
    from pydantic_ai import exceptions

    said = _format_provider_message(error)
    if _REFUSES_ORDER.search(said):
        return _or_another(
            UserAfterToolRefused, f"{asked.subject} refused the order of the messages{said}: set inject to tool"
        )
    match error:
        case exceptions.ModelAuthenticationError():
            return _refusal_error(error, asked)
        case exceptions.ModelNotFoundError():
            return _not_found_error(error, asked)
        case exceptions.ModelContextWindowExceededError():
            return _too_long_error(asked)
        case exceptions.ModelQuotaExceededError():
            return _or_another(ModelNotReady, f"The account at {asked.who} has no credit left{said}; add credit there")
        case exceptions.ModelRateLimitError():
            when = f"in {error.retry_after:g} seconds" if error.retry_after else "later"
            return ModelBusy(f"{asked.subject} is limiting requests{said}; try again {when}.", error.retry_after)
        case exceptions.ModelUnavailableError() | exceptions.ModelServerError():
            return _or_another(
                ModelBusy, f"{asked.subject} reported a server error{said}; try again later", error.retry_after
            )
        case exceptions.ModelRequestRejectedError():
            if any(words in said.lower() for words in _TOO_LONG):
                return _too_long_error(asked)
            return _or_another(ModelError, f"{asked.subject} rejected the request{said}; change the request")
        case _:
            return _malformed_answer_error(error, asked)


def _refusal_error(error: exceptions.ModelAPIError, asked: _ModelDescription) -> ModelError:
    """What the provider said is left out: it tends to repeat the key."""
    if asked.is_own_server and not (asked.provider and asked.provider.needs_key):
        return ModelNotReady(
            f"{asked.subject} refused the request{_format_status(error)}; set {asked.keys} to its key."
        )
    return _or_another(
        ModelNotReady,
        f"{asked.subject} refused the key{_format_status(error)}; set {asked.keys} "
        f"to a key that is valid for '{asked.name}'",
    )


def _not_found_error(error: exceptions.ModelAPIError, asked: _ModelDescription) -> ModelError:
    no_model = f"{asked.subject} has no model '{asked.name}'"
    if asked.is_own_server and not urlsplit(asked.url or "").path.strip("/"):
        return ModelNotReady(
            f"{no_model}, or the address is wrong (it usually ends in /v1); correct {asked.where_to_set}."
        )
    if asked.provider and asked.provider.name == "ollama":
        return _or_another(ModelNotReady, f"{no_model}; run 'ollama pull {asked.name}'")
    nearest = getattr(error, "suggested_model_id", None)
    choice = f"{nearest} or another model" if nearest else "another model"
    return ModelNotReady(f"{no_model}; choose {choice}.").with_advice("choose_model")


def _too_long_error(asked: _ModelDescription) -> ModelError:
    return _or_another(
        ContextTooLong, f"The conversation does not fit into the context window of '{asked.name}'; start a new session"
    )


def _malformed_answer_error(error: BaseException, asked: _ModelDescription) -> ModelError:
    """For an answer that is empty or malformed: as with a connection that broke off, the next one may be whole."""
    if asked.is_own_server and not asked.has_answered:
        return ModelBusy(
            f"The server at {asked.url} does not speak OpenAI's protocol{_format_provider_message(error)}; "
            f"correct {asked.where_to_set}."
        )
    return _or_another(ModelBusy, f"The answer of {asked.who} is not valid{_format_provider_message(error)}; try again")


# Answers that came, and ended in another way than they should.


def broken_stream_error(model: Model) -> ModelBusy:
    return ModelBusy(
        f"The answer of {_ModelDescription.from_model(model).who} broke off before it was complete; try again."
    )


def failed_answer_error(answer: ModelResponse, model: Model) -> ModelBusy:
    details = answer.provider_details or {}
    reason = f" ({sanitize_for_display(str(details['finish_reason']), 100)})" if details.get("finish_reason") else ""
    return _or_another(
        ModelBusy, f"{_ModelDescription.from_model(model).subject} ended its answer with an error{reason}; try again"
    )


def refused_answer_error(answer: ModelResponse, model: Model) -> ModelError:
    """For an answer that the model refused, or that a filter stopped."""
    asked, details = _ModelDescription.from_model(model), answer.provider_details or {}
    said = details.get("refusal") or details.get("block_reason_message") or details.get("block_reason")
    because = f" ({sanitize_for_display(redact(str(said)).strip().rstrip('.'), 300)})" if said else ""
    if details.get("refusal") or details.get("finish_reason") == "refusal":
        return _or_another(ModelError, f"'{asked.name}' refused to answer{because}; rephrase the request")
    return _or_another(ModelError, f"A content filter of {asked.who} stopped the answer{because}; rephrase the request")


def empty_answer_error(model: Model) -> ModelError:
    name = _ModelDescription.from_model(model).name
    return _or_another(ModelError, f"'{name}' gave an empty answer twice; rephrase the request")


def cut_answer_error(model: Model, limit: int | None) -> ModelError:
    at = f"the limit of {limit:,} output tokens" if limit else "its output limit"
    return ModelError(
        f"The answer of '{_ModelDescription.from_model(model).name}' was cut off "
        f"at {at} and could not be completed; ask for a "
        "shorter answer, or raise reply_tokens if you have set it."
    )


def _format_status(error: BaseException) -> str:
    status = getattr(error, "status_code", None)
    return f" ({status})" if status else ""


def _format_provider_message(error: BaseException) -> str:
    """Return what the provider said, in brackets: without keys and tokens, on one line, at most 300 characters."""
    status = getattr(error, "status_code", None)
    body: object = getattr(error, "body", None)
    text = _find_sentence(body) or ("" if status else str(error))
    said = sanitize_for_display(redact(text[:2_000].strip()).rstrip("."), 300)
    both = ": ".join(part for part in (str(status or ""), said) if part)
    return f" ({both})" if both else ""


def _find_sentence(body: object) -> str:
    """Return the sentence inside the body of an error, wherever the provider puts it."""
    for name in ("error", "message"):
        if isinstance(body, dict) and name in body:
            body = cast("dict[str, object]", body)[name]
    return body if isinstance(body, str) else ""
