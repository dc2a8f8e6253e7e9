"""How often and how much is tried: a part of it in `make test`, all of it in `make soak`."""

from __future__ import annotations

import os

FULL = os.environ.get("HEADWAY_TESTS") == "full"
ON_DISK = os.environ.get("HEADWAY_TESTS") == "disk"
"""Whether sessions that are in memory otherwise are kept on disk."""


def some(number: int, share: int = 4) -> int:
    """The number, or every `share`th of it."""
    return number if FULL else number // share
