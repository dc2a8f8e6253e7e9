"""Fails when a file is longer than the house style allows: 600 lines of source, 800 of tests."""

from __future__ import annotations

import sys
from pathlib import Path

LIMITS = {"src": 600, "scripts": 600, "bench": 800, "tests": 800}


def main() -> int:
    root = Path(__file__).resolve().parent.parent
    too_long = [
        f"{path.relative_to(root)}: {lines} lines, at most {limit}"
        for folder, limit in LIMITS.items()
        for path in sorted((root / folder).rglob("*"))
        if path.suffix in {".py", ".js", ".css", ".html"}
        and (lines := len(path.read_text(encoding="utf-8").splitlines())) > limit
    ]
    print("\n".join(too_long) or "File sizes are within the limits.")
    return 1 if too_long else 0


if __name__ == "__main__":
    sys.exit(main())
