"""Plain typed functions as tools: `@tool(effect="read")`, or just the function itself in a list of tools.

The signature becomes the input, the docstring the description. A function that declares no effect counts as one that
executes something, so that it is asked about and refused in plan mode. How a signature is read is in `signatures`.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
import sys
from collections.abc import Awaitable, Callable, Iterable
from typing import Annotated, Any, Generic, ParamSpec, TypeAlias, TypeVar, cast, get_args, get_type_hints, overload

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, create_model
from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from headway.core.errors import HeadwayError
from headway.core.text import sanitize_for_display
from headway.tools.base import Context, Tool, ToolLimits, ToolResult, build_schema, check_tool_name
from headway.tools.effects import Effect, EffectName
from headway.tools.threads import run_in_thread

# The signature of a function as the input of a tool: each parameter a field, checked by its annotation.


def name_of_function(function: Callable[..., object]) -> str:
    """The function's own name; that of the class for an object that can be called."""
    function = _unwrap(function)
    return getattr(function, "__name__", type(function).__name__)


def describe_function(function: Callable[..., object]) -> str:
    return inspect.getdoc(_unwrap(function)) or ""


def build_input_model(function: Callable[..., object], name: str) -> tuple[type[BaseModel], dict[str, str], list[str]]:
    """The input's model, the field of each parameter, and the parameters that take the context."""
    signature, hints = _read_signature(function, name)
    fields: dict[str, Any] = {}
    names: dict[str, str] = {}
    contexts: list[str] = []
    for parameter in signature.parameters.values():
        hint = hints.get(parameter.name)
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            bare = parameter.replace(annotation=parameter.empty)
            raise _unfit_error(name, f"a model cannot fill '{bare}'; use parameters that can be passed by name")
        if hint is None:
            raise _unfit_error(name, f"its parameter '{parameter.name}' needs a type annotation")
        if hint is Context or Context in get_args(hint):
            contexts.append(parameter.name)
            continue
        # A field may not be called like a method of the model, so each goes by a name of its own.
        names[parameter.name] = f"argument_{parameter.name}"
        fields[names[parameter.name]] = _to_field(parameter, hint)
    return _make_model(name, fields), names, contexts


def _to_field(parameter: inspect.Parameter, hint: Any) -> tuple[Any, Any]:
    if isinstance(parameter.default, FieldInfo):
        return Annotated[hint, parameter.default], Field(alias=parameter.name)
    if parameter.default is parameter.empty:
        return hint, Field(alias=parameter.name)
    return hint, Field(parameter.default, alias=parameter.name)


def _make_model(name: str, fields: dict[str, Any]) -> type[BaseModel]:
    try:
        made = create_model(f"{name}_input", __config__=ConfigDict(extra="forbid"), **fields)
        build_schema(made)
    except (PydanticUserError, PydanticUndefinedAnnotation, TypeError, ValueError) as error:
        raise _unfit_error(
            name,
            f"the type of '{_find_faulty_parameter(fields)}' is not one that a model can send ({_first_line(error)})",
        ) from None
    return made


def _find_faulty_parameter(fields: dict[str, Any]) -> str:
    """The first parameter whose type is at fault."""
    for hint, field in fields.values():
        try:
            TypeAdapter(hint).json_schema()
        except Exception:  # which one it is was caught before; here only the place is wanted
            return field.alias
    return "one parameter"


def _read_signature(function: Callable[..., object], name: str) -> tuple[inspect.Signature, dict[str, Any]]:
    bare = _unwrap(function)
    target = bare if inspect.isroutine(bare) else type(bare).__call__
    if inspect.isgeneratorfunction(target) or inspect.isasyncgenfunction(target):
        raise _unfit_error(name, "it is a generator; let it return its answer instead")
    if inspect.isbuiltin(bare):
        raise _unfit_error(name, "it is built in and does not describe its parameters; wrap it in a typed function")
    try:
        signature = inspect.signature(function)
        known = _find_enclosing_names(inspect.unwrap(target))
        hints = get_type_hints(_Parameters(target), localns=known, include_extras=True)
    except NameError as error:
        raise _unfit_error(
            name,
            (
                f"{_first_line(error)}; import or define the types of its parameters "
                "in the module where it becomes a tool"
            ),
        ) from None
    except (TypeError, ValueError, SyntaxError, AttributeError) as error:
        raise _unfit_error(name, f"its signature is unreadable ({_first_line(error)})") from None
    return signature, hints


class _Parameters:
    """A function's annotations without that of what it returns, which need not be known."""

    def __init__(self, function: Any) -> None:
        function = inspect.unwrap(function)
        self.__annotations__ = {key: hint for key, hint in function.__annotations__.items() if key != "return"}
        self.__globals__ = getattr(function, "__globals__", {})


def _find_enclosing_names(function: Any) -> dict[str, Any]:
    """Names of the function in which this one is defined, where that is still running: its types may be there."""
    outer, inside, _ = getattr(function, "__qualname__", "").rpartition(".<locals>.")
    found: dict[str, Any] = {}
    frame = sys._getframe() if inside else None  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        code = frame.f_code
        same_module = frame.f_globals is getattr(function, "__globals__", None)
        if same_module and (outer == code.co_qualname or outer.startswith(f"{code.co_qualname}.<locals>.")):
            found = {**frame.f_locals, **found}
        frame = frame.f_back
    return found


def _unwrap(function: Callable[..., object]) -> Callable[..., object]:
    while isinstance(function, functools.partial):
        function = function.func
    return function


def _unfit_error(name: str, why: str) -> HeadwayError:
    return HeadwayError(f"'{name}' cannot be a tool: {why}.")


def _first_line(error: Exception) -> str:
    return sanitize_for_display(str(error).strip().partition("\n")[0].rstrip("."), 200)


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
        self.name: str = check_tool_name(name or name_of_function(function))
        self.description: str = describe_function(function)
        self.effect: Effect = _check_effect(effect)
        self.limits = limits
        self.can_be_stopped: bool = inspect.iscoroutinefunction(function)
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
