"""`headway` commands that are run within the test, and what they print as data."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from click.testing import Result

Headway = Callable[..., Result]


def data(result: Result) -> Any:
    return json.loads(result.stdout)
