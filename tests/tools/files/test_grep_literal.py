"""The text that every match must have: found where it is sure, and never wrong."""

from __future__ import annotations

import regex
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.counts import some
from tests.support.tables import check_rows

from headway.tools.files.grep_literal import literal_of


def test_the_longest_sure_text_of_a_pattern_is_found():
    def check(pattern: str, literal: str | None) -> None:
        assert literal_of(pattern, fixed=False, ignore_case=False) == literal

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
    assert literal_of("a|b(c", fixed=True, ignore_case=False) == "a|b(c"
    assert literal_of("né.*", fixed=True, ignore_case=False) is None
    assert literal_of("one\ntwo!", fixed=True, ignore_case=False) == "two!"


def test_ignoring_case_letters_with_variants_outside_ascii_are_not_relied_on():
    assert literal_of("breakfast_abc", fixed=False, ignore_case=True) == "t_abc"
    assert literal_of("risk", fixed=False, ignore_case=True) is None


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
    literal = literal_of(pattern, fixed=False, ignore_case=False)
    try:
        found = regex.search(pattern, "".join(pieces), timeout=5)
    except regex.error:
        return
    assert literal is None or found is None or literal in found.group()


@settings(max_examples=some(400))
@given(around_a_text(), st.text("abcABC. 1kKsSiı\u212aſ", max_size=12))
def test_ignoring_case_no_match_is_without_it_in_any_case(pattern: str, text: str):
    literal = literal_of(pattern, fixed=False, ignore_case=True)
    try:
        found = literal and regex.search(pattern, text, regex.IGNORECASE, timeout=5)
    except regex.error:
        return
    assert not found or (literal and literal.lower().encode() in text.encode().lower())
