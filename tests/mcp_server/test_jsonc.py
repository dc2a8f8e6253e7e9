"""One entry of a settings file is set or removed, and everything else stays as a person wrote it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from headway.core.rules import is_array, is_object
from headway.mcp.jsonc import BadJsonc, parse_jsonc, remove_entry, set_entry

KEYS = st.sampled_from(["a", "b", "servers", "headway", 'q"', "é//"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6) | st.just("/* no comment */"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=4)
NOISE = st.sampled_from(["", " ", "\n", "\n\t", " // a } comment,\n", "/* { */", "\r\n  "])
PATH = ["servers", "headway"]
ENTRY = {"command": "headway", "args": ["mcp"]}


@st.composite
def documents(draw: st.DrawFn) -> str:
    """An object as a person may have written it: comments and blanks anywhere, and commas at the end."""

    def write(value: Any) -> str:
        def noise() -> str:
            return draw(NOISE)

        if is_object(value):
            parts = [f"{noise()}{json.dumps(k)}{noise()}:{noise()}{write(v)}{noise()}" for k, v in value.items()]
        elif is_array(value):
            parts = [f"{noise()}{write(v)}{noise()}" for v in value]
        else:
            return json.dumps(value, ensure_ascii=draw(st.booleans()))
        end = "," + noise() if parts and draw(st.booleans()) else noise()
        opening, closing = "{}" if isinstance(value, dict) else "[]"
        return f"{opening}{','.join(parts)}{end}{closing}"

    value = draw(OBJECTS.filter(lambda made: isinstance(made.get("servers", {}), dict)))
    return draw(NOISE) + write(value) + draw(NOISE)


@given(documents())
def test_only_the_entry_is_set_and_removed(text: str) -> None:
    before: dict[str, Any] = parse_jsonc(text)
    wanted = {**before, "servers": {**before.get("servers", {}), "headway": ENTRY}}
    changed = set_entry(text, PATH, ENTRY)
    assert parse_jsonc(changed) == wanted
    assert set_entry(changed, PATH, ENTRY) == changed
    assert [line for line in text.split("//")[1:] if "a } comment," in line] == [
        line for line in text.split("//")[1:] if "a } comment," in line and "// a } comment," in changed
    ]
    removed = remove_entry(changed, PATH)
    del wanted["servers"]["headway"]
    assert parse_jsonc(removed) == wanted
    assert remove_entry(removed, PATH) == removed


def test_a_file_as_people_keep_it_stays_as_it_is_around_the_entry() -> None:
    text = """\
{
    // fonts
    "font": 14, /* large */
    "servers": {
        "other": { "command": "x" } // mine
    },
}
"""
    changed = set_entry(text, PATH, ENTRY)
    assert changed == snapshot("""\
{
    // fonts
    "font": 14, /* large */
    "servers": {
        "other": { "command": "x" }, // mine
        "headway": {
            "command": "headway",
            "args": [
                "mcp"
            ]
        }
    },
}
""")
    assert remove_entry(changed, PATH) == text
    assert set_entry("", PATH, ENTRY) == snapshot("""\
{
  "servers": {
    "headway": {
      "command": "headway",
      "args": [
        "mcp"
      ]
    }
  }
}
""")


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("{", "line 1, column 2"),
        ('{"a": 1\n "b": 2}', "line 2, column 2"),
        ("{'a': 1}", "line 1, column 2"),
        ("[1", "line 1, column 3"),
        ("{} x", "line 1, column 4"),
        ('{"a": tru}', "line 1, column 7"),
        ("[" * 100_000, "line 1, column 1"),
        ('{"servers": 5}', "line 1, column 13"),
        ("[]", "line 1, column 1"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(text: str, where: str) -> None:
    with pytest.raises(BadJsonc, match=where):
        set_entry(text, PATH, ENTRY)
