"""Typed functions become tools: their signature is the input, their docstring the description."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, Optional, cast

import pytest
from inline_snapshot import snapshot
from pydantic import BaseModel, Field
from tests.support.tables import check_rows
from typing_extensions import TypedDict

from headway import HeadwayError
from headway.tools import Context, Effect, Tool, ToolResult, as_tools, tool

from .samples import Marking, reading, yolo


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Item(BaseModel):
    """Developers read this."""

    id: int
    tags: list[str] = []


@dataclass
class Point:
    x: int
    y: int = 0


class Size(TypedDict):
    width: int


async def answer(tmp_path: Path, function: Callable[..., object], /, **arguments: Any) -> str:
    made = reading(function)
    result = await yolo(tmp_path, made).call(made.name, arguments)
    assert result.ok, result.text
    return result.text


def refusal(function: Any, **options: Any) -> str:
    with pytest.raises(HeadwayError) as caught:
        tool(**options)(function) if options else tool(function)
    text = str(caught.value)
    assert "\n" not in text and text.endswith(".")
    return text


async def test_a_function_without_parameters_takes_an_empty_object(tmp_path: Path):
    def now() -> str:
        return "noon"

    assert await answer(tmp_path, now) == "noon"
    assert tool(now).parameters() == snapshot({"additionalProperties": False, "properties": {}, "type": "object"})


async def test_values_arrive_as_the_types_that_the_function_declares(tmp_path: Path):
    def show(
        item: Item,
        point: Point,
        size: Size,
        colour: Colour,
        day: date,
        level: Literal["low", "high"],
        names: list[str],
        counts: dict[str, int],
        maybe: Optional[int],  # noqa: UP045
        path: Path,
    ) -> str:
        assert isinstance(item, BaseModel) and isinstance(point, Point) and isinstance(path, Path)
        return f"{item.id} {point.x + point.y} {size['width']} {colour} {day.year} {level} {names} {counts} {maybe}"

    shown = await answer(
        tmp_path,
        show,
        item={"id": 1},
        point={"x": 2, "y": 3},
        size={"width": 4},
        colour="red",
        day="2026-01-31",
        level="low",
        names=["a"],
        counts={"b": 5},
        maybe=None,
        path="x/y",
    )
    assert shown == "1 5 4 Colour.RED 2026 low ['a'] {'b': 5} None"


async def test_what_is_left_out_has_its_default(tmp_path: Path):
    missing = object()

    def show(word: str = "hm", more: list[int] = [], odd: Any = missing) -> str:  # noqa: B006
        more.append(1)
        return f"{word} {more} {odd is missing}"

    assert [await answer(tmp_path, show) for _ in range(2)] == ["hm [1] True"] * 2


def test_schemas_say_what_a_model_needs_and_no_more():
    def plant(
        where: Annotated[Point, Field(description="The spot.")],
        count: Annotated[int, Field(ge=1, le=9, description="How many.")],
        kind: Literal["oak", "elm"] = "oak",
        items: list[Item] | None = None,
    ) -> None:
        """种树：把树种在这里。"""

    made = tool(plant)
    assert made.description == "种树：把树种在这里。"
    assert made.parameters() == snapshot(
        {
            "$defs": {
                "Item": {
                    "properties": {
                        "id": {"type": "integer"},
                        "tags": {"default": [], "items": {"type": "string"}, "type": "array"},
                    },
                    "required": ["id"],
                    "type": "object",
                },
                "Point": {
                    "additionalProperties": False,
                    "properties": {"x": {"type": "integer"}, "y": {"default": 0, "type": "integer"}},
                    "required": ["x"],
                    "type": "object",
                },
            },
            "additionalProperties": False,
            "properties": {
                "where": {"$ref": "#/$defs/Point", "description": "The spot."},
                "count": {"description": "How many.", "maximum": 9, "minimum": 1, "type": "integer"},
                "kind": {"default": "oak", "enum": ["oak", "elm"], "type": "string"},
                "items": {"items": {"$ref": "#/$defs/Item"}, "type": "array"},
            },
            "required": ["where", "count"],
            "type": "object",
        }
    )


async def test_parameters_may_be_called_like_anything(tmp_path: Path):
    def odd(copy: int, json: int, schema: int, self_: int, model_config: int, class_: int, _under: int) -> str:
        return f"{copy}{json}{schema}{self_}{model_config}{class_}{_under}"

    names = ["copy", "json", "schema", "self_", "model_config", "class_", "_under"]
    assert list(tool(odd).parameters()["properties"]) == names
    assert await answer(tmp_path, odd, **{name: at for at, name in enumerate(names)}) == "0123456"


async def test_a_field_as_the_default_is_understood(tmp_path: Path):
    def pick(count: int = Field(ge=1, description="How many."), more: int = Field(default=7)) -> str:
        return f"{count + more}"

    assert tool(pick).parameters()["required"] == ["count"]
    assert tool(pick).parameters()["properties"]["count"]["minimum"] == 1
    assert await answer(tmp_path, pick, count=2) == "9"


class Boxed(BaseModel):
    size: int


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "Done."),
        ("as it is", "as it is"),
        ({"ключ": [1, None]}, '{"ключ": [1, null]}'),
        (Boxed(size=3), '{"size": 3}'),
        ([Boxed(size=3), Point(1), Colour.RED], '[{"size": 3}, {"x": 1, "y": 0}, "red"]'),
        (b"caf\xc3\xa9 \xff", "café �"),
        (3, "3"),
        (True, "true"),
        (date(2026, 1, 31), "2026-01-31"),
        ({b"\xff"}, "{b'\\xff'}"),
        (float("nan"), "NaN"),
        ("\ud800", "�"),
    ],
)
async def test_whatever_is_returned_becomes_text(tmp_path: Path, value: object, text: str):
    def give() -> Any:
        return value

    async def give_later() -> Any:
        return value

    assert await answer(tmp_path, give) == text
    assert await answer(tmp_path, give_later) == text
    assert await answer(tmp_path, lambda_named(lambda: give_later())) == text


def lambda_named(function: Any) -> Any:
    function.__name__ = "named"
    return function


async def test_objects_that_no_json_can_hold_are_told_by_their_words(tmp_path: Path):
    class Odd:
        def __str__(self) -> str:
            return "an odd one"

    loop: list[Any] = []
    loop.append(loop)
    assert await answer(tmp_path, lambda_named(lambda: Odd())) == "an odd one"
    assert await answer(tmp_path, lambda_named(lambda: loop)) == "[[...]]"


async def test_a_tool_result_is_kept_as_it_is(tmp_path: Path):
    def count() -> ToolResult:
        return ToolResult("three", exit_code=3, files=("a",))

    result = await yolo(tmp_path, count).call("count", "")
    assert result == ToolResult("three", effect=Effect.EXECUTE, exit_code=3, files=("a",))


class Counter:
    """Counts."""

    step: str = "not a parameter"

    def __init__(self) -> None:
        self.total = 0

    def add(self, amount: int) -> int:
        """Adds."""
        self.total += amount
        return self.total

    def __call__(self, amount: int) -> int:
        return self.add(amount)


class Later:
    async def __call__(self, amount: int) -> int:
        return amount


async def test_methods_partials_and_callable_objects_are_functions_too(tmp_path: Path):
    counter = Counter()
    assert await answer(tmp_path, counter.add, amount=2) == "2"
    assert await answer(tmp_path, counter, amount=2) == "4"
    assert await answer(tmp_path, Later(), amount=2) == "2"
    bound = functools.partial(counter.add, amount=5)
    assert (tool(bound).name, tool(bound).description) == ("add", "Adds.")
    assert await answer(tmp_path, bound) == "9"
    assert (tool(counter).name, tool(counter).description) == ("Counter", "Counts.")


async def test_a_wrapped_function_keeps_its_signature(tmp_path: Path):
    def doubling(function: Callable[..., int]) -> Callable[..., int]:
        @functools.wraps(function)
        def doubled(*args: Any, **kwargs: Any) -> int:
            return 2 * function(*args, **kwargs)

        return doubled

    @doubling
    def add(left: int, right: int) -> int:
        return left + right

    assert await answer(tmp_path, add, left=1, right=2) == "6"


async def test_types_that_are_local_to_a_function_are_found(tmp_path: Path):
    class Inner(BaseModel):
        x: int

    def take(inner: Inner) -> NotThere:  # noqa: F821  # pyright: ignore
        return inner.x

    assert await answer(tmp_path, cast("Any", take), inner={"x": 3}) == "3"


async def test_the_context_is_not_the_models_to_fill(tmp_path: Path):
    def where(context: Context, deep: int, also: Context | None = None) -> str:
        assert context is also
        return context.project

    assert list(tool(where).parameters()["properties"]) == ["deep"]
    assert await answer(tmp_path, where, deep=1) == str(tmp_path)
    made = reading(where)
    assert "context: Unknown field" in (await yolo(tmp_path, made).call("where", {"deep": 1, "context": 1})).text


def untyped(value) -> str:  # pyright: ignore
    return ""


def starred(*values: int) -> str:
    return ""


def keywords(**values: int) -> str:
    return ""


def positional(value: int, /) -> str:
    return ""


def unknown(value: Nowhere) -> str:  # noqa: F821  # pyright: ignore
    return ""


def unfit(fine: int, value: threading.Lock) -> str:
    return ""


def unsendable(value: Callable[[], int]) -> str:
    return ""


def yielding() -> Any:
    yield 1


UNFIT: list[tuple[Any, str]] = [
    (untyped, "'untyped' cannot be a tool: its parameter 'value' needs a type annotation"),
    (starred, "'starred' cannot be a tool: a model cannot fill '*values"),
    (keywords, "'keywords' cannot be a tool: a model cannot fill '**values"),
    (positional, "'positional' cannot be a tool: a model cannot fill 'value"),
    (unknown, "'unknown' cannot be a tool: name 'Nowhere' is not defined; import or define"),
    (unfit, "the type of 'value' is not one that a model can send"),
    (unsendable, "the type of 'value' is not one that a model can send"),
    (print, "'print' cannot be a tool: it is built in and does not describe its parameters; wrap it in a typed"),
    (len, "'len' cannot be a tool: it is built in"),
    (yielding, "it is a generator; let it return its answer instead"),
    (lambda: 1, "A tool cannot be named '<lambda>'"),
    ("read", "'read' is not a function; write @tool(effect=\"read\") above one"),
    (3, "'3' is not a function"),
    (Counter, "'Counter' is a class; pass an instance of it"),
    (Marking, "'Marking' is a class; pass an instance of it"),
]


def test_what_cannot_be_a_tool_is_refused_in_a_sentence():
    def check(function: Any, words: str) -> None:
        assert words in refusal(function)

    check_rows(UNFIT, check)


def test_a_bad_name_is_refused():
    def check(name: str) -> None:
        def fine() -> None: ...

        fine.__name__ = name
        assert "A tool cannot be named" in refusal(fine)
        with pytest.raises(HeadwayError, match="A tool cannot be named"):
            as_tools([Marking(Effect.READ, "fine", aliases=(name,))])

    check_rows(["", " ", "a b", "1st", "-x", "搜索", "a" * 65, "a\n", "a.b"], check)


def test_a_bad_effect_is_refused():
    assert "'reed' is not a valid effect; choose from: read, write" in refusal(Counter().add, effect="reed")


def test_two_tools_of_one_name_or_alias_are_refused():
    def marking() -> None: ...

    for others in ([marking], [Marking(Effect.READ, "x", aliases=("marking",))], [Marking(Effect.READ)]):
        with pytest.raises(HeadwayError, match="Two tools are named 'marking'; give one of them another name"):
            as_tools([Marking(Effect.READ), *others])


def test_the_decorated_function_is_still_that_function():
    @tool
    def add(left: int, right: int = 1) -> int:
        """Adds."""
        return left + right

    @tool(effect="read", name="sum-up", seconds=3, output_chars=5)
    async def total() -> int:
        return 3

    value: int = add(1, 2)
    assert value == 3
    assert add(2) == 3 and add(2, right=5) == 7
    assert (add.__name__, add.__doc__, add.__wrapped__(1)) == ("add", "Adds.", 2)  # pyright: ignore
    assert add.effect is Effect.EXECUTE
    assert (total.name, total.effect, total.limits.seconds, total.limits.output_chars) == ("sum-up", "read", 3, 5)
    assert isinstance(add, Tool)
    assert tool(effect="read")(add).effect is Effect.READ


async def test_a_function_that_runs_in_a_thread_sees_the_callers_context_variables(tmp_path: Path):
    from contextvars import ContextVar

    who: ContextVar[str] = ContextVar("who", default="nobody")
    who.set("Ada")
    assert await answer(tmp_path, lambda_named(lambda: who.get())) == "Ada"


@pytest.mark.parametrize("seconds", [-1, 0, -0.5, float("nan")])
def test_a_time_that_is_none_is_refused(seconds: float):
    with pytest.raises(HeadwayError, match=r"^`seconds` must be more than 0, not .*\.$"):
        tool(effect="read", seconds=seconds)
