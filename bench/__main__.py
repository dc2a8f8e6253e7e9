"""`python -m bench [NAME]`: the table of ratios; with NAME only the rows that have it in their name."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from . import (
    adapters,
    executing,
    graph,
    logs,
    loops,
    mcp_server,
    processes,
    shortcuts,
    tokens,
    tools,
    watching,
    worktrees,
    writes,
)
from .measure import NotAvailable, Row

ROWS = [
    row
    for part in (
        processes,
        writes,
        logs,
        graph,
        tools,
        tokens,
        loops,
        shortcuts,
        executing,
        worktrees,
        watching,
        mcp_server,
        adapters,
    )
    for row in part.ROWS
]
COLUMNS = "{:<38}  {:>13}  {:>13}  {:>8}  {:>8}  {:<4}  {}"


def _time(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms" if seconds >= 0.01 else f"{seconds * 1_000_000:.0f} µs"


def _amount(value: float, unit: str) -> str:
    return f"{value:,.0f} {unit}" if unit else _time(value)


def line(row: Row, folder: Path) -> str:
    try:
        measured = row.measure(folder)
    except NotAvailable as reason:
        return f"{row.name:<38}  not available: {reason}"
    ours, base = measured.ours, measured.base
    if base is not None and not row.in_unit:
        value, goal = ours / base, f"≤ {row.goal:g}×"
    elif row.unit:
        value, goal = ours, f"≤ {row.goal:,g}"
    else:
        value, goal = ours * 1000, f"≤ {row.goal:g} ms"
    verdict = "PASS" if value <= row.goal else "FAIL"
    compared = ("", "") if base is None else (_amount(base, row.unit), f"{ours / base:.2f}×")
    return COLUMNS.format(row.name, _amount(ours, row.unit), *compared, goal, verdict, row.against).rstrip()


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
