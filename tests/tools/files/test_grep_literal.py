"""The text that every match must have: found where it is sure, and never wrong."""

from __future__ import annotations

import codecs
from typing import Any
from unittest.mock import patch

import regex
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.support.counts import some
from tests.support.projects import temporary_folder
from tests.support.tables import check_rows
from tests.tools.files.finding import answer, write

from headway.tools.files.grep import Grep, find_literal
from headway.tools.files.workspace import Workspace


def test_the_longest_sure_text_of_a_pattern_is_found():
    def check(pattern: str, literal: str | None) -> None:
        assert find_literal(pattern, fixed=False, ignore_case=False) == literal

    check_rows(
        [
            ("import os", "import os"),
            (r"def \w+_name\(self", "_name(self"),
            (r"\bfoo_bar\b", "foo_bar"),
            (r"^class Tool.*:$", "class Tool"),
            ("abc+def", "abc"),
            ("abcd*efg", "abc"),
            ("abcd?e", "abc"),
            ("abcd{2,3}e", "abc"),
            ("(x|y)abc(?:z)", "abc"),
            ("[|]abc[(]", "abc"),
            (r"a\.b\.c", "a.b.c"),
            ("ab", None),
            ("abc|def", None),
            ("(abc|def)", None),
            ("(?i)abcdef", None),
            ("(?x)abc def", None),
            ("(?#abc)def", None),
            (r"abc\x41def", None),
            (r"(abc)\1def", None),
            ("abc{e<=1}def", None),
            ("[[:alpha:]]abc", None),
            ("你好吗abc", "abc"),
            ("(*FAIL)abc", None),
        ],
        check,
    )


def test_plain_text_is_its_own_literal_as_far_as_it_is_ascii():
    assert find_literal("a|b(c", fixed=True, ignore_case=False) == "a|b(c"
    assert find_literal("né.*", fixed=True, ignore_case=False) is None
    assert find_literal("one\ntwo!", fixed=True, ignore_case=False) == "two!"


def test_ignoring_case_letters_with_variants_outside_ascii_are_not_relied_on():
    assert find_literal("breakfast_abc", fixed=False, ignore_case=True) == "t_abc"
    assert find_literal("risk", fixed=False, ignore_case=True) is None


def test_no_other_letter_has_a_variant_outside_ascii():
    outside = "".join(chr(code) for code in range(128, 0x110000) if not 0xD800 <= code < 0xE000)
    special = {
        char for char in map(chr, range(128)) if regex.search(regex.escape(char), outside, regex.IGNORECASE) is not None
    }
    assert special == set("iksIKS")


ATOMS = [
    "a",
    "b",
    "abc",
    "bca",
    "cab",
    r"\.",
    r"\d",
    r"\w",
    r"\b",
    ".",
    "^",
    "$",
    "[ab]",
    "[^a]",
    "[]a]",
    r"[\]b]",
    " ",
]
HARD = [
    "(?i)",
    "(?x)",
    "(?i:ab)",
    "(?#abc)",
    r"\x61",
    r"\Q",
    "{",
    "}",
    "]",
    "#",
    "(?=abc)",
    "(?!abc)",
    "(?<=abc)",
    r"\1",
]
REPEATS = ["", "", "", "*", "+", "?", "{2}", "{0,1}", "*?", "++", "{,2}", "{1}"]


def patterns() -> st.SearchStrategy[str]:
    atoms = st.sampled_from(ATOMS) | st.sampled_from(HARD)

    def grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        groups = st.tuples(st.sampled_from(["(", "(?:", "(?P<n>", "(?>"]), inner).map(
            lambda pair: f"{pair[0]}{pair[1]})"
        )
        repeated = st.tuples(inner | groups, st.sampled_from(REPEATS)).map("".join)
        return repeated | st.lists(repeated, max_size=4).map("".join) | st.tuples(inner, inner).map("|".join)

    return st.recursive(atoms, grown, max_leaves=8)


def around_a_text() -> st.SearchStrategy[str]:
    return st.tuples(patterns(), st.sampled_from(["abc", "bca", "cab.", "a b"]), patterns()).map("".join)


@settings(max_examples=some(400))
@given(around_a_text(), st.lists(st.sampled_from(["a", "b", "c", "abc", "ABC", "bca", ".", " ", "1"]), max_size=8))
def test_no_match_is_without_the_literal(pattern: str, pieces: list[str]):
    literal = find_literal(pattern, fixed=False, ignore_case=False)
    try:
        found = regex.search(pattern, "".join(pieces), timeout=5)
    except regex.error:
        return
    assert literal is None or found is None or literal in found.group()


@settings(max_examples=some(400))
@given(around_a_text(), st.text("abcABC. 1kKsSiı\u212aſ", max_size=12))
def test_ignoring_case_no_match_is_without_it_in_any_case(pattern: str, text: str):
    literal = find_literal(pattern, fixed=False, ignore_case=True)
    try:
        found = literal and regex.search(pattern, text, regex.IGNORECASE, timeout=5)
    except regex.error:
        return
    assert not found or (literal and literal.lower().encode() in text.encode().lower())


WORDS = ["needle", "NEEDLE", "nee", "dle", "\n", "\r\n", "ü", "你好", " ", "ſ", "K", "kick", "KICK", "\0", "a.c", "abc"]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=12).map("".join)
ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "gb18030", "latin-1"]
MARKS = [b"", codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF8, codecs.BOM_UTF32_BE, b"\xff"]
PATTERNS = [
    "needle",
    "nee.?dle",
    "need(le|x)",
    "kick",
    "a.c",
    r"a\.c",
    r"\bneedle\b",
    "^needle$",
    "n+eedle",
    "^",
    "need[l]e ",
]
NAMES = ["a", "b.py", "-", "--null", "c\nd", "src/a.py", "src/é", ".hidden", "big"]


def contents() -> st.SearchStrategy[bytes]:
    encoded = st.tuples(TEXTS, st.sampled_from(ENCODINGS)).map(lambda pair: pair[0].encode(pair[1], "replace"))
    marked = st.tuples(st.sampled_from(MARKS), TEXTS.map(str.encode)).map(b"".join)
    return encoded | marked | st.binary(max_size=20)


@settings(max_examples=some(100))
@given(
    st.dictionaries(st.sampled_from(NAMES), contents(), max_size=6),
    st.sampled_from(PATTERNS) | st.text("nedl.*", min_size=1, max_size=8),
    st.fixed_dictionaries(
        {
            "fixed": st.booleans(),
            "ignore_case": st.booleans(),
            "context": st.integers(0, 2),
            "output": st.sampled_from(["lines", "files", "count"]),
        }
    ),
    st.integers(1, 4),
)
@example({"a": codecs.BOM_UTF16_LE + b"needl", "b.py": codecs.BOM_UTF16_LE + b"needle!"}, "needl", {}, 4)
@example({"a": "needle".encode("utf-32"), "b.py": "needle".encode("utf-16")}, "needle", {}, 4)
def test_grep_answers_the_same_without_the_literal(
    files: dict[str, bytes], pattern: str, options: dict[str, Any], results: int
):
    with temporary_folder() as project:
        write(project, {**files, "large": b"needle" * 1_000})
        arguments, limits = {"pattern": pattern, **options}, {"results": results, "file_bytes": 5_000}
        with_it = answer(Grep(Workspace(project)), project, arguments, **limits)
        with patch("headway.tools.files.grep.find_literal", return_value=None):
            assert answer(Grep(Workspace(project)), project, arguments, **limits) == with_it
