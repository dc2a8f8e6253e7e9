"""Which commands a pattern of an allow-list covers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.support.tables import check_rows

from headway.tools.files.workspace import Workspace
from headway.tools.shell.bash import Bash, BashInput

TOOL = Bash(Workspace("."))
ODD_BLANKS = ("\u3000", "\xa0", "\r", "\x0b", "\x0c", "\x85", "\u2028", "\u2003", "\x1c")
"""Blank to Python, but part of a word to the shell."""
WORD = st.text("abc-=./*?[", min_size=1, max_size=6)
OPERATOR = st.sampled_from(
    [";", "|", "&", "&&", "||", ">", "<", "\n", "$(x)", "`x`", "$HOME", "(", ")", " #", "'", '"']
)


def matches(pattern: str, command: str) -> bool:
    return TOOL.matches(pattern, BashInput(command=command))


def test_covered():
    def check(pattern: str, command: str) -> None:
        assert matches(pattern, command)

    check_rows(
        [
            ("*", "rm -rf / && anything | at > all"),
            ("pytest *", "pytest"),
            ("pytest *", "pytest -q tests"),
            ("pytest *", "  pytest   'a b' \"c;d\" "),
            ("pytest *", "pytest tests/test_*.py"),
            ("git status", "git status"),
            ("git diff*", "git diff-files"),
            ("npm run test:* *", "npm run test:unit -- --watch"),
            ("make && make test", "make && make test"),
            ("ls *", "ls \\\n  -l"),
            ("  make test\n", "\tmake test \n"),
        ],
        check,
    )


def test_not_covered():
    def check(pattern: str, command: str) -> None:
        assert not matches(pattern, command)

    check_rows(
        [
            ("", "ls"),
            ("pytest", "pytest -q"),
            ("pytest *", "pytests"),
            ("pytest *", "FOO=1 pytest"),
            ("pytest *", "pytest; rm -rf ."),
            ("pytest *", "pytest && rm -rf ."),
            ("pytest *", "pytest > /etc/passwd"),
            ("pytest *", "pytest $(rm -rf .)"),
            ("pytest *", 'pytest "`rm -rf .`"'),
            ("pytest *", "pytest\nrm -rf ."),
            ("pytest *", "pytest &"),
            ("pytest *", "pytest # all"),
            ("pytest *", "pytest 'open"),
            ("make && *", "make && rm -rf ."),
            ("* status", "A=1 status"),
            ("* git *", "LD_PRELOAD=./x.so git status"),
            ("* git *", "! git push"),
            ("if *", "if x"),
            ("function *", "function f"),
            ("* a *", "[[ a ]]"),
            ("git * status", "git status"),
            ("git * status", "git {push,-f} status"),
            ("git status", "git  STATUS"),
            ("* *", "{rm,-rf,.}"),
            *(("make", f"make{blank}") for blank in ODD_BLANKS),
            *(("make", f"{blank}make") for blank in ODD_BLANKS),
            *((f"make{blank}", "make") for blank in ODD_BLANKS),
            *(("make *", f"make{blank}x") for blank in ODD_BLANKS),
        ],
        check,
    )


@given(st.lists(WORD, min_size=1, max_size=4), OPERATOR, st.lists(WORD, max_size=3), st.lists(WORD, max_size=4))
def test_what_needs_a_shell_is_covered_only_by_itself_and_by_everything(
    before: list[str], operator: str, after: list[str], pattern_words: list[str]
):
    command = f"{' '.join(before)}{operator}{' '.join(['x', *after])}"
    for pattern in (" ".join([*pattern_words, "*"]), " ".join([*before, "*"]), f"{command} *", f"{before[0]}*"):
        assert matches(pattern, command) is (pattern.strip() == "*")
    assert matches(command, command)


@given(st.lists(WORD, min_size=1, max_size=4), st.lists(WORD, max_size=4))
def test_further_words_never_change_what_an_open_pattern_covers(first: list[str], more: list[str]):
    plain = ["run", *(word.translate(dict.fromkeys(map(ord, "*?["), "x")) for word in first)]
    assert matches(" ".join([*plain, "*"]), " ".join([*plain, *more]))
