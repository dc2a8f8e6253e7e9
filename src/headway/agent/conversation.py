"""The conversation of a run: its messages in memory, each stored when it comes, and loaded again by whoever goes on.

Tool results are stored with the event of their call, one by one; here they are one message, as providers want it.
Sizes are counted once per message; nothing walks the whole history in a round.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache
from operator import is_
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from pydantic import TypeAdapter, ValidationError
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from headway.agent.repair import drop_thoughts, repair_messages
from headway.core.errors import StoreCorrupt
from headway.core.json_text import BadJson, parse_json
from headway.core.run_events import ConversationCompacted, MessageAdded, ToolFinished

if TYPE_CHECKING:
    from headway.core.events import Event
    from headway.session import Session

_ESCAPED_OR_WIDE = re.compile(r"\\|\s\s\s")
PER_MESSAGE = 16
"""Bytes that a message costs beyond its text."""


@cache
def _make_adapter(kind: type[ModelRequest | ModelResponse]) -> TypeAdapter[Any]:
    """One for each, made when it is needed: several times as fast as one that has to tell them apart."""
    return TypeAdapter(kind)


class Conversation:
    """Messages with their sizes and the versions under which they are stored."""

    def __init__(self, messages: Iterable[ModelMessage] = (), versions: Iterable[int] = ()) -> None:
        self.messages = list(messages)
        self.sizes = [estimate_size(message) for message in self.messages]
        self.versions = list(versions)
        """Version of the event with which each begins; 0 for one that is not stored by itself."""
        self.size = sum(self.sizes)

    def add(self, message: ModelMessage, version: int) -> None:
        self.messages.append(message)
        self.versions.append(version)
        self.sizes.append(estimate_size(message))
        self.size += self.sizes[-1]

    @classmethod
    def load(cls, session: Session) -> Conversation:
        """Return the session's last conversation, repaired where it was cut off."""
        compacted, kept_from = session.state.conversations.get(session.agent_id, (0, 1))
        messages: list[ModelMessage] = []
        versions: list[int] = []
        if compacted:
            data = session.store.event(session.name, compacted).data
            assert isinstance(data, ConversationCompacted)
            messages.append(_read_message(data.message, session))
            versions.append(compacted)
        for event in session.events(after=kept_from - 1):
            if event.agent == session.agent_id:
                _collect(event, messages, versions, session)
        repaired = repair_messages(messages)
        known = {id(message): version for message, version in zip(messages, versions, strict=True)}
        conversation = cls(repaired)
        conversation.versions = _assign_versions([known.get(id(message), 0) for message in repaired], kept_from)
        return conversation


def _assign_versions(found: list[int], first: int) -> list[int]:
    """For a message that was repaired, the version of the one before: what is kept from there on includes it."""
    for at, version in enumerate(found):
        if not version:
            found[at] = found[at - 1] if at else first
    return found


def _collect(event: Event, messages: list[ModelMessage], versions: list[int], session: Session) -> None:
    """Add what an event holds of the conversation. Results of one answer's calls become one message."""
    if isinstance(event.data, MessageAdded):
        messages.append(_read_message(event.data.message, session))
        versions.append(event.version)
    elif isinstance(event.data, ToolFinished) and not event.data.cancelled:  # that one is repaired as a killed run's is
        part = to_result_part(event.data)
        last = messages[-1] if messages else None
        if isinstance(last, ModelRequest) and isinstance(last.parts[-1], ToolReturnPart):
            messages[-1] = replace(last, parts=[*last.parts, part])
        else:
            messages.append(ModelRequest([part]))
            versions.append(event.version)


def to_result_part(call: ToolFinished) -> ToolReturnPart:
    outcome = "denied" if call.denied else "success" if call.ok else "failed"
    return ToolReturnPart(call.tool, call.text, call.call_id, outcome=outcome)


def _read_message(record: dict[str, Any], session: Session) -> ModelMessage:
    kind = ModelResponse if record.get("kind") == "response" else ModelRequest
    try:
        return _make_adapter(kind).validate_python(record)
    except ValidationError as error:
        raise StoreCorrupt(
            f"A message of the session '{session.name}' cannot be read ({error.error_count()} errors): if a newer "
            "version wrote it, upgrade Headway; otherwise start a new session."
        ) from error


Redact: TypeAlias = Callable[[str], str]


def to_stored_message(message: ModelMessage, redacted: Redact) -> dict[str, Any]:
    """Return the message as the log keeps it: rid of keys and tokens."""
    return _make_adapter(type(message)).dump_python(_redact_message(message, redacted), mode="json", exclude_none=True)


def _redact_message(message: ModelMessage, redacted: Redact) -> ModelMessage:
    if isinstance(message, ModelRequest):
        parts = [_redact_request_part(part, redacted) for part in message.parts]
        message = message if all(map(is_, parts, message.parts)) else replace(message, parts=parts)
        return replace(message, metadata=_redact_value(message.metadata, redacted)) if message.metadata else message
    answers = [_redact_answer_part(part, redacted) for part in _drop_unsafe_thoughts(message.parts, redacted)]
    same = len(answers) == len(message.parts)
    return message if same and all(map(is_, answers, message.parts)) else replace(message, parts=answers)


def _redact_request_part(part: ModelRequestPart, redacted: Redact) -> ModelRequestPart:
    if isinstance(part, UserPromptPart | ToolReturnPart) and isinstance(part.content, str):
        content = redacted(part.content)
        return part if content == part.content else replace(part, content=content)
    return part


def _drop_unsafe_thoughts(parts: Sequence[ModelResponsePart], redacted: Redact) -> Sequence[ModelResponsePart]:
    """The parts without any thoughts if one of them has a key in it: providers take back only what they signed."""
    thoughts = (part for part in parts if isinstance(part, ThinkingPart))
    if all(_is_safe(part, redacted) for part in thoughts):
        return parts
    return drop_thoughts(parts)


def _is_safe(part: ThinkingPart, redacted: Redact) -> bool:
    texts = [part.content, *_list_strings(part.provider_details)]
    return all(redacted(text) == text for text in texts)


def _list_strings(value: object) -> Iterable[str]:
    if isinstance(value, str):
        return (value,)
    if isinstance(value, dict):
        value = list(cast("dict[object, object]", value).values())
    items = cast("list[object]", value) if isinstance(value, list) else ()
    return (text for item in items for text in _list_strings(item))


def _redact_answer_part(part: ModelResponsePart, redacted: Redact) -> ModelResponsePart:
    if isinstance(part, TextPart):
        content = redacted(part.content)
        return part if content == part.content else replace(part, content=content)
    if isinstance(part, ToolCallPart):
        text = _to_plain_arguments(part)
        safe = _redact_arguments(text, redacted)
        return part if safe == text else replace(part, args=safe)
    return part


def _to_plain_arguments(part: ToolCallPart[Any]) -> str:
    """Return the arguments as JSON without escapes and with hardly any space: names stand right before their values."""
    if isinstance(part.args, str) and part.args and not _ESCAPED_OR_WIDE.search(part.args):
        return part.args
    return part.args_as_json_str()


def _redact_arguments(text: str, redacted: Redact) -> str:
    """The arguments without keys; still JSON if they were. A key may be written with escapes, as in `pass\\"word`."""
    safe = redacted(text)
    if safe == text and "\\" not in text:
        return text
    try:
        value = parse_json(text)
        plain = _redact_value(value, redacted)
        if plain != value:
            safe = redacted(json.dumps(plain, ensure_ascii=False))
        parse_json(safe)
    except BadJson:
        return "{}"
    return safe


def _redact_value(value: Any, redacted: Redact) -> Any:
    if isinstance(value, str):
        return redacted(value)
    if isinstance(value, dict):
        items = cast("dict[str, object]", value).items()
        return {redacted(key): _redact_value(item, redacted) for key, item in items}
    if isinstance(value, list):
        return [_redact_value(item, redacted) for item in cast("list[object]", value)]
    return value


def estimate_size(message: ModelMessage) -> int:
    """About how many bytes of text it is."""
    size = PER_MESSAGE
    for part in message.parts:
        for text in _list_texts(part):
            size += len(text) if text.isascii() else len(text.encode(errors="replace"))
    return size


def _list_texts(part: ModelRequestPart | ModelResponsePart) -> Iterable[str]:
    if isinstance(part, ToolCallPart):
        return (part.tool_name, part.args if isinstance(part.args, str) else part.args_as_json_str())
    content: object = getattr(part, "content", "")
    if isinstance(content, str):
        return (content,)
    if isinstance(part, ToolReturnPart):
        return (part.model_response_str(),)
    items = cast("Iterable[object]", content) if isinstance(content, list | tuple) else ()
    return (item for item in items if isinstance(item, str))


def answer_text(answer: ModelResponse) -> str:
    return join_answer_text(answer).strip()


def join_answer_text(answer: ModelResponse) -> str:
    return "".join(part.content for part in answer.parts if isinstance(part, TextPart))
