"""What a `.gitignore` leaves out of searches, as git reads it: the last rule that fits a path decides.

Rules of other places (a person's own, `.git/info/exclude`) are not looked at. A rule that git could not use is none.
"""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress

from headway.tools.files.wildcards import BadWildcards, to_path_expression

NAME = ".gitignore"
MOST_BYTES = 1_000_000
MOST_RULES = 10_000
"""A file with more is not used."""
_LONGEST = 4_096
"""No path is longer, so no rule need be."""
_AT_ONCE = 200


class TooManyRules(ValueError):
    pass


class IgnoreRules:
    """The rules of one `.gitignore`. Raises `TooManyRules` for one that would hold up every search."""

    def __init__(self, text: str) -> None:
        self._rules: list[tuple[re.Pattern[str], bool]] = []
        """Last first; neighbours with the same verdict are one expression."""
        together: list[str] = []
        verdict = True
        rules = [
            rule for line in text.removeprefix("\ufeff").split("\n") if (rule := _parse_rule(_to_byte_characters(line)))
        ]
        if len(rules) > MOST_RULES:
            raise TooManyRules
        for expression, ignores in reversed(rules):
            if together and (ignores != verdict or len(together) == _AT_ONCE):
                self._add(together, verdict)
                together = []
            verdict = ignores
            together.append(expression)
        if together:
            self._add(together, verdict)

    def __bool__(self) -> bool:
        return bool(self._rules)

    def is_ignored(self, path: str) -> bool | None:
        """Whether a path, relative to the file's folder, is ignored; None if no rule says so. Folders end in `/`."""
        text = _to_byte_characters(path)
        for expression, ignores in self._rules:
            if expression.match(text):
                return ignores
        return None

    def _add(self, expressions: list[str], verdict: bool) -> None:
        self._rules.append((re.compile(f"(?:{'|'.join(expressions)})\\Z", re.DOTALL | re.ASCII), verdict))


def read_ignore_rules(folder: int) -> IgnoreRules | None:
    """The rules in an open folder; links are not followed. Raises `TooManyRules`."""
    try:
        descriptor = os.open(NAME, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return None
    with open(descriptor, "rb") as file, suppress(OSError):
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            data = file.read(MOST_BYTES + 1)
            if len(data) > MOST_BYTES:
                raise TooManyRules
            return IgnoreRules(os.fsdecode(data)) or None
    return None


def _to_byte_characters(text: str) -> str:
    """Return the text with a character for each of its bytes, which is what git compares: `?` does not match `ä`."""
    return text if text.isascii() else os.fsencode(text).decode("latin-1")


def _parse_rule(line: str) -> tuple[str, bool] | None:
    """The expression of a line, and whether it ignores; None for what is no rule."""
    line = line.removesuffix("\r")
    if not line or line.startswith("#") or len(line) > _LONGEST:
        return None
    pattern = _trim_trailing_spaces(line)
    ignores = not pattern.startswith("!")
    pattern = pattern[not ignores :]
    only_folders = pattern.endswith("/")
    pattern = pattern.removesuffix("/")
    if not pattern:
        return None
    pattern = pattern.removeprefix("/") if "/" in pattern else f"**/{pattern}"
    try:
        return to_path_expression(pattern) + ("/" if only_folders else "/?"), ignores
    except BadWildcards:
        return None


def _trim_trailing_spaces(line: str) -> str:
    """The line without spaces at its end, except one behind a backslash."""
    kept = line.rstrip(" ")
    backslashes = len(kept) - len(kept.rstrip("\\"))
    return kept + " " if backslashes % 2 and len(kept) < len(line) else kept
