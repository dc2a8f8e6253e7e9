"""Scripts as JSON files: the three forms they have, and every fault named with its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import ModelRequest
from pydantic_ai.models import ModelRequestParameters

from headway.core.errors import ModelNotReady
from headway.testing import ScriptedModel

TURNS: list[Any] = ["One.", {"text": "Two.", "calls": [{"name": "bash", "args": {"command": "ls"}, "id": "x"}]}]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "script.json"


def write(file: Path, data: object) -> Path:
    file.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return file


def faults(file: Path) -> list[str]:
    """What is wrong with the file, without the dashes before it."""
    with pytest.raises(ModelNotReady) as caught:
        ScriptedModel.from_file(file)
    first, *lines = str(caught.value).splitlines()
    assert first == f"The script '{file}' is not valid; correct this and try again:"
    return [line.removeprefix("- ") for line in lines]


async def texts(model: ScriptedModel, *prompts: str) -> list[str | None]:
    asked = ([ModelRequest.user_text_prompt(prompt)] for prompt in prompts)
    return [(await model.request([*messages], None, ModelRequestParameters())).text for messages in asked]


@pytest.mark.parametrize("data", [TURNS, {"turns": TURNS}], ids=["list", "object"])
async def test_turns_are_read(file: Path, data: object) -> None:
    assert await texts(ScriptedModel.from_file(write(file, data)), "Hi", "Hi") == ["One.", "Two."]


async def test_conversations_are_read(file: Path) -> None:
    data = {"conversations": [{"match": "parser", "turns": ["P"]}, {"match": "docs", "turns": ["D"]}]}
    model = ScriptedModel.from_file(write(file, data), context_window=500)
    assert await texts(model, "the docs", "the parser") == ["D", "P"]
    assert model.context_window == 500


def test_an_empty_script_is_a_script(file: Path) -> None:
    assert ScriptedModel.from_file(write(file, [])).requests == []
    assert ScriptedModel.from_file(write(file, {"turns": []})).requests == []


def test_every_fault_is_named_with_its_place(file: Path) -> None:
    turns: list[Any] = [
        {"text": 5},
        {"calls": {"name": "bash"}},
        {"calls": ["bash", {"name": "bash", "arguments": {}}]},
        {"error": {"status": 200, "kind": "odd"}},
        {"usage": {"input_tokens": -1, "output": 3}},
        {"delay": "long"},
        None,
    ]
    assert faults(write(file, {"turns": turns})) == [
        "turns[0].text: Expected string, received number",
        "turns[1].calls: Expected array, received object",
        "turns[2].calls[0]: Expected object, received string",
        "turns[2].calls[1].arguments: Unknown field",
        "turns[3].error.status: Must be at least 400, received 200",
        "turns[3].error.kind: Expected 'http' | 'connection' | 'timeout' | 'context', received 'odd'",
        "turns[4].usage.input_tokens: Must be at least 0, received -1",
        "turns[4].usage.output: As a key: Expected 'input_tokens' | 'output_tokens' | 'cache_read_tokens' | "
        "'cache_write_tokens', received 'output'",
        "turns[5].delay: Expected number, received 'long'",
        "turns[6]: Expected object, received null",
    ]


OTHER_FORMS: list[tuple[Any, list[str]]] = [
    ({}, ["(root): Expected either turns or conversations"]),
    ({"turns": [], "conversations": []}, ["(root): Expected either turns or conversations"]),
    ({"turn": []}, ["turn: Unknown field"]),
    (5, ["(root): Expected object, received number"]),
    (
        {"conversations": [{"match": "", "turns": []}]},
        ["conversations[0].match: Must have at least 1 character, received 0"],
    ),
    (
        {"conversations": [{"match": "a"}, 5]},
        ["conversations[0].turns: Required", "conversations[1]: Expected object, received number"],
    ),
    (
        {"conversations": [{"match": "a", "turns": []}, {"match": "a", "turns": []}]},
        ["conversations[1].match: Duplicate match"],
    ),
    (
        '{"turns": [], "turns": [{"text": "a", "text": "b"}]}',
        ["turns: Duplicate field", "turns[0].text: Duplicate field"],
    ),
]


@pytest.mark.parametrize(("data", "expected"), OTHER_FORMS)
def test_a_file_of_another_form_is_refused(file: Path, data: object, expected: list[str]) -> None:
    assert faults(write(file, data)) == expected


@pytest.mark.parametrize("text", ["", "{", "turns: []", "[NaN]"])
def test_what_is_no_json_says_where(file: Path, text: str) -> None:
    (fault,) = faults(write(file, text))
    assert fault.startswith("(root): Not valid JSON: ")


def test_what_is_no_text_is_refused(file: Path) -> None:
    file.write_bytes(b"\xff\xfe\x00")
    assert faults(file)[0].startswith("(root): Not valid JSON: ")


def test_a_file_that_is_not_there_is_named(file: Path) -> None:
    with pytest.raises(ModelNotReady, match=r"cannot be read \(No such file or directory\); name a readable JSON file"):
        ScriptedModel.from_file(file)


def test_a_folder_is_no_script(tmp_path: Path) -> None:
    with pytest.raises(ModelNotReady, match="cannot be read"):
        ScriptedModel.from_file(tmp_path)


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["turns", "conversations", "match", "text", "calls", "name", "args"]), inner)
        | st.dictionaries(st.sampled_from(["error", "status", "usage", "delay", "x"]), inner)
    ),
    max_leaves=12,
)


@given(ANY)
def test_any_json_is_a_script_or_refused_with_reasons(tmp_path_factory: pytest.TempPathFactory, data: object) -> None:
    file = write(tmp_path_factory.mktemp("script") / "script.json", data)
    try:
        ScriptedModel.from_file(file)
    except ModelNotReady as error:
        assert "\n- " in str(error)
