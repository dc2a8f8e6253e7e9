"""Plain typed functions as tools: `@tool(effect="read")`, or just the function itself in a list of tools.

The signature becomes the input, the docstring the description. A function that declares no effect counts as one that
executes something, so that it is asked about and refused in plan mode. How a signature is read is in `signatures`.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Generic, ParamSpec, TypeAlias, TypeVar, cast, overload

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from headway.core.errors import HeadwayError
from headway.core.text import sanitize_for_display
from headway.tools.base import Context, Tool, ToolLimits, ToolResult, check_tool_name
from headway.tools.effects import Effect, EffectName
from headway.tools.signatures import build_input_model, describe_function, name_of_function
from headway.tools.threads import run_in_thread

P = ParamSpec("P")
R = TypeVar("R")
Function: TypeAlias = "Callable[..., object]"


class FunctionTool(Tool[BaseModel], Generic[P, R]):
    """A function as a tool. It can still be called as the function it is."""

    def __init__(
        self,
        function: Callable[P, R],
        *,
        name: str | None = None,
        effect: Effect | EffectName = Effect.EXECUTE,
        limits: ToolLimits,
    ) -> None:
        if isinstance(function, FunctionTool):
            function = cast("Callable[P, R]", function.function)
        if not callable(function):
            raise HeadwayError(
                f"'{sanitize_for_display(function)}' is not a function; write @tool(effect=\"read\") above one."
            )
        if isinstance(function, type):
            raise HeadwayError(f"'{function.__name__}' is a class; pass an instance of it, or a function.")
        functools.update_wrapper(self, function, updated=())
        self.function: Callable[P, R] = function
        self.name = check_tool_name(name or name_of_function(function))
        self.description = describe_function(function)
        self.effect = _check_effect(effect)
        self.limits = limits
        self.can_be_stopped = inspect.iscoroutinefunction(function)
        self.input, self._names, self._contexts = build_input_model(function, self.name)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    async def run(self, call: BaseModel, context: Context) -> ToolResult:
        arguments = {parameter: getattr(call, field) for parameter, field in self._names.items()}
        arguments |= dict.fromkeys(self._contexts, context)
        function = cast("Callable[..., Any]", self.function)
        if self.can_be_stopped:
            answer = await function(**arguments)
        else:
            answer = await _run_in_thread(functools.partial(function, **arguments))
            if inspect.isawaitable(answer):
                answer = await cast("Awaitable[object]", answer)
        return answer if isinstance(answer, ToolResult) else ToolResult(_to_text(answer))


@overload
def tool(function: Callable[P, R], /) -> FunctionTool[P, R]: ...
@overload
def tool(
    *,
    effect: Effect | EffectName = ...,
    name: str | None = None,
    seconds: float | None = None,
    output_chars: int | None = None,
) -> Callable[[Callable[P, R]], FunctionTool[P, R]]: ...
def tool(
    function: Callable[P, R] | None = None,
    /,
    *,
    effect: Effect | EffectName = Effect.EXECUTE,
    name: str | None = None,
    seconds: float | None = None,
    output_chars: int | None = None,
) -> FunctionTool[P, R] | Callable[[Callable[P, R]], FunctionTool[P, R]]:
    """Makes a tool of a typed function, sync or async: `@tool(effect="read")`.

    A parameter annotated `Context` is not the model's to fill: it gets the run's context.
    """

    if seconds is not None and not seconds > 0:
        raise HeadwayError(f"`seconds` must be more than 0, not {sanitize_for_display(seconds)}.")

    def make_tool(function: Callable[P, R]) -> FunctionTool[P, R]:
        return FunctionTool(function, name=name, effect=effect, limits=ToolLimits(seconds, output_chars))

    return make_tool if function is None else make_tool(function)


def as_tools(tools: Iterable[Tool[Any] | Function]) -> list[Tool[Any]]:
    """Tools and functions as tools, in their order. Two of the same name are refused."""
    result: list[Tool[Any]] = []
    names: set[str] = set()
    for one in tools:
        made = cast("Tool[Any]", one) if isinstance(one, Tool) else FunctionTool(one, limits=ToolLimits())
        for name in (made.name, *made.aliases):
            if check_tool_name(name) in names:
                raise HeadwayError(
                    f"Two tools are named '{sanitize_for_display(name)}'; give one of them another name."
                )
            names.add(name)
        result.append(made)
    return result


def _check_effect(effect: Effect | EffectName) -> Effect:
    try:
        return Effect(effect)
    except ValueError:
        raise HeadwayError(
            f"'{sanitize_for_display(effect)}' is not a valid effect; choose from: {', '.join(Effect)}."
        ) from None


async def _run_in_thread(function: Callable[[], object]) -> object:
    """Runs it in a thread that nothing waits for at the end."""
    answer, error = await run_in_thread(function)
    if isinstance(error, StopIteration | asyncio.CancelledError):  # each would mean something else in a coroutine
        raise RuntimeError(f"{type(error).__name__} {error}".strip()) from error
    if error is not None:
        raise error
    return answer


def _to_text(answer: object) -> str:
    if isinstance(answer, str):
        return answer
    if answer is None:
        return "Done."
    if isinstance(answer, bytes | bytearray):
        return answer.decode(errors="replace")
    try:
        value = to_jsonable_python(answer, fallback=str, inf_nan_mode="constants")
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    except ValueError:  # it contains itself, or bytes that are no text
        return str(answer)
