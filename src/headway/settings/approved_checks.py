"""Which checks may run unasked in a project: what a person has typed or approved, remembered word for word.

It is kept with the user's own settings and never in the project, since a project may come from someone else.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from typing import cast

from headway.user_records import project_record_file, read_record, write_record

_FOLDER = "checks"
_MOST = 1_000
"""Checks that are remembered for a project; older ones give way."""


def read_approved_checks(project: str | os.PathLike[str]) -> frozenset[str]:
    """Return the checks that may run unasked; none where they cannot be read."""
    return frozenset(_read(project_record_file(_FOLDER, project)))


def approve_checks(project: str | os.PathLike[str], checks: Iterable[str]) -> None:
    """Remember checks that a person has typed or approved. Where nothing can be kept, they are asked about again."""
    file = project_record_file(_FOLDER, project)
    known = _read(file)
    new = [check for check in dict.fromkeys(checks) if check not in known]
    if new:
        with suppress(OSError):
            write_record(file, {"project": os.path.realpath(project), "checks": [*known, *new][-_MOST:]})


def _read(file: str | None) -> list[str]:
    record = read_record(file)
    checks = cast("dict[str, object]", record).get("checks") if isinstance(record, dict) else None
    entries = cast("list[object]", checks) if isinstance(checks, list) else []
    return [check for check in entries if isinstance(check, str)]
