"""Tables of pure cases in one test: every row is tried, and every row that fails is reported."""

from __future__ import annotations

import os
import reprlib
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import cast

import pytest

ROOT = Path(__file__).parents[2]


def check_rows(rows: Iterable[object], check: Callable[..., object]) -> None:
    """Calls `check` with each row (a tuple is its arguments) and fails with all the rows that did not hold."""
    failures: list[str] = []
    count = 0
    for count, row in enumerate(rows, start=1):
        arguments = cast("tuple[object, ...]", row) if isinstance(row, tuple) else (row,)
        try:
            check(*arguments)
        except (Exception, pytest.fail.Exception) as error:
            failures.append(
                f"row {count}, {reprlib.repr(cast('object', row))}:\n{_where(error)}: {type(error).__name__}: {error}"
            )
    assert count, "the table is empty"
    if failures:
        pytest.fail(f"{len(failures)} of {count} rows failed\n\n" + "\n\n".join(failures), pytrace=False)


def _where(error: BaseException) -> str:
    """Return the lines of the check and of what it called last, such as `tests/a.py:3 → src/headway/b.py:9`."""
    frames = traceback.extract_tb(error.__traceback__)
    ends = (frames[min(1, len(frames) - 1)], frames[-1])
    places = [f"{os.path.relpath(one.filename, ROOT)}:{one.lineno}" for one in ends]
    return " → ".join(dict.fromkeys(places))
