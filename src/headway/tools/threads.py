"""Threads for functions that may hang: none is waited for at the end, and one that hangs takes nothing from others.

An idle thread is used again, which is several times as fast as beginning one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue

from headway.core.forks import renew_in_children

_MOST_IDLE = 8


class _Threads:
    def __init__(self) -> None:
        self._idle: list[SimpleQueue[Callable[[], object]]] = []
        self._lock = threading.Lock()
        renew_in_children(self)

    def renew(self) -> None:
        """Threads do not come along into the child of a fork."""
        self._idle, self._lock = [], threading.Lock()

    def run(self, work: Callable[[], object]) -> None:
        with self._lock:
            jobs = self._idle.pop() if self._idle else None
        if jobs is None:
            jobs = SimpleQueue[Callable[[], object]]()
            threading.Thread(target=self._serve, args=(jobs,), name="headway tool", daemon=True).start()
        jobs.put(work)

    def _serve(self, jobs: SimpleQueue[Callable[[], object]]) -> None:
        while True:
            jobs.get()()
            with self._lock:
                if len(self._idle) >= _MOST_IDLE:
                    return
                self._idle.append(jobs)


_threads = _Threads()


def run_in_thread(work: Callable[[], object]) -> None:
    """Begins the work, which must not raise, in a thread. Returns at once."""
    _threads.run(work)
