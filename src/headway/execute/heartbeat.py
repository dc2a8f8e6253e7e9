"""Signs of life: while an execution works on the project's files, a file says so several times a second.

If its process is killed, files that were changed after the last sign are someone else's.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from headway.core.errors import HeadwayError

if TYPE_CHECKING:
    from headway.execute.shadow import Shadow

EVERY = 0.05
MARGIN = 0.15
"""Seconds after the last sign of life in which a change still counts as the execution's own."""


def _name(run_id: str) -> str:
    return f"alive-{run_id}"


class Heartbeat:
    """Begins at once, in a thread of its own."""

    def __init__(self, shadow: Shadow, run_id: str) -> None:
        self._shadow = shadow
        self._name = _name(run_id)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="headway alive", daemon=True)
        self._thread.start()

    def _beat(self) -> None:
        while True:
            with suppress(OSError, HeadwayError):
                self._shadow.touch(self._name)
            if self._over.wait(EVERY):
                return

    def end(self) -> None:
        """In order: what it had under way is in the log."""
        self._over.set()
        self._thread.join()
        self._shadow.forget(self._name)


def last_sign(shadow: Shadow, run_id: str) -> float | None:
    """Until when changes count as those of a run that was killed; None if that is not known."""
    touched = shadow.last_touched(_name(run_id))
    return None if touched is None else touched + MARGIN
