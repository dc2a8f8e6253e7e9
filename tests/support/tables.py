"""Tables of pure cases in one test: every row is tried, and every row that fails is reported."""

from __future__ import annotations

import reprlib
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import cast

import pytest


def check_rows(rows: Iterable[object], check: Callable[..., object]) -> None:
    """Calls `check` with each row (a tuple is its arguments) and fails with all the rows that did not hold."""
    failures: list[str] = []
    count = 0
    for count, row in enumerate(rows, start=1):
        arguments = cast("tuple[object, ...]", row) if isinstance(row, tuple) else (row,)
        try:
            check(*arguments)
        except (Exception, pytest.fail.Exception) as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            failures.append(
                f"row {count}, {reprlib.repr(cast('object', row))}:\n"
                f"{Path(where.filename).name}:{where.lineno}: {type(error).__name__}: {error}"
            )
    assert count, "the table is empty"
    if failures:
        pytest.fail(f"{len(failures)} of {count} rows failed\n\n" + "\n\n".join(failures), pytrace=False)
