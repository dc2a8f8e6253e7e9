"""What stands around the history in every request: instructions and tools before it, the list after it.

Instructions and tools are made once for each mode, so that they are the same bytes in every round.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pydantic_ai.messages import CachePoint, InstructionPart, ModelMessage, ModelRequest, UserPromptPart
from pydantic_ai.models import ModelRequestParameters

from headway.agent.cache_points import CACHED_AHEAD, add_cache_points
from headway.agent.config import Inject
from headway.agent.definitions import tool_definitions
from headway.agent.strict_order import append_block, insert_answers, refuses_user_after_tool

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic_ai.models import Model

    from headway.tools.executor import Executor

_TAKES_PARTS = ("bedrock", "openrouter")
"""Providers that are told in the last message where to cache; others cache by themselves, or take only a text there."""


@dataclass(frozen=True, slots=True)
class ModelRequestData:
    """A request as it is sent."""

    messages: list[ModelMessage]
    parameters: ModelRequestParameters
    size: int
    """About how many bytes of text it is."""
    settings: dict[str, Any] = field(default_factory=dict[str, Any])
    """What it needs besides the settings of the run."""


def estimate_parameters_size(parameters: ModelRequestParameters) -> int:
    """About how many bytes of text instructions and tools are."""
    texts = [part.content for part in parameters.instruction_parts or ()]
    texts += (f"{tool.name}{tool.description}{tool.parameters_json_schema}" for tool in parameters.function_tools)
    return sum(len(text.encode(errors="replace")) for text in texts)


class RequestBuilder:
    def __init__(self, instructions: Callable[[bool], str], executor: Executor, inject: str, model: Model) -> None:
        """`instructions` returns what the model is told at the beginning, in plan mode or not."""
        self._instructions = instructions
        self._executor = executor
        self._inject = Inject.TOOL if inject == Inject.TAIL and refuses_user_after_tool(model) else inject
        self._is_strict = self._inject == Inject.TOOL
        """Whether no user message may follow a tool's result."""
        self._caches = model.system == "anthropic"
        self._takes_parts = model.system in _TAKES_PARTS
        self._made: dict[bool, tuple[ModelRequestParameters, int, str]] = {}

    def keep_strict_order(self) -> bool:
        """From now on, send no user message after a tool's result. Return whether that was not so before."""
        before, self._is_strict = self._is_strict, True
        if self._inject == Inject.TAIL:
            self._inject = Inject.TOOL
        return not before

    def parameters(self, *, planning: bool) -> ModelRequestParameters:
        return self._make_fixed_parts(planning)[0]

    def fixed_size(self, *, planning: bool) -> int:
        """Return how many bytes go along with the history."""
        return self._make_fixed_parts(planning)[1]

    def _make_fixed_parts(self, planning: bool) -> tuple[ModelRequestParameters, int, str]:
        """Return what goes along in this mode, its size, and the instructions that are part of it."""
        found = self._made.get(planning)
        if found is None:
            instructions = self._instructions(planning)
            parameters = ModelRequestParameters(
                function_tools=tool_definitions(self._executor.list_offered(planning=planning)),
                instruction_parts=[InstructionPart(content=instructions)],
            )
            found = self._made[planning] = (parameters, estimate_parameters_size(parameters), instructions)
        return found

    def reorder(self, messages: list[ModelMessage]) -> list[ModelMessage]:
        """Return the messages in an order that the server accepts."""
        return insert_answers(messages) if self._is_strict else messages.copy()

    def build(self, messages: list[ModelMessage], size: int, block: str, *, planning: bool) -> ModelRequestData:
        """Return the history, of this size, with the block after it, in its last tool result or in the system message.

        The list of messages is copied, the messages are not: what is added goes along with the last one this time only.
        """
        parameters, fixed, instructions = self._make_fixed_parts(planning)
        size += fixed + len(block.encode())
        messages = self.reorder(messages)
        if block and self._inject == Inject.SYSTEM:
            # One text, and so one system message: some servers refuse a second one.
            parts = [InstructionPart(content=f"{instructions}\n\n{block}", dynamic=True)]
            if self._caches:
                parts = [InstructionPart(content=instructions), InstructionPart(content=block, dynamic=True)]
            parameters = replace(parameters, instruction_parts=parts)
        elif block and self._inject == Inject.TOOL:
            messages[-1] = append_block(messages[-1], block)
        elif block:
            last = messages[-1]
            assert isinstance(last, ModelRequest)
            tail = UserPromptPart([CachePoint(), block] if self._takes_parts else block)
            messages[-1] = replace(last, parts=[*last.parts, tail])
        if not self._caches:
            return ModelRequestData(messages, parameters, size)
        changing = 1 if block and self._inject != Inject.SYSTEM else 0
        return ModelRequestData(add_cache_points(messages, changing_parts=changing), parameters, size, CACHED_AHEAD)
