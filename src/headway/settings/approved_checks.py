"""Which checks may run unasked in a project: what a person has typed or approved, remembered word for word.

It is kept with the user's own settings and never in the project, since a project may come from someone else.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from hashlib import sha256
from typing import cast

from headway.core.errors import SettingsError
from headway.settings.files import read_file, user_config_file, write_file
from headway.store.folder import make_closed_folder

_FOLDER = "checks"
_MOST = 1_000
"""Checks that are remembered for a project; older ones give way."""


def approved_checks(project: str | os.PathLike[str]) -> frozenset[str]:
    """Return the checks that may run unasked; none where they cannot be read."""
    return frozenset(_read(_file(project)))


def approve_checks(project: str | os.PathLike[str], checks: Iterable[str]) -> None:
    """Remember checks that a person has typed or approved. Where nothing can be kept, they are asked about again."""
    file = _file(project)
    known = _read(file)
    new = [check for check in dict.fromkeys(checks) if check not in known]
    if file is None or not new:
        return
    with suppress(OSError, SettingsError):
        os.makedirs(os.path.dirname(os.path.dirname(file)), exist_ok=True)
        make_closed_folder(os.path.dirname(file))
        record = {"project": os.path.realpath(project), "checks": [*known, *new][-_MOST:]}
        write_file(file, json.dumps(record, ensure_ascii=False, indent=1))


def _file(project: str | os.PathLike[str]) -> str | None:
    config = user_config_file()
    if config is None:
        return None
    name = sha256(os.fsencode(os.path.realpath(project))).hexdigest()[:32]
    return os.path.join(os.path.dirname(config), _FOLDER, f"{name}.json")


def _read(file: str | None) -> list[str]:
    with suppress(OSError, ValueError, SettingsError):
        text = None if file is None else read_file(file)
        record: object = json.loads(text) if text else None
        if isinstance(record, dict):
            checks = cast("dict[str, object]", record).get("checks")
            if isinstance(checks, list):
                return [check for check in cast("list[object]", checks) if isinstance(check, str)]
    return []
