"""Delivers events in a thread of its own while a run goes on: a slow or dead listener never slows the run."""

from __future__ import annotations

import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class DeliveryThread:
    def __init__(self, deliver: Callable[[], None]) -> None:
        self._deliver = deliver
        self._due = threading.Event()
        self._closing = False
        self._thread = threading.Thread(target=self._work, name="headway events", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        self._due.set()

    def finish(self, seconds: float) -> None:
        """Wait at most so long for what is still to be delivered; the rest follows later."""
        self._closing = True
        self._due.set()
        if threading.current_thread() is not self._thread:
            self._thread.join(seconds)

    def _work(self) -> None:
        while True:
            self._due.wait()
            self._due.clear()
            self._deliver()
            if self._closing and not self._due.is_set():
                return
