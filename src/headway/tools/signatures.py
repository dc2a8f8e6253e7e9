"""The signature of a function as the input of a tool: each parameter a field, checked by its annotation."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Annotated, Any, get_args, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, create_model
from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError
from pydantic.fields import FieldInfo

from headway.core.errors import HeadwayError
from headway.core.text import sanitize_for_display
from headway.tools.base import Context, build_schema


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
