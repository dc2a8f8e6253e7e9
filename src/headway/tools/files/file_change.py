"""What a file tool would change, worked out before anyone is asked: the same steps for the preview and for the act."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass

from headway.core.exact_text import exact_line, exact_lines
from headway.tools.base import Preview
from headway.tools.files.content import split_lines

_LONGEST = 200_000
"""Characters of a change beyond which its lines are not compared."""
_MOST_PAIRS = 4_000_000
"""Lines times lines beyond which they are not, since it takes too long."""
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
        what, path = "Create" if self.before is None else "Change", exact_line(self.path)
        return Preview(f"{what} {path}", path=path, diff=exact_lines(self.diff()))

    def diff(self) -> str:
        """Return all of the change as a unified diff, with line ends and the last one where they are not as before."""
        if self.old == self.new:
            return ""
        same_ends = _ends(self.old) == _ends(self.new) != "mixed"
        same_last = _is_ended(self.old) == _is_ended(self.new)
        old, new = (_lines(text, same_ends=same_ends, same_last=same_last) for text in (self.old, self.new))
        start, end = _count_equal_lines(old, new)
        first = max(start - _AROUND, 0)
        last = max(end - _AROUND, 0)
        old, new = old[first : len(old) - last], new[first : len(new) - last]
        name = self.path.replace("\n", "␊")
        source = "/dev/null" if self.before is None else f"a/{name}"
        if len(old) * len(new) > _MOST_PAIRS or sum(map(len, old)) + sum(map(len, new)) > _LONGEST:
            lines = [
                f"--- {source}",
                f"+++ b/{name}",
                f"@@ -{min(len(old), 1)},{len(old)} +{min(len(new), 1)},{len(new)} @@",
            ]
            lines += [*(f"-{line}" for line in old), *(f"+{line}" for line in new)]
        else:
            lines = difflib.unified_diff(old, new, source, f"b/{name}", lineterm="", n=_AROUND)
        return "\n".join(_shift_line_numbers(line, first) if line.startswith("@@ -") else line for line in lines)


def _ends(text: str) -> str:
    """Return how its lines end; without any, as usual."""
    long = text.count("\r\n")
    return "\n" if not long else "\r\n" if long == text.count("\n") else "mixed"


def _is_ended(text: str) -> bool:
    return not text or text.endswith("\n")


def _lines(text: str, *, same_ends: bool, same_last: bool) -> list[str]:
    lines = split_lines(text) if same_ends else text.removesuffix("\n").split("\n") if text else []
    if not same_last and not _is_ended(text):
        lines[-1] += "\n\\ No newline at end of file"
    return lines


def _shift_line_numbers(head: str, lines: int) -> str:
    return re.sub(r"([-+])(\d+)", lambda found: f"{found[1]}{int(found[2]) + lines}", head)


def _count_equal_lines(old: list[str], new: list[str]) -> tuple[int, int]:
    """How many lines at the start, and at the end, are the same."""
    most = min(len(old), len(new))
    start = next((index for index in range(most) if old[index] != new[index]), most)
    rest = most - start
    end = next((index for index in range(rest) if old[-1 - index] != new[-1 - index]), rest)
    return start, end
