"""What is near a text that `edit` did not find, or found more than once, so that the next try hits."""

from __future__ import annotations

import re
from difflib import get_close_matches
from heapq import nlargest
from operator import add

from headway.core.text import sanitize_for_display, truncate
from headway.tools.base import ToolFault

_NUMBERED = re.compile(r"^ *\d+\t", re.MULTILINE)
_MOST_LINES = 20_000
_MOST_COMPARED = 100
_COMPARED = 199
"""Characters of a line that are compared; from 200 on difflib leaves out the frequent ones."""
_LONGEST = 300
_SHOWN = 6


def several_matches_fault(text: str, old: str, path: str) -> ToolFault:
    at, lines, count = text.find(old), list[str](), 0
    while at >= 0:
        count += 1
        if len(lines) < 5:
            lines.append(str(text.count("\n", 0, at) + 1))
        at = text.find(old, at + 1) if count < 1_000 else -1
    more = ", …" if count > len(lines) else ""
    times = f"{count}" if count < 1_000 else "1,000 or more"
    return ToolFault(
        f"old_string occurs {times} times in '{sanitize_for_display(path, 200)}' "
        f"(lines {', '.join(lines)}{more}); nothing was "
        "changed. Add surrounding lines until it is unique, or set replace_all."
    )


def no_match_fault(text: str, old: str, path: str) -> ToolFault:
    start = f"old_string was not found in '{sanitize_for_display(path, 200)}'; nothing was changed."
    if _NUMBERED.search(old) and _NUMBERED.sub("", old) in text:
        return ToolFault(f"{start} Leave out the line number and tab that read_file puts before each line.")
    lines = text.split("\n")
    wanted = old.strip("\n").split("\n")
    if (at := _find_spaced_differently(lines, wanted)) is not None:
        return ToolFault(f"{start} Only whitespace differs from this:\n{_format_excerpt(lines, at, len(wanted))}")
    if (at := _find_closest_line(lines, wanted)) is not None:
        within = f" in its first {_MOST_LINES:,} lines" if len(lines) > _MOST_LINES else ""
        return ToolFault(f"{start} The closest text{within} is:\n{_format_excerpt(lines, at, len(wanted))}")
    return ToolFault(f"{start} Nothing in the file is similar; read the file again.")


def _find_spaced_differently(lines: list[str], wanted: list[str]) -> int | None:
    """Where the same words are, with other spaces between or around them."""
    bare = ["".join(line.split()) for line in wanted]
    if not any(bare):
        return None
    there = ["".join(line.split()) for line in lines]
    for at in range(len(there) - len(bare) + 1):
        if there[at] == bare[0] and there[at : at + len(bare)] == bare:
            return at
    return None


def _find_closest_line(lines: list[str], wanted: list[str]) -> int | None:
    """The line most like the longest one that is wanted, put where the first would be."""
    place = max(range(len(wanted)), key=lambda index: len(wanted[index].strip()))
    text = wanted[place].strip()[:_COMPARED]
    if not text:
        return None
    for at, line in enumerate(lines):
        if line.strip() == wanted[place].strip():
            return max(at - place, 0)
    pairs = _letter_pairs(text)
    alike: dict[str, int] = {}
    for at, line in enumerate(lines[:_MOST_LINES]):
        alike.setdefault(line.strip()[:_COMPARED], at)
    likely = nlargest(_MOST_COMPARED, alike, key=lambda line: len(pairs & _letter_pairs(line)))
    found = get_close_matches(text, likely, n=1, cutoff=0.5)
    return max(alike[found[0]] - place, 0) if found else None


def _letter_pairs(text: str) -> set[str]:
    return set(map(add, text, text[1:]))


def _format_excerpt(lines: list[str], at: int, count: int) -> str:
    some = lines[at : at + min(max(count, 1), _SHOWN)]
    return "\n".join(f"{number:>6}\t{truncate(line, _LONGEST)}" for number, line in enumerate(some, start=at + 1))
