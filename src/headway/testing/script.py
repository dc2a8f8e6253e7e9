"""What a scripted model is to answer: turns as objects, as dicts and as a JSON file, read with every fault named.

Knows the form of a script and nothing of streaming; `scripted.py` plays it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, cast

from pydantic import BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_ai.messages import FinishReason, ModelMessage, ModelRequest, TextContent, ToolReturnPart, UserPromptPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings

from headway.core.errors import ModelNotReady
from headway.core.json_text import BadJson, parse_json
from headway.core.rules import DuplicateKeys
from headway.core.text import sanitize_for_display
from headway.tools.violations import list_violations

_EXACT = ConfigDict(extra="forbid")
_Tokens = Annotated[int, Field(ge=0)]
_Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
UsageName = Literal["input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"]


@dataclass(frozen=True)
class Call:
    """A call of a tool."""

    __pydantic_config__: ClassVar[ConfigDict] = _EXACT

    name: str
    args: dict[str, Any] | str = field(default_factory=dict[str, Any])
    """The arguments; a string is sent as it is, also when it is no JSON."""
    id: str | None = None
    """Counted as call-1, call-2, … when not given."""

    @property
    def args_text(self) -> str:
        return self.args if isinstance(self.args, str) else json.dumps(self.args, ensure_ascii=False)


@dataclass(frozen=True)
class Failure:
    """How a request fails: with an HTTP status, or without an answer."""

    __pydantic_config__: ClassVar[ConfigDict] = _EXACT

    status: Annotated[int, Field(ge=400, le=599)] = 500
    kind: Literal["http", "connection", "timeout", "context"] = "http"
    """Only with `http` the status counts; `context` is a request that is too long for the model."""
    message: str = "scripted failure"
    retry_after: _Seconds | None = None
    after: str = ""
    """Text that is streamed before it breaks; a request without streaming fails at once."""

    def __post_init__(self) -> None:
        if self.kind == "http" and not 400 <= self.status <= 599:
            raise ValueError(f"A failure has a status from 400 to 599, not {self.status}; for an answer use a Turn.")


@dataclass(frozen=True)
class Turn:
    """One answer of the model."""

    __pydantic_config__: ClassVar[ConfigDict] = _EXACT

    text: str = ""
    thinking: str = ""
    calls: list[Call] = field(default_factory=list[Call])
    usage: Mapping[UsageName, _Tokens] | None = None
    """The tokens reported; estimated from the texts when not given."""
    error: Failure | None = None
    finish_reason: FinishReason | None = None
    """Why the answer ended; without it, `tool_call` if it has calls, else `stop`."""
    delay: _Seconds = 0
    """Seconds that the answer takes, spread over its pieces."""


@dataclass(frozen=True)
class Request:
    """What the model was asked, as it was at that time."""

    messages: list[ModelMessage]
    settings: ModelSettings | None
    parameters: ModelRequestParameters
    streamed: bool

    @property
    def instructions(self) -> str:
        return "\n\n".join(part.content for part in self.parameters.instruction_parts or [])

    @property
    def tools(self) -> list[str]:
        return [tool.name for tool in self.parameters.function_tools]

    @property
    def text(self) -> str:
        """What the user's side said since the last answer: the message, and the list where it rides along."""
        return "\n\n".join(list_user_texts(self._new_messages()))

    @property
    def tool_results(self) -> list[str]:
        """What the tools answered since the last answer, as the model reads it."""
        return [
            part.model_response_str()
            for message in self._new_messages()
            for part in message.parts
            if isinstance(part, ToolReturnPart)
        ]

    def _new_messages(self) -> list[ModelRequest]:
        new = takewhile(lambda message: isinstance(message, ModelRequest), reversed(self.messages))
        return [message for message in new if isinstance(message, ModelRequest)][::-1]


def list_user_texts(messages: Iterable[ModelMessage]) -> Iterator[str]:
    """The texts of the user's prompts, first one first."""
    for message in messages:
        if isinstance(message, ModelRequest):
            for part in message.parts:
                if isinstance(part, UserPromptPart):
                    yield from list_prompt_texts(part)


def list_prompt_texts(part: UserPromptPart) -> Iterator[str]:
    for content in [part.content] if isinstance(part.content, str) else part.content:
        if isinstance(content, str | TextContent):
            yield content if isinstance(content, str) else content.content


TurnForm = str | Turn | dict[str, Any]
"""A turn as it may be written; a string is a text answer."""
TurnMaker = Callable[[list[ModelMessage], Request], TurnForm]
"""Decides on the turn when the request is there."""


def _expand_short_form(turn: object) -> object:
    return {"text": turn} if isinstance(turn, str) else turn


_Turn = Annotated[Turn, BeforeValidator(_expand_short_form)]
_TURN: TypeAdapter[Turn] = TypeAdapter(_Turn)


@dataclass(frozen=True)
class _Conversation:
    __pydantic_config__: ClassVar[ConfigDict] = _EXACT

    match: Annotated[str, Field(min_length=1)]
    turns: list[_Turn]


@dataclass(frozen=True)
class _File:
    __pydantic_config__: ClassVar[ConfigDict] = _EXACT

    turns: list[_Turn] | None = None
    conversations: list[_Conversation] | None = None


_FILE: TypeAdapter[_File] = TypeAdapter(_File)


def to_turn(form: TurnForm) -> Turn:
    """The turn that was written as a string, as a dict or as itself."""
    if isinstance(form, Turn):
        return form
    try:
        return _TURN.validate_python(form)
    except ValidationError as error:
        raise _script_error("The turn", list_violations(error, form)) from None


def to_script(forms: Iterable[TurnForm | TurnMaker]) -> list[Turn | TurnMaker]:
    """The turns as written in Python; what decides later is left as it is."""
    if isinstance(forms, str):
        raise TypeError("A script is a list of turns; put the text in a list: ['…'].")
    turns: list[Turn | TurnMaker] = []
    faults: list[str] = []
    for at, form in enumerate(forms):
        try:
            turns.append(form if isinstance(form, Turn) or callable(form) else _TURN.validate_python(form))
        except ValidationError as error:
            faults += (f"turns[{at}].{fault}".replace(".(root)", "") for fault in list_violations(error, form))
    if faults:
        raise _script_error("The script", faults)
    return turns


def read_script(path: str | Path) -> list[Turn] | dict[str, list[Turn]]:
    """The turns of a JSON file, or its conversations by the text that picks them."""
    where = f"The script '{sanitize_for_display(str(path), 200)}'"
    try:
        data = parse_json(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ModelNotReady(f"{where} cannot be read ({error.strerror}); name a readable JSON file.") from None
    except (BadJson, UnicodeDecodeError) as error:
        raise _script_error(where, [f"(root): Not valid JSON: {sanitize_for_display(str(error), 200)}"]) from None
    if isinstance(data, list):
        data = {"turns": cast("object", data)}
    faults = _list_repeated_keys(data)
    try:
        script = _FILE.validate_python(data)
    except ValidationError as error:
        raise _script_error(where, [*faults, *list_violations(error, data)]) from None
    if (script.turns is None) == (script.conversations is None):
        faults.append("(root): Expected either turns or conversations")
    matches = [one.match for one in script.conversations or []]
    faults += [f"conversations[{at}].match: Duplicate match" for at, text in enumerate(matches) if text in matches[:at]]
    if faults:
        raise _script_error(where, faults)
    return {one.match: one.turns for one in script.conversations or []} if script.turns is None else script.turns


def _script_error(where: str, faults: Iterable[str]) -> ModelNotReady:
    lines = "\n".join(f"- {fault}" for fault in faults)
    return ModelNotReady(f"{where} is not valid; correct this and try again:\n{lines}")


def _list_repeated_keys(value: object, path: str = "") -> list[str]:
    """Keys that stand twice in one object, of which all but the last would be lost."""
    if isinstance(value, list):
        items = enumerate(cast("list[object]", value))
        return [fault for at, item in items for fault in _list_repeated_keys(item, f"{path}[{at}]")]
    if not isinstance(value, dict):
        return []
    twice = value.repeated if isinstance(value, DuplicateKeys) else ()
    faults = [f"{path}.{sanitize_for_display(key)}: Duplicate field".lstrip(".") for key in twice]
    for key, item in cast("dict[str, object]", value).items():
        faults += _list_repeated_keys(item, f"{path}.{sanitize_for_display(key)}".lstrip("."))
    return faults
