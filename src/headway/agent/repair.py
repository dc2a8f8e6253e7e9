"""Messages that every provider accepts: a history repaired after it was cut, an answer made sound as it arrives.

The loop repairs what it loads and what compaction leaves, and appends what `repair_answer` returns. Decides by what
providers refuse, whichever was asked; leaves alone what a provider's own tools wrote, and ids that only look foreign.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime
from operator import is_
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard, cast
from uuid import NAMESPACE_OID, uuid4, uuid5

from pydantic_ai.messages import (
    CachePoint,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    TextContent,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)

from headway.core.json_text import BadJson, parse_json
from headway.core.text import json_type_name, sanitize_for_display, to_storable

if TYPE_CHECKING:
    from pydantic_ai.messages import RetryPromptPart  # pyright: ignore[reportDeprecated]

    from headway.agent.answer_endings import CutOff

Result: TypeAlias = "ToolReturnPart[Any] | RetryPromptPart"  # pyright: ignore[reportDeprecated]

NO_ANSWER = "(no answer)"
NO_OUTPUT = "(no output)"
CUT_OFF = "(The beginning of this conversation is missing.)"
UNFINISHED = "This call did not finish and returned no result; what it did until then is unknown."
_DEEPEST = 200
INVALID_NAME = "invalid_tool_name"

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What a tool may be called: all providers accept these names, and each refuses some others."""
_ASKS = frozenset({"user-prompt", "retry-prompt", "compaction", "speech"})
"""The kinds of parts that a provider is sent as the user's; a system prompt goes elsewhere."""


def repair_messages(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """Return a history that is valid for every provider. No message is changed; sound ones are the same objects."""
    repaired: list[ModelMessage] = []
    ids = _CallIds()
    asked = False
    for response, requests in _split_into_turns(messages):
        results: list[Result] = []
        at = None
        if response is not None:
            at = response.timestamp
            if not asked:
                repaired.append(ModelRequest(parts=[UserPromptPart(CUT_OFF, timestamp=at)], timestamp=at))
            answer, results = _repair_response(response, _group_results(requests), ids)
            repaired.append(answer)
        asks = _repair_requests(requests, results, at)
        repaired += asks
        asked = asked or response is not None or any(part.part_kind in _ASKS for ask in asks for part in ask.parts)
    return repaired


@dataclass(frozen=True, slots=True)
class SentCall:
    """A call of an answer, with its arguments parsed."""

    id: str
    tool: str
    arguments: object
    fault: str | None = None
    """Why it must not be run, as a reply to the model."""


def repair_answer(
    answer: ModelResponse, used_ids: Set[str], cut: CutOff | None = None
) -> tuple[ModelResponse, list[SentCall]]:
    """Return a valid answer and its calls.

    No call is dropped: the model learns what was wrong with it from the reply. `used_ids` are the history's; `cut` says
    where the answer was cut off, if it was.
    """
    calls: list[SentCall] = []
    ids: set[str] = set()
    parts: list[ModelResponsePart] = []
    for part in answer.parts:
        if not isinstance(part, ToolCallPart):
            parts.append(part)
            continue
        call, arguments, fault = _to_sendable(part)
        if cut is not None and (fault or (part is answer.parts[-1] and not part.args)):
            fault = cut.fault
        if not _is_id(call.tool_call_id) or call.tool_call_id in used_ids or call.tool_call_id in ids:
            call = replace(call, tool_call_id=f"call_{uuid4().hex}")
        ids.add(call.tool_call_id)
        calls.append(SentCall(call.tool_call_id, call.tool_name, arguments, fault))
        parts.append(call)
    return _replace_parts(answer, _drop_blank_parts(parts)), calls


class _CallIds:
    """The ids of a history's calls, each used once.

    Anthropic refuses a second call with the same id, in one message or in the whole request; OpenAI one in the same
    message. Dropping the second would lose work that was done, so it gets another id, and its result with it. The new
    id follows from the old one: a history that is loaded again gives the same bytes, as a provider's cache needs.
    An id that is used once stays, even if not every provider would have made it: some models only know their own form.
    """

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._copies: defaultdict[str, int] = defaultdict(lambda: 1)

    def make_unique(self, id: str) -> str:
        new = id
        while new in self._seen:
            self._copies[id] += 1
            new = f"call_{uuid5(NAMESPACE_OID, f'{self._copies[id]} {id}').hex}"
        self._seen.add(new)
        return new


def _split_into_turns(messages: Sequence[ModelMessage]) -> Iterator[tuple[ModelResponse | None, list[ModelRequest]]]:
    """Each response with the requests up to the next; first, those before any response."""
    response: ModelResponse | None = None
    requests: list[ModelRequest] = []
    for message in messages:
        if isinstance(message, ModelRequest):
            requests.append(message)
        else:
            yield response, requests
            response, requests = message, []
    yield response, requests


def _repair_response(
    response: ModelResponse, found: dict[str, deque[Result]], ids: _CallIds
) -> tuple[ModelResponse, list[Result]]:
    """Return the response with the calls that can be sent, and their results in the same order."""
    parts: list[ModelResponsePart] = []
    results: list[Result] = []
    for part in response.parts:
        if not isinstance(part, ToolCallPart):
            parts.append(part)
            continue
        # Also a call that is dropped takes its result with it: it must not pass for that of another with the same id.
        waiting = found.get(part.tool_call_id)
        result = waiting.popleft() if waiting else None
        call, _, fault = _to_sendable(part)
        if fault or not _is_id(call.tool_call_id):
            continue
        if (id := ids.make_unique(call.tool_call_id)) != call.tool_call_id:
            call = replace(call, tool_call_id=id)
        parts.append(call)
        results.append(
            _unfinished_result(call, response.timestamp) if result is None else _to_valid_result(call, result)
        )
    return _replace_parts(response, _drop_blank_parts(parts)), results


def _group_results(requests: Sequence[ModelRequest]) -> dict[str, deque[Result]]:
    """Return the results in the requests, by the id of their call."""
    found: defaultdict[str, deque[Result]] = defaultdict(deque)
    for request in requests:
        for part in request.parts:
            if _is_result(part):
                found[part.tool_call_id].append(part)
    return found


def _is_result(part: ModelRequestPart) -> TypeGuard[Result]:
    return part.part_kind == "tool-return" or (part.part_kind == "retry-prompt" and part.tool_name is not None)


def _unfinished_result(call: ToolCallPart[Any], at: datetime) -> ToolReturnPart[Any]:
    return ToolReturnPart(
        tool_name=call.tool_name,
        content=UNFINISHED,
        tool_call_id=call.tool_call_id,
        tool_kind=call.tool_kind,
        timestamp=at,
        outcome="interrupted",
    )


def _to_valid_result(call: ToolCallPart[Any], result: Result) -> Result:
    """Return the result under the call's id and name, with something in it: Anthropic refuses empty text."""
    is_named = (result.tool_call_id, result.tool_name) == (call.tool_call_id, call.tool_name)
    if result.part_kind == "retry-prompt":
        if is_named:
            return result
        return ToolReturnPart(
            tool_name=call.tool_name,
            content=result.model_response(),
            tool_call_id=call.tool_call_id,
            timestamp=result.timestamp,
            outcome="retried",
        )
    content = result.content
    if isinstance(content, str) and not content.strip():
        content = NO_OUTPUT
    if is_named and content is result.content:
        return result
    return replace(result, tool_name=call.tool_name, tool_call_id=call.tool_call_id, content=content)


def _repair_requests(
    requests: Sequence[ModelRequest], results: Sequence[Result], at: datetime | None
) -> list[ModelRequest]:
    """Return the requests after a response: its results in front of everything, as OpenAI and Anthropic want them."""
    if results and not requests:
        return [ModelRequest(parts=results, timestamp=at)]
    asked: list[ModelRequest] = []
    first: Sequence[ModelRequestPart] = results
    for request in requests:
        others = (_repair_prompt(part) for part in request.parts if not _is_result(part))
        parts = [*first, *(part for part in others if part is not None)]
        first = ()
        if parts:
            asked.append(request if _are_same_parts(request.parts, parts) else replace(request, parts=parts))
    return asked


def _repair_prompt(part: ModelRequestPart) -> ModelRequestPart | None:
    """Return the part without blank text, which Anthropic refuses; None if nothing is left."""
    if not isinstance(part, UserPromptPart):
        return part
    if isinstance(part.content, str):
        return part if part.content.strip() else None
    content = [item for item in part.content if not _is_blank(item)]
    if all(isinstance(item, CachePoint) for item in content):
        return None
    return part if len(content) == len(part.content) else replace(part, content=content)


def _is_blank(item: UserContent) -> bool:
    text = item.content if isinstance(item, TextContent) else item
    return isinstance(text, str) and not text.strip()


def _drop_blank_parts(parts: Sequence[ModelResponsePart]) -> list[ModelResponsePart]:
    """The parts of an answer without blank text and without thoughts at its end; with text if that leaves nothing.

    Anthropic refuses both, and OpenAI reasoning that nothing follows; a thought that was cut off lacks the signature
    by which a provider knows it for its own. What a provider ran or drew itself is not always sent, so it does not
    count as following.
    """
    said = [_to_encodable(part) for part in parts if not isinstance(part, TextPart) or part.content.strip()]
    if any(isinstance(part, ThinkingPart) and to_storable(part.content) is not part.content for part in said):
        said = drop_thoughts(said)
    while said and isinstance(said[-1], ThinkingPart):
        said.pop()
    sent = (part for part in reversed(said) if isinstance(part, TextPart | ToolCallPart | ThinkingPart))
    if not said or isinstance(next(sent, None), ThinkingPart):
        said.append(TextPart(NO_ANSWER))
    return said


def drop_thoughts(parts: Sequence[ModelResponsePart]) -> list[ModelResponsePart]:
    """Return the other parts, for when one of the thoughts cannot be sent back as it came.

    What belonged to a thought loses its id, by which OpenAI would look for the thought.
    """
    others = [part for part in parts if not isinstance(part, ThinkingPart)]
    return [
        replace(part, id=None) if isinstance(part, TextPart | ToolCallPart) and part.id is not None else part
        for part in others
    ]


def _to_encodable(part: ModelResponsePart) -> ModelResponsePart:
    """The part with text that can be sent: a character cut in two by a stream's pieces makes every request fail."""
    if not isinstance(part, TextPart):
        return part
    content = to_storable(part.content)
    return part if content is part.content else replace(part, content=content)


def _to_sendable(call: ToolCallPart[Any]) -> tuple[ToolCallPart[Any], object, str | None]:
    """The call with a name and arguments that can be sent, these parsed, and what is wrong if the model sent others."""
    if not _NAME.fullmatch(call.tool_name or ""):
        return replace(call, tool_name=INVALID_NAME, args={}), {}, _explain_name_fault(call.tool_name)
    try:
        args, values = _check_arguments(call.args)
    except BadJson as reason:
        fault = (
            f"The arguments of this call were not a valid JSON object ({reason}), so it was not run; call again "
            "with all arguments in one JSON object. The arguments sent start "
            f"with: {sanitize_for_display(call.args, 200)}"
        )
        return replace(call, args={}), {}, fault
    return (call if args is call.args else replace(call, args=args)), values, None


def _explain_name_fault(name: str) -> str:
    came = f"{sanitize_for_display(name)!r} is not the name of a tool" if name else "This call does not name a tool"
    return f"{came}, so nothing was run; call one of your tools by its exact name."


def _check_arguments(args: str | dict[str, Any] | None) -> tuple[str | dict[str, Any] | None, object]:
    """Return the same arguments if they can be sent as they are, and their values. Raises `BadJson` if they are no
    object."""
    if not args:
        return args, {}
    if not isinstance(args, str):
        try:
            text = json.dumps(args, ensure_ascii=False, allow_nan=False)
        except (ValueError, TypeError, RecursionError) as error:
            raise BadJson(str(error) or "it cannot be written as JSON") from None
        # As text where an object would fail later on: half characters, and what is nested too deeply to be stored.
        plain = to_storable(text) is text and text.count("{") + text.count("[") < _DEEPEST
        return args if plain else to_storable(text), args
    if not args.strip():
        return {}, {}
    text = to_storable(args)
    value = parse_json(text)
    if not isinstance(value, dict):
        raise BadJson(f"expected object, received {json_type_name(value)}")
    return text, cast("object", value)


def _is_id(id: str) -> bool:
    return bool(id and id.strip()) and to_storable(id) is id


def _replace_parts(response: ModelResponse, parts: list[ModelResponsePart]) -> ModelResponse:
    return response if _are_same_parts(response.parts, parts) else replace(response, parts=parts)


def _are_same_parts(old: Sequence[object], new: Sequence[object]) -> bool:
    return len(old) == len(new) and all(map(is_, old, new))
