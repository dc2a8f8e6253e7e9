"""What a file tool would change, worked out before anyone is asked: the same steps for the preview and for the act."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass

from headway.core.text import neutral, neutral_lines, shown
from headway.tools.base import Preview
from headway.tools.files.content import split_lines

_LONGEST = 200_000
"""Characters of a change beyond which no diff is drawn."""
_MOST_PAIRS = 4_000_000
"""Lines times lines beyond which none is, since comparing them takes too long."""
_AROUND = 3


@dataclass(frozen=True, slots=True)
class FileChange:
    path: str
    before: bytes | None
    """None: there is no such file yet."""
    after: bytes
    old: str
    new: str
    """The texts of both."""
    recoded: str | None = None
    """The encoding that the file had, if it cannot keep it."""

    def preview(self) -> Preview:
        what = "Create" if self.before is None else "Change"
        return Preview(f"{what} {shown(self.path, 200)}", path=neutral(self.path), diff=neutral_lines(self.diff()))

    def diff(self) -> str:
        if self.old == self.new:
            return ""
        old, new = split_lines(self.old), split_lines(self.new)
        if old == new:
            return "(only line ends change)"
        start, end = _same(old, new)
        first = max(start - _AROUND, 0)
        last = max(end - _AROUND, 0)
        old, new = old[first : len(old) - last], new[first : len(new) - last]
        if len(old) * len(new) > _MOST_PAIRS or sum(map(len, old)) + sum(map(len, new)) > _LONGEST:
            return f"(too long to show: {len(self.old):,} → {len(self.new):,} characters)"
        name = shown(self.path, 200)
        source = "/dev/null" if self.before is None else f"a/{name}"
        lines = difflib.unified_diff(old, new, source, f"b/{name}", lineterm="", n=_AROUND)
        return "\n".join(_moved(line, first) if line.startswith("@@ -") else line for line in lines)


def _moved(head: str, lines: int) -> str:
    return re.sub(r"([-+])(\d+)", lambda found: f"{found[1]}{int(found[2]) + lines}", head)


def _same(old: list[str], new: list[str]) -> tuple[int, int]:
    """How many lines at the start, and at the end, are the same."""
    most = min(len(old), len(new))
    start = next((index for index in range(most) if old[index] != new[index]), most)
    rest = most - start
    end = next((index for index in range(rest) if old[-1 - index] != new[-1 - index]), rest)
    return start, end
