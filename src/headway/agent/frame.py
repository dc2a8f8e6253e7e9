"""What stands around the history in every request: instructions and tools before it, the list after it.

Instructions and tools are made once for each mode, so that they are the same bytes in every round.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pydantic_ai.messages import CachePoint, InstructionPart, ModelMessage, ModelRequest, UserPromptPart
from pydantic_ai.models import ModelRequestParameters

from headway.agent.config import Inject
from headway.agent.definitions import tool_definitions
from headway.core.value import copied

if TYPE_CHECKING:
    from collections.abc import Callable

    from headway.tools.executor import Executor


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it is sent."""

    messages: list[ModelMessage]
    parameters: ModelRequestParameters
    size: int
    """About how many bytes of text it is."""
    marked: bool = False
    """Whether it says where the part ends that is worth caching."""


def size_of_parameters(parameters: ModelRequestParameters) -> int:
    """About how many bytes of text instructions and tools are."""
    texts = [part.content for part in parameters.instruction_parts or ()]
    texts += (f"{tool.name}{tool.description}{tool.parameters_json_schema}" for tool in parameters.function_tools)
    return sum(len(text.encode(errors="replace")) for text in texts)


class Frame:
    def __init__(self, instructions: Callable[[bool], str], executor: Executor, inject: str) -> None:
        """`instructions` says what the model is told, in plan mode or not."""
        self._instructions = instructions
        self._executor = executor
        self._inject = inject
        self._made: dict[bool, tuple[ModelRequestParameters, int, str]] = {}

    def parameters(self, *, planning: bool) -> ModelRequestParameters:
        return self._parts(planning)[0]

    def size(self, *, planning: bool) -> int:
        """Bytes that go along with the history."""
        return self._parts(planning)[1]

    def _parts(self, planning: bool) -> tuple[ModelRequestParameters, int, str]:
        """What goes along in this mode, its size, and the instructions that are part of it."""
        found = self._made.get(planning)
        if found is None:
            told = self._instructions(planning)
            parameters = ModelRequestParameters(
                function_tools=tool_definitions(self._executor.offered(planning=planning)),
                instruction_parts=[InstructionPart(content=told)],
            )
            found = self._made[planning] = (parameters, size_of_parameters(parameters), told)
        return found

    def around(self, messages: list[ModelMessage], size: int, block: str, *, planning: bool) -> Request:
        """The history, of this size, with the block after it or in the system message."""
        parameters, fixed, told = self._parts(planning)
        size += fixed + len(block.encode())
        if not block:
            return Request([*messages], parameters, size)
        if self._inject == Inject.SYSTEM:
            # One text, and so one system message: some servers refuse a second one.
            parts = [InstructionPart(content=f"{told}\n\n{block}", dynamic=True)]
            return Request([*messages], replace(parameters, instruction_parts=parts), size)
        # The list of messages is copied, the messages are not: the block goes along with the last one this time only.
        last = messages[-1]
        assert isinstance(last, ModelRequest)
        tail = UserPromptPart([CachePoint(), block])
        messages = messages.copy()
        messages[-1] = copied(last, parts=[*last.parts, tail])
        return Request(messages, parameters, size, marked=True)
