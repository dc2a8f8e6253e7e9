"""Plain typed functions as tools: `@tool(effect="read")`, or just the function itself in a list of tools.

The signature becomes the input, the docstring the description. A function that declares no effect counts as one that
executes something, so that it is asked about and refused in plan mode.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias, cast, get_type_hints, overload

from pydantic import BaseModel, ConfigDict, Field, create_model

from headway.core.errors import HeadwayError
from headway.core.text import shown
from headway.tools.effects import Effect
from headway.tools.tool import Context, Tool, ToolLimits, ToolResult, checked_name

Function: TypeAlias = "Callable[..., object]"


class FunctionTool(Tool[BaseModel]):
    """A function as a tool. It can still be called as the function it is."""

    def __init__(
        self, function: Function, *, name: str | None = None, effect: Effect | str = Effect.EXECUTE, limits: ToolLimits
    ) -> None:
        self.function = function
        self.name = checked_name(name or getattr(function, "__name__", type(function).__name__))
        self.description = inspect.getdoc(function) or ""
        self.effect = _effect(effect)
        self.limits = limits
        self.input, self._names, self._context = _input_of(function, self.name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    async def run(self, call: BaseModel, context: Context) -> ToolResult:
        arguments = {parameter: getattr(call, field) for parameter, field in self._names.items()}
        if self._context is not None:
            arguments[self._context] = context
        if inspect.iscoroutinefunction(self.function):
            answer = await self.function(**arguments)
        else:
            answer = await asyncio.to_thread(self.function, **arguments)
            if inspect.isawaitable(answer):
                answer = await answer
        return answer if isinstance(answer, ToolResult) else ToolResult(_text(answer))


@overload
def tool(function: Function, /) -> FunctionTool: ...
@overload
def tool(
    *,
    effect: Effect | str = ...,
    name: str | None = None,
    seconds: float | None = None,
    output_chars: int | None = None,
) -> Callable[[Function], FunctionTool]: ...
def tool(
    function: Function | None = None,
    /,
    *,
    effect: Effect | str = Effect.EXECUTE,
    name: str | None = None,
    seconds: float | None = None,
    output_chars: int | None = None,
) -> FunctionTool | Callable[[Function], FunctionTool]:
    """Makes a tool of a typed function, sync or async: `@tool(effect="read")`.

    A parameter annotated `Context` is not the model's to fill: it gets the run's context.
    """

    def made(function: Function) -> FunctionTool:
        return FunctionTool(function, name=name, effect=effect, limits=ToolLimits(seconds, output_chars))

    return made if function is None else made(function)


def as_tools(tools: Iterable[Tool[Any] | Function]) -> list[Tool[Any]]:
    """Tools and functions as tools, in their order. Two of the same name are refused."""
    result: list[Tool[Any]] = []
    names: set[str] = set()
    for one in tools:
        made = cast("Tool[Any]", one) if isinstance(one, Tool) else FunctionTool(one, limits=ToolLimits())
        for name in (made.name, *made.aliases):
            if name in names:
                raise HeadwayError(f"Two tools are called '{shown(name)}'; give one of them another name.")
            names.add(name)
        result.append(made)
    return result


def _effect(effect: Effect | str) -> Effect:
    try:
        return Effect(effect)
    except ValueError:
        raise HeadwayError(f"'{shown(effect)}' is no effect; choose from: {', '.join(Effect)}.") from None


def _input_of(function: Function, name: str) -> tuple[type[BaseModel], dict[str, str], str | None]:
    """The input's model, the field of each parameter, and the parameter that takes the context."""
    try:
        signature = inspect.signature(function)
        hints = get_type_hints(function, include_extras=True)
    except (TypeError, ValueError, NameError) as error:
        raise HeadwayError(
            f"'{name}' cannot be a tool, its signature is unreadable: {shown(str(error), 200)}"
        ) from None
    fields: dict[str, Any] = {}
    names: dict[str, str] = {}
    context: str | None = None
    for parameter in signature.parameters.values():
        hint = hints.get(parameter.name)
        if hint is Context:
            context = parameter.name
            continue
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY) or hint is None:
            raise HeadwayError(
                f"'{name}' cannot be a tool: its parameter '{parameter.name}' needs a name and a type annotation."
            )
        # A field may not be called like a method of the model, so each goes by a name of its own.
        names[parameter.name] = f"argument_{parameter.name}"
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[names[parameter.name]] = (hint, Field(default, alias=parameter.name))
    made = create_model(f"{name}_input", __config__=ConfigDict(extra="forbid", arbitrary_types_allowed=False), **fields)
    return made, names, context


def _text(answer: object) -> str:
    if isinstance(answer, str):
        return answer
    if answer is None:
        return "Done."
    if isinstance(answer, BaseModel):
        return answer.model_dump_json()
    try:
        return json.dumps(answer, ensure_ascii=False, default=str)
    except (TypeError, ValueError):
        return str(answer)
