"""Shell words by POSIX quoting, and whether a line needs a real shell. Pure; nothing is expanded or run."""

from __future__ import annotations

import re

from headway.core.json_text import BadJson, parse_json
from headway.core.value import Value

_OPERATORS = frozenset("|&;<>()\n")
_ESCAPABLE = frozenset('$`"\\')
_PATTERNS = frozenset("*?[{")
_RESERVED = frozenset(
    [
        *("!", "[[", "{", "}", "if", "then", "elif", "else", "fi", "case", "esac", "for", "select", "while", "until"),
        *("do", "done", "in", "function", "time", "coproc"),
    ]
)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=", re.ASCII)
IN_QUOTES = "put single quotes around the JSON, and write an apostrophe in it as \\u0027"
_JOINED = frozenset(["", "\\", "'", '"', "$", "`"])
"""What follows a closing quote where a shell is meant to join the parts of a word."""


class ShellWords(Value):
    """A line taken apart.

    `needs_shell`: it has operators, expansions, comments or quotes left open, or begins with an assignment or a word
    of the shell's own, and only a real shell can run it.
    `patterns`: outside quotes there are characters that a shell may match with file names or take apart (`*`, `{`).
    `first_end`: where the first word ends in the line.
    """

    __slots__ = ("first_end", "needs_shell", "patterns", "words")

    def __init__(self, words: list[str], needs_shell: bool, patterns: bool, first_end: int) -> None:
        self.words = words
        self.needs_shell = needs_shell
        self.patterns = patterns
        self.first_end = first_end


def is_unquoted_json(args: str) -> bool:
    """The text is JSON without quotes around it, which is taken as it stands."""
    return args.lstrip().startswith(("{", "["))


def split_words(line: str) -> ShellWords:
    """The words of a line, quotes removed."""
    words: list[str] = []
    needs_shell = patterns = False
    first_end = len(line)
    at, size = 0, len(line)
    blank = len(line.rstrip(" \t\n"))
    while at < size:
        char = line[at]
        if char in " \t" or line.startswith("\\\n", at):
            at += 1 if char in " \t" else 2
            continue
        if char == "\n" and (not words or at >= blank):
            at += 1
            continue
        if char in _OPERATORS or char == "#":
            needs_shell = True
            at += 1
            continue
        word, end, special, pattern = _read_word(line, at)
        needs_shell = needs_shell or special or char == "~" or (not words and _needs_shell(line[at:end]))
        patterns = patterns or pattern
        at = end
        words.append(word)
        if len(words) == 1:
            first_end = at
    return ShellWords(words, needs_shell, patterns, first_end)


def _needs_shell(word: str) -> bool:
    """Return whether the first word of a line, as it is written, makes it more than a program with its arguments."""
    return word in _RESERVED or _ASSIGNMENT.match(word) is not None


def find_quote_fault(args: str) -> tuple[int, str] | None:
    """Return where and why the quotes around JSON are broken; None where they are not, or only a shell can tell."""
    opened = _find_open_quote(args)
    quote = args[:1]
    if quote in ("'", '"'):
        text, end, odd = _read_quoted(args)
        is_cut = is_unquoted_json(text) and not odd and args[end : end + 1] not in _JOINED and not _is_json(text)
        if is_cut and (opened is not None or args.endswith((f"}}{quote}", f"]{quote}"))):
            if quote == '"':
                return end - 1, f"this quote ends the word; {IN_QUOTES}"
            return end - 1, f"this apostrophe ends the word; {IN_QUOTES}"
    return None if opened is None else (opened, f"the quote that begins here is never closed; {IN_QUOTES}")


def _find_open_quote(text: str) -> int | None:
    """Where a quote begins that nothing closes. None also where only a shell can tell: expansions, here-documents."""
    at, start, quote = 0, 0, ""
    while at < len(text):
        char = text[at]
        if quote and char == quote:
            quote = ""
        elif quote == "'":
            pass
        elif char == "\\":
            at += 1
        elif char in "$`" or (
            not quote and (text.startswith("<<", at) or (char == "#" and text[at - 1 : at].isspace()))
        ):
            return None
        elif not quote and char in ("'", '"'):
            quote, start = char, at
        at += 1
    return start if quote else None


def _read_quoted(args: str) -> tuple[str, int, bool]:
    """The text in the quotes that it begins with, where they end, and whether it expands anything or is left open."""
    if args.startswith('"'):
        return _read_double_quoted(args, 1)
    end = args.find("'", 1)
    return (args[1:end], end + 1, False) if end > 0 else (args[1:], len(args), True)


def _is_json(text: str) -> bool:
    try:
        parse_json(text)
    except BadJson:
        return False
    return True


def _read_word(line: str, at: int) -> tuple[str, int, bool, bool]:
    """One word from `at`: its text, where it ends, whether it needs a shell, and whether it has patterns."""
    parts: list[str] = []
    special = pattern = False
    while at < len(line):
        char = line[at]
        if char == "'":
            end = line.find("'", at + 1)
            special = special or end < 0
            parts.append(line[at + 1 : end if end >= 0 else len(line)])
            at = end + 1 if end >= 0 else len(line)
        elif char == '"':
            text, at, odd = _read_double_quoted(line, at + 1)
            special = special or odd
            parts.append(text)
        elif char == "\\":
            if line[at + 1 : at + 2] != "\n":
                parts.append(line[at + 1 : at + 2])
            special = special or at + 1 >= len(line)
            at = min(at + 2, len(line))
        elif char in " \t" or char in _OPERATORS:
            break
        else:
            special = special or char in "$`"
            pattern = pattern or char in _PATTERNS
            parts.append(char)
            at += 1
    return "".join(parts), at, special, pattern


def _read_double_quoted(line: str, at: int) -> tuple[str, int, bool]:
    """Text up to the closing double quote, where it ends, and whether it expands anything or is left open."""
    parts: list[str] = []
    special = False
    while at < len(line):
        char = line[at]
        if char == '"':
            return "".join(parts), at + 1, special
        following = line[at + 1 : at + 2]
        if char == "\\" and following == "\n":
            at += 2
        elif char == "\\" and following in _ESCAPABLE and following:
            parts.append(following)
            at += 2
        else:
            special = special or char in "$`"
            parts.append(char)
            at += 1
    return "".join(parts), at, True
