"""Shell words by POSIX quoting, and whether a line needs a real shell. Pure; nothing is expanded or run."""

from __future__ import annotations

from headway.core.value import Value

_OPERATORS = frozenset("|&;<>()\n")
_ESCAPABLE = frozenset('$`"\\')
_PATTERNS = frozenset("*?[{")


class Words(Value):
    """A line taken apart.

    `needs_shell`: it has operators, expansions, comments or quotes left open, and only a real shell can run it.
    `patterns`: outside quotes there are characters that a shell may match with file names or take apart (`*`, `{`).
    `first_end`: where the first word ends in the line.
    """

    __slots__ = ("first_end", "needs_shell", "patterns", "words")

    def __init__(self, words: list[str], needs_shell: bool, patterns: bool, first_end: int) -> None:
        self.words = words
        self.needs_shell = needs_shell
        self.patterns = patterns
        self.first_end = first_end


def is_bare_json(args: str) -> bool:
    """The text is JSON without quotes around it, which is taken as it stands."""
    return args.lstrip().startswith(("{", "["))


def split_words(line: str) -> Words:
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
        word, end, special, pattern = _word(line, at)
        needs_shell = needs_shell or special or char == "~"
        patterns = patterns or pattern
        at = end
        words.append(word)
        if len(words) == 1:
            first_end = at
    return Words(words, needs_shell, patterns, first_end)


def _word(line: str, at: int) -> tuple[str, int, bool, bool]:
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
            text, at, odd = _double_quoted(line, at + 1)
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


def _double_quoted(line: str, at: int) -> tuple[str, int, bool]:
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
