"""Threads for functions that may hang: none is waited for at the end, and one that hangs takes nothing from others.

An idle thread is used again, which is several times as fast as beginning one.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import ParamSpec, TypeVar, cast

from headway.core.forks import renew_in_children

P = ParamSpec("P")
T = TypeVar("T")
_MOST_IDLE = 8
_BRIEFLY = 0.0003
"""Seconds in which nothing else goes on."""


class _Threads:
    def __init__(self) -> None:
        self._idle: list[SimpleQueue[Callable[[], object]]] = []
        self._lock = threading.Lock()
        self.busy = 0
        """Calls that have not ended."""
        renew_in_children(self)

    def renew(self) -> None:
        """Threads do not come along into the child of a fork."""
        self._idle, self._lock, self.busy = [], threading.Lock(), 0

    def run(self, work: Callable[[], object]) -> None:
        with self._lock:
            self.busy += 1
            jobs = self._idle.pop() if self._idle else None
        if jobs is None:
            jobs = SimpleQueue[Callable[[], object]]()
            threading.Thread(target=self._serve, args=(jobs,), name="headway tool", daemon=True).start()
        jobs.put(work)

    def _serve(self, jobs: SimpleQueue[Callable[[], object]]) -> None:
        while True:
            jobs.get()()
            with self._lock:
                self.busy -= 1
                if len(self._idle) >= _MOST_IDLE:
                    return
                self._idle.append(jobs)


_threads = _Threads()


async def in_thread(work: Callable[[], object]) -> tuple[object, BaseException | None]:
    """What the work returns, or raises, in a thread."""
    call = _Call(work)
    _threads.run(call)
    return call.outcome if call.is_over(_BRIEFLY) else await call.over()


async def done_in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """As `asyncio.to_thread`, in one of these threads: whoever has to know whether it is still at it can ask."""
    call = functools.partial(function, *args, **kwargs)
    result, error = await in_thread(functools.partial(contextvars.copy_context().run, call))
    if error is not None:
        raise error
    return cast("T", result)


async def quiet(seconds: float) -> None:
    """Waits, at most so long, until no thread is at work: one cannot be stopped, and may still write something."""
    deadline = time.monotonic() + seconds
    while _threads.busy and time.monotonic() < deadline:
        await asyncio.sleep(0.01)


class _Call:
    """Work in a thread, and whoever waits for it on an event loop."""

    def __init__(self, work: Callable[[], object]) -> None:
        self._work = work
        self._ended = threading.Lock()
        self._ended.acquire()
        self._lock = threading.Lock()
        self._tell: Callable[[], object] | None = None
        self.outcome: tuple[object, BaseException | None] = (None, None)

    def __call__(self) -> None:
        """In the thread."""
        try:
            self.outcome = (self._work(), None)
        except BaseException as error:  # goes on where it is waited for
            self.outcome = (None, error)
        with self._lock:
            self._ended.release()
            tell = self._tell
        if tell is not None:
            with suppress(RuntimeError):  # the loop is gone, and with it whoever waited
                tell()

    def is_over(self, seconds: float) -> bool:
        """Waits right here. Most functions of a tool end at once, and going through the event loop takes longer."""
        return self._ended.acquire(timeout=seconds)

    async def over(self) -> tuple[object, BaseException | None]:
        loop = asyncio.get_running_loop()
        told = asyncio.Event()
        with self._lock:
            self._tell = functools.partial(loop.call_soon_threadsafe, told.set)
            if not self._ended.locked():
                told.set()
        await told.wait()
        return self.outcome
