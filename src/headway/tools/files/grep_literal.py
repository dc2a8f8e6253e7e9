"""A text that every match of a regular expression must have in it, so that files without it need not be searched.

Conservative: what is not plainly understood gives none. Knows the syntax of `regex`, version 0.
"""

from __future__ import annotations

import re

SHORTEST = 3
_LOOKS_ELSEWHERE = frozenset("iksIKS")
"""Letters that have a variant outside ASCII (ı, K, ſ), which ignoring case finds too."""
_GROUP = re.compile(r"\((?:\?(?:[:=!>]|<[=!]|P?<\w+>))?(?![?*])")
"""The beginning of a group that changes nothing outside itself."""
_CLASS = re.compile(r"\[\^?\]?(?:\\.|[^\]\[\\])*\]", re.DOTALL)
_COUNT = re.compile(r"\{\d+(?:,\d*)?\}")
_ONE_CHARACTER = "dDwWsS"
_NO_CHARACTER = "bBAZ"


def find_literal(pattern: str, *, fixed: bool, ignore_case: bool) -> str | None:
    """An ASCII text of at least `SHORTEST` characters that is in every match; None if there is none for sure."""
    runs = _list_fixed_runs(pattern) if fixed else _list_runs(pattern)
    if runs is None:
        return None
    if ignore_case:
        runs = [part for run in runs for part in _split_at_letters(run, _LOOKS_ELSEWHERE)]
    longest = max(runs, key=len, default="")
    return longest if len(longest) >= SHORTEST else None


def _list_fixed_runs(text: str) -> list[str]:
    return re.findall(r"[ -~]+", text)


def _split_at_letters(run: str, letters: frozenset[str]) -> list[str]:
    return "".join("\n" if char in letters else char for char in run).split("\n")


def _list_runs(pattern: str) -> list[str] | None:
    """Texts outside of groups that stand in every match as they are; None if the pattern is not understood."""
    runs = [""]
    depth = position = 0
    while position < len(pattern):
        char = pattern[position]
        token = _read_token(pattern, position)
        if token is None or (char == "|" and not depth) or (char == ")" and not depth):
            return None
        position += len(token)
        if char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
        if depth:
            continue
        if char in "*?{":  # what is before may be missing
            runs[-1] = runs[-1][:-1]
        plain = token[-1] if char == "\\" and not token[-1].isalnum() else token
        if len(plain) == 1 and _is_plain(plain, escaped=len(token) == 2):
            runs[-1] += plain
        else:
            runs.append("")
    return None if depth else runs


def _read_token(pattern: str, position: int) -> str | None:
    char = pattern[position]
    if char == "\\":
        token = pattern[position : position + 2]
        known = len(token) == 2 and (token[1] in _ONE_CHARACTER + _NO_CHARACTER or not token[1].isalnum())
        return token if known else None
    expression = {"(": _GROUP, "[": _CLASS, "{": _COUNT}.get(char)
    if expression is None:
        return char
    match = expression.match(pattern, position)
    return match[0] if match else None


def _is_plain(char: str, *, escaped: bool) -> bool:
    return " " <= char <= "~" and (escaped or char not in ".^$*+?{}[]()|")
