"""A re-entrant lock that a forked child finds free, whatever the threads of its parent were doing."""

from __future__ import annotations

import os
from _thread import RLock


class ForkLock:
    def __init__(self) -> None:
        self._pid = os.getpid()
        self._lock = RLock()

    def __enter__(self) -> None:
        if self._pid != os.getpid():
            self._pid = os.getpid()
            self._lock = RLock()
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()
