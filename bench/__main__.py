"""`python -m bench [NAME]`: the table of ratios; with NAME only the rows that have it in their name."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from . import graph, logs, processes, tools, writes
from .measure import NotAvailable, Row

ROWS = [*processes.ROWS, *writes.ROWS, *logs.ROWS, *graph.ROWS, *tools.ROWS]
COLUMNS = "{:<38}  {:>10}  {:>10}  {:>8}  {:>8}  {:<4}  {}"


def _time(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms" if seconds >= 0.01 else f"{seconds * 1_000_000:.0f} µs"


def line(row: Row, folder: Path) -> str:
    try:
        measured = row.measure(folder)
    except NotAvailable as reason:
        return f"{row.name:<38}  not available: {reason}"
    if measured.base is None:
        value, goal, ratio, base = measured.ours * 1000, f"≤ {row.goal:g} ms", "", ""
    else:
        value, goal, base = measured.ours / measured.base, f"≤ {row.goal:g}×", _time(measured.base)
        ratio = f"{value:.2f}×"
    verdict = "PASS" if value <= row.goal else "FAIL"
    return COLUMNS.format(row.name, _time(measured.ours), base, ratio, goal, verdict, row.against).rstrip()


def main() -> int:
    wanted = " ".join(sys.argv[1:]).lower()
    rows = [row for row in ROWS if wanted in row.name.lower()]
    if not rows:
        print(f"No row has '{wanted}' in its name. There are:", *(row.name for row in ROWS), sep="\n  ")
        return 1
    print(COLUMNS.format("", "Headway", "plain", "ratio", "goal", "", "plain is").rstrip(), flush=True)
    with tempfile.TemporaryDirectory(prefix="headway-bench-") as folder:
        for row in rows:
            print(line(row, Path(folder)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
