"""Words are taken apart as a POSIX shell does it, wherever no real shell is needed."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.counts import some
from tests.support.tables import check_rows

from headway.contracts.shell_words import split_words

PRINT_WORDS = 'show() { for word; do printf "%s\\0" "$word"; done; }\n'
LETTERS = st.text(st.sampled_from("ab~#=!:,.-/%^@+]}é修👩\u00a0\u3000\x0b\r\x1b\x7f"), min_size=1, max_size=4)
INSIDE = st.text(st.sampled_from("ab \t\n#&|;<>()~*?{}[]=!é修👩\u2028\x81"), max_size=5)
IN_DOUBLE = st.lists(
    st.one_of(INSIDE, st.sampled_from(["'", '\\"', "\\\\", "\\$", "\\`", "\\\n", "\\a", "\\ ", "\\'", "$x", "`"])),
    max_size=4,
).map("".join)
PIECES = st.one_of(
    LETTERS,
    INSIDE.map(lambda text: f"'{text}'"),
    st.sampled_from(["'$x'", "'`'", "'\"'", "'\\'", "'\\\\'"]),
    IN_DOUBLE.map(lambda text: f'"{text}"'),
    st.sampled_from(["'\\''", "\\'", '\\"', "\\\\", "\\ ", "\\$", "\\a", "\\\n", "\\修", "\\~", "\\*", "''", '""']),
    st.sampled_from([" ", "  ", "\t", " \t", " \n", "\n"]),
    st.sampled_from([";", "&", "|", ">", "<", "(", ")", "$x", "$(a)", "`a`", "'", '"', "\\", "# c"]),
)
LINES = st.lists(PIECES, max_size=8).map("".join)
QUOTED_LINES = st.lists(
    st.one_of(INSIDE.map(lambda text: f"'{text}'"), IN_DOUBLE.map(lambda text: f'"{text}"'), st.just(" "), LETTERS),
    max_size=8,
).map("".join)


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which no pattern matches anything."""
    return tmp_path_factory.mktemp("empty")


def words_of_sh(line: str, folder: Path) -> list[str]:
    done = subprocess.run(
        ["/bin/sh", "-c", PRINT_WORDS + line], cwd=folder, capture_output=True, timeout=10, check=True, env={}
    )
    assert done.stderr == b""
    return done.stdout.decode("utf-8", "surrogateescape").split("\0")[:-1]


def check_against_sh(line: str, folder: Path) -> None:
    found = split_words(line)
    if not (found.needs_shell or found.patterns):  # some shells take braces apart
        assert found.words[0] == "show"
        assert found.words[1:] == words_of_sh(line, folder)


@settings(max_examples=some(400))
@given(line=LINES)
def test_the_words_of_any_line_that_needs_no_shell_are_those_of_sh(empty: Path, line: str):
    check_against_sh("show " + line, empty)


@settings(max_examples=some(400))
@given(line=QUOTED_LINES)
def test_the_words_of_quoted_text_are_those_of_sh(empty: Path, line: str):
    check_against_sh("show " + line, empty)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), max_size=4))
def test_quoted_words_come_back_whole_and_need_no_shell(words: list[str]):
    found = split_words(shlex.join(["show", *words]))
    assert found.words == ["show", *words]
    assert not found.needs_shell
    assert not found.patterns


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="'")))
def test_everything_in_single_quotes_is_literal(text: str):
    found = split_words(f"TodoWrite '{text}'")
    assert (found.words, found.needs_shell, found.patterns) == (["TodoWrite", text], False, False)


@given(st.text())
def test_any_text_is_taken_apart_without_an_error(line: str):
    found = split_words(line)
    assert len(found.words) <= len(line)
    assert 0 <= found.first_end <= len(line)


NEED_NO_SHELL: list[tuple[str, list[str]]] = [
    ("", []),
    ("   ", []),
    ("\n\n", []),
    ("a b\tc", ["a", "b", "c"]),
    ("a'b'\"c\"d", ["abcd"]),
    ("'' \"\"", ["", ""]),
    (r"'it'\''s'", ["it's"]),
    ('"a\\"b\\\\c\\$d\\`e\\f"', ['a"b\\c$d`e\\f']),
    ('"a\\\nb"', ["ab"]),
    ("a\\\nb", ["ab"]),
    ("a \\\n b", ["a", "b"]),
    ("a\\ b", ["a b"]),
    ("'two\nlines'", ["two\nlines"]),
    ("\n a\n", ["a"]),
    ("a#b", ["a#b"]),
    ("a A=1 ! if", ["a", "A=1", "!", "if"]),
    ("'if' a", ["if", "a"]),
    ("'A=1' a", ["A=1", "a"]),
    ("[ a ]", ["[", "a", "]"]),
    ("a\u00a0b", ["a\u00a0b"]),
]


def test_lines_that_need_no_shell() -> None:
    def check(line: str, words: list[str]) -> None:
        found = split_words(line)
        assert (found.words, found.needs_shell) == (words, False)

    check_rows(NEED_NO_SHELL, check)


def test_lines_that_only_a_shell_can_run() -> None:
    def check(line: str) -> None:
        assert split_words(line).needs_shell

    check_rows(
        [
            *["a | b", "a|b", "a > b", "a < b", "a; b", "a;", "a &", "a && b", "a || b", "(a)", "a\nb", "a\n\u00a0"],
            *["$a", "a$b", '"$a"', "`a`", '"`a`"', "$(a)", '"$(a)"', "$'a'", "a # b", "#", "~", "~/a", "a ~root"],
            *["A=1 a", "A+=1 a", "a[0]=1", "! a", "[[ a ]]", "if a", "function a", "time a", "{ a", "\nwhile a"],
            *["'a", '"a', 'a"', "a\\", '"a\\"', "a 'b\n", "cat <<EOF\nx\nEOF"],
        ],
        check,
    )


@pytest.mark.parametrize("line", ["a *", "a?", "[ab]", "a{b,c}", "{a,b}"])
def test_patterns_outside_quotes_are_noticed(line: str):
    found = split_words(line)
    assert found.patterns
    assert not found.needs_shell


def test_quoted_patterns_are_none() -> None:
    def check(line: str) -> None:
        found = split_words(line)
        assert not found.patterns
        assert not found.needs_shell

    check_rows(["'*?[{'", '"*?[{"', "\\*\\?\\[\\{", "a]}", "a~b", "'~'", "\\~"], check)


def test_a_megabyte_of_json_is_taken_apart_in_one_pass():
    text = json.dumps({"todos": ["x'y\n" * 5] * 50_000})
    assert split_words("TodoWrite " + shlex.quote(text)).words == ["TodoWrite", text]
    assert split_words("TodoWrite " + "\n" * 200_000).words == ["TodoWrite"]
