"""What a file tool would change, worked out before anyone is asked: the same steps for the preview and for the act."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from headway.tools.files.content import decoded
from headway.tools.tool import Preview

_LONGEST = 200_000
"""Characters of a file beyond which no diff is drawn."""


@dataclass(frozen=True, slots=True)
class FileChange:
    path: str
    before: bytes | None
    """None: there is no such file yet."""
    after: bytes

    def preview(self) -> Preview:
        what = "Create" if self.before is None else "Change"
        return Preview(f"{what} {self.path}", path=self.path, diff=self.diff())

    def diff(self) -> str:
        old, new = decoded(self.before or b"", self.path)[0], decoded(self.after, self.path)[0]
        if len(old) + len(new) > _LONGEST:
            return f"(too long to be shown: {len(old):,} → {len(new):,} characters)"
        lines = difflib.unified_diff(
            old.splitlines(), new.splitlines(), f"a/{self.path}", f"b/{self.path}", lineterm="", n=3
        )
        return "\n".join(lines)
