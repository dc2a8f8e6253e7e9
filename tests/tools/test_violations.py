"""Input errors: every violation on one line, at its path, in words that a model can act on."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from ipaddress import IPv4Address
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, FiniteFloat, HttpUrl
from tests.support.tables import check_rows
from typing_extensions import TypedDict

from headway.tools import ToolFault, tool

HEAD = "call_me was not run. Correct this and call it again:\n"


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Item(BaseModel):
    model_config = ConfigDict(extra="forbid")
    id: int
    kind: Literal["x", "y"] = "x"


class Dog(BaseModel):
    type: Literal["dog"]
    age: int


class Cat(BaseModel):
    type: Literal["cat"]
    lives: int


@dataclass
class Point:
    x: int


class Size(TypedDict):
    width: int


def cursed(value: int) -> int:
    raise ValueError("no\x1b[31m\nnot this")


def one_of(hint: Any) -> Any:
    def call_me(value: int) -> None: ...

    call_me.__annotations__["value"] = hint
    return tool(call_me)


def faults(hint: Any, value: object) -> list[str]:
    with pytest.raises(ToolFault) as caught:
        one_of(hint).parse_input({"value": value})
    text = str(caught.value)
    assert text.startswith(HEAD)
    return [line.removeprefix("- ") for line in text.removeprefix(HEAD).split("\n")]


FAULTS: list[tuple[Any, object, str]] = [
    (int, "x", "value: Expected whole number, received 'x'"),
    (int, 2.5, "value: Expected whole number, received 2.5"),
    (int, None, "value: Expected whole number, received null"),
    (int, [], "value: Expected whole number, received array"),
    (int, "9" * 5000, "value: Must have fewer digits"),
    (float, "x", "value: Expected number, received 'x'"),
    (float, {}, "value: Expected number, received object"),
    (FiniteFloat, float("inf"), "value: Expected finite number, received inf"),
    (Decimal, "x", "value: Expected number, received 'x'"),
    (bool, "maybe", "value: Expected boolean, received 'maybe'"),
    (bool, 3, "value: Expected boolean, received 3"),
    (str, 3, "value: Expected string, received number"),
    (str, None, "value: Expected string, received null"),
    (str, True, "value: Expected string, received boolean"),
    (list[int], "x", "value: Expected array, received string"),
    (set[int], 3, "value: Expected array, received number"),
    (tuple[int, str], [1], "value[1]: Required"),
    (tuple[int, str], [1, "a", 2], "value: Must have at most 2 items, received 3"),
    (dict[str, int], [], "value: Expected object, received array"),
    (dict[str, int], {"a": "b"}, "value.a: Expected whole number, received 'b'"),
    (dict[int, int], {"a": 1}, "value.a: As a key: Expected whole number, received 'a'"),
    (list[Item], [{"id": 1}, {"id": 2}, {"id": "q"}], "value[2].id: Expected whole number, received 'q'"),
    (list[Item], [3], "value[0]: Expected object, received number"),
    (Item, {"id": 1, "odd": 2}, "value.odd: Unknown field"),
    (Item, {"id": 1, "kind": "z"}, "value.kind: Expected 'x' | 'y', received 'z'"),
    (Point, {"x": "q"}, "value.x: Expected whole number, received 'q'"),
    (Point, {"x": 1, "y": 1}, "value.y: Unknown field"),
    (Point, 3, "value: Expected object, received number"),
    (Size, {}, "value.width: Required"),
    (Literal[1, "a, b or c", None], 2, "value: Expected 1 | 'a, b or c' | null, received 2"),
    (Colour, "green", "value: Expected 'red' | 'blue', received 'green'"),
    (Colour, None, "value: Expected 'red' | 'blue', received null"),
    (date, "soon", "value: Expected date such as '2026-01-31', received 'soon'"),
    (date, "2026-02-30", "value: Expected date such as '2026-01-31', received '2026-02-30'"),
    (datetime, "soon", "value: Expected date and time such as '2026-01-31T12:00:00Z', received 'soon'"),
    (time, "q", "value: Expected time such as '12:00:00', received 'q'"),
    (timedelta, "q", "value: Expected duration such as 'PT90S', received 'q'"),
    (HttpUrl, "nope", "value: Expected URL such as 'https://example.com/', received 'nope'"),
    (HttpUrl, "ftp://x", "value: Must be a URL that begins with 'http' | 'https', received 'ftp://x'"),
    (UUID, "x", "value: Expected UUID, received 'x'"),
    (Path, 3, "value: Expected path, received number"),
    (IPv4Address, "x", "value: Expected IPv4 address, received 'x'"),
    (Annotated[int, Field(ge=1)], 0, "value: Must be at least 1, received 0"),
    (Annotated[int, Field(gt=1)], 1, "value: Must be more than 1, received 1"),
    (Annotated[int, Field(le=9)], 10, "value: Must be at most 9, received 10"),
    (Annotated[float, Field(lt=9)], 9, "value: Must be less than 9, received 9"),
    (Annotated[int, Field(multiple_of=5)], 3, "value: Must be a multiple of 5, received 3"),
    (Annotated[str, Field(min_length=1)], "", "value: Must have at least 1 character, received 0"),
    (Annotated[str, Field(max_length=2)], "abc", "value: Must have at most 2 characters, received 3"),
    (Annotated[list[int], Field(min_length=2)], [1], "value: Must have at least 2 items, received 1"),
    (Annotated[list[int], Field(max_length=1)], [1, 2], "value: Must have at most 1 item, received 2"),
    (Annotated[str, Field(pattern="^a+$")], "b", "value: Must match the pattern ^a+$, received 'b'"),
    (Annotated[int, AfterValidator(cursed)], 1, "value: no␛[31m not this"),
    (int | list[int] | None, "x", "value: Expected whole number | array, received 'x'"),
    (int | list[int], [1, "x"], "value[1]: Expected whole number, received 'x'"),
    (Item | str, {"id": "q"}, "value.id: Expected whole number, received 'q'"),
    (Item | str, {"id": 1, "odd": 2}, "value.odd: Unknown field"),
    (Item | str, 3, "value: Expected object | string, received number"),
    (Literal["all"] | int, "x", "value: Expected 'all' | whole number, received 'x'"),
    (Annotated[str, Field(max_length=1)] | int, "xy", "value: Must have at most 1 character, received 2"),
    (Dog | Cat, {"type": "dog"}, "value.age: Required"),
    (list[Dog | Cat], [{"type": "cat", "lives": "x"}], "value[0].lives: Expected whole number, received 'x'"),
    (dict[str, list[int | None]], {"a": [1, "b"]}, "value.a[1]: Expected whole number, received 'b'"),
    (
        Annotated[Dog | Cat, Field(discriminator="type")],
        {"type": "cow"},
        "value.type: Expected 'dog' | 'cat', received 'cow'",
    ),
    (Annotated[Dog | Cat, Field(discriminator="type")], {}, "value.type: Required"),
    (Annotated[Dog | Cat, Field(discriminator="type")], {"type": "dog"}, "value.age: Required"),
    (Annotated[Dog | Cat, Field(discriminator="type")], 3, "value: Expected object, received number"),
]


def test_a_fault_is_told_in_one_line_with_its_path():
    def check(hint: Any, value: object, fault: str) -> None:
        assert faults(hint, value) == [fault]

    check_rows(FAULTS, check)


def test_numbers_sent_as_text_are_taken():
    assert one_of(int).parse_input({"value": "3"}).argument_value == 3
    assert one_of(float).parse_input({"value": "2.5"}).argument_value == 2.5


def test_every_fault_is_named_in_the_order_of_the_fields():
    def call_me(first: int, second: list[Item], third: str, fourth: int | str) -> None: ...

    with pytest.raises(ToolFault) as caught:
        tool(call_me).parse_input({"fourth": [], "second": [{"id": 1}, {"kind": 3, "z": 1}], "third": 3, "fifth": 1})
    assert str(caught.value) == HEAD + "\n".join(
        [
            "- first: Required",
            "- second[1].id: Required",
            "- second[1].kind: Expected 'x' | 'y', received 3",
            "- second[1].z: Unknown field",
            "- third: Expected string, received number",
            "- fourth: Expected whole number | string, received array",
            "- fifth: Unknown field",
            "Its fields are: first, second, third, fourth.",
        ]
    )


def call_me(value: str = "", more: dict[str, Any] | None = None) -> None: ...


@pytest.mark.parametrize("text", ["", "  \n", "{}", "\ufeff{}"])
def test_no_text_means_no_arguments(text: str):
    assert tool(call_me).parse_input(text).model_dump() == {"argument_value": "", "argument_more": None}
    assert tool(call_me).parse_input(None).model_dump() == {"argument_value": "", "argument_more": None}


def test_text_that_is_no_object_is_refused_with_the_reason():
    no = "not valid JSON"

    def check(text: str, words: str) -> None:
        if text == "null":
            assert tool(call_me).parse_input(text)
            return
        with pytest.raises(ToolFault) as caught:
            tool(call_me).parse_input(text)
        assert words in str(caught.value)

    check_rows(
        [
            ("{", f"its arguments are {no} (expecting property name enclosed in double quotes at line 1, column 2)"),
            ("nonsense", "not valid JSON (expecting value at line 1, column 1); send one JSON object."),
            ("{'value': 1}", "not valid JSON"),
            ('{"value": NaN}', "not valid JSON (NaN is not a JSON value at line 1, column 11)"),
            ('{"more": ' + '{"a":' * 10_000 + "1" + "}" * 10_001, "not valid JSON (it is nested too deeply)"),
            ("[" * 10_000, "not valid JSON (it is nested too deeply)"),
            ('{"value": ' + "9" * 10_000 + "}", "not valid JSON (it has a number with too many digits)"),
            ("[1]", "(root): Expected object, received array"),
            ("3", "(root): Expected object, received number"),
            ("null", "call_me"),
            ('{"value": "a", "value": "b"}', "- value: Duplicate field"),
            ('{"more": {"x": [{"a": 1, "a": 2}]}}', "- more.x[0].a: Duplicate field"),
            (
                '{"value": 1, "more": {"a": 1, "a": 2}}',
                "- value: Expected string, received number\n- more.a: Duplicate field",
            ),
        ],
        check,
    )


def test_an_object_that_is_nested_too_deeply_is_refused():
    deep: dict[str, Any] = {}
    for _ in range(10_000):
        deep = {"a": deep}
    with pytest.raises(ToolFault, match="nested too deeply"):
        tool(call_me).parse_input({"more": deep})


def test_ten_megabytes_of_text_are_read_and_a_fault_in_them_stays_short():
    long = "x" * 10_000_000
    assert tool(call_me).parse_input(json.dumps({"value": long})).argument_value == long  # pyright: ignore
    with pytest.raises(ToolFault) as caught:
        tool(call_me).parse_input(json.dumps({"more": long, long: 1}))
    assert len(str(caught.value)) < 400


def test_lone_surrogates_are_replaced_wherever_they_are():
    for sent in (
        '{"value": "\\ud800", "more": {"\\udfff": ["\\ud800"]}}',
        {"value": "\ud800", "more": {"\udfff": ["\ud800"]}},
    ):
        read = tool(call_me).parse_input(sent).model_dump()
        assert read == {"argument_value": "�", "argument_more": {"�": ["�"]}}


HOSTILE = st.text(
    st.sampled_from(["\x1b", "\n", "\r", "\u2028", "\u202e", "\x9b", "a", "[", "'", "\ud800", "\x00"]), min_size=1
)


@given(HOSTILE, HOSTILE)
def test_hostile_arguments_put_neither_lines_nor_escape_sequences_into_a_fault(name: str, value: str):
    class Nested(BaseModel):
        model_config = ConfigDict(extra="forbid")
        level: Literal["b"] = "b"

    def call_me(number: int, nested: Nested, named: dict[str, int], url: HttpUrl | int) -> None: ...

    with pytest.raises(ToolFault) as caught:
        tool(call_me).parse_input(
            {
                "number": value,
                "nested": {"level": value, f"x{name}": 1},
                "named": {name: value},
                "url": value,
                f"y{name}": 1,
            }
        )
    lines = str(caught.value).split("\n")
    assert len(lines) == 8
    assert lines[-1] == "Its fields are: number, nested, named, url."
    assert all(line.isprintable() for line in lines)
    assert "".join(lines).encode()
