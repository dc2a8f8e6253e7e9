"""Following a log from a version on, once and in order: `Follower`, read with `for` or `async for`, and `Listener`.

A log adds what is new to the queue of each follower, whoever made it, so that a follower that is slow or dead holds up
nobody. What fell out of a full queue, or was there before, is read from the store when it is its turn. What other
processes add, the log finds: in one thread, as long as anyone follows it.
"""

from __future__ import annotations

import time
from _thread import RLock, allocate_lock
from collections import deque
from contextlib import suppress
from dataclasses import replace

from headway.core.errors import StoreError
from headway.core.events import TODOS_UPDATE, ListDelta
from headway.core.logs import logger
from headway.core.model import MAIN_AGENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    import threading
    from collections.abc import Callable
    from typing import Any, Self

    from headway.core.events import Event
    from headway.core.log import Log

MOST_WAITING = 1_000
"""Events that wait in memory."""
_LINGER = 1.0
"""Seconds for which the thread of a listener waits for more."""
_MANY = 100
"""Waiting events from which on text that streams in is joined, in pieces of some length."""
_LONG = 2_000
_PAGE = 500


class Follower:
    """Yields the events of a log after a version (None: from now on), and waits for more, for one reader at a time.

    Ends after `timeout` quiet seconds, after `max_wait` seconds in all, with `close`, and when the session is deleted;
    with `restarts` it then goes on with the first event of the session that takes its place.
    """

    hears_live = False
    """Whether it is told of text that streams in, too."""

    def __init__(
        self,
        log: Log,
        after: int | None = None,
        *,
        timeout: float | None = None,
        max_wait: float | None = None,
        restarts: bool = False,
    ) -> None:
        self._log = log
        self._after, self._timeout, self._restarts = after, timeout, restarts
        self._deadline = None if max_wait is None else time.monotonic() + max_wait
        self._last_version: int | None = None
        """The version with which it ends, once the deadline is over."""
        self._lock, self._reading = RLock(), allocate_lock()
        self._waiting: deque[Event] = deque(maxlen=MOST_WAITING)
        self._ready: deque[Event] = deque()
        """What comes next: from those that wait, or from the store."""
        self._position = self._due_until = 0
        """Versions up to which it was made ready, and can be."""
        self._has_restarted = False
        self.is_over: bool = False
        self._restarts_so_far = 0
        self._error: BaseException | None = None
        self._wake: Callable[[], object] | None = None
        """Wakes the reader, who waits."""
        log.add_follower(self)

    # told by the log, under its lock

    def begin_at(self, version: int) -> None:
        self._due_until = version
        self._position = version if self._after is None else self._after

    def restart(self, version: int, *, is_new_log: bool) -> None:
        """Go on in a log that was read anew: a new one of the same name, or what is left of this one."""
        with self._lock:
            self._waiting.clear()
            self._restarts_so_far += 1
            self._due_until, self._position = version, 0 if is_new_log else min(self._position, version)
            self._has_restarted = True
            self.is_over = self.is_over or (is_new_log and not self._restarts)
        self.wake()

    def add(self, event: Event) -> None:
        with self._lock:
            if event.data.is_live_only:
                if self.hears_live and not self._join_to_last(event):
                    self._waiting.append(event)
                return
            self._due_until = event.version
            if event.version > self._position:
                self._waiting.append(event)

    def fail(self, error: BaseException) -> None:
        """Raise it where the reader waits: the log cannot be followed."""
        self._error = error
        self.wake()

    def wake(self) -> None:
        if (wake := self._wake) is not None:
            wake()

    def renew(self) -> None:
        """Start afresh in the child of a fork; what is in the store is read there."""
        self._lock, self._reading = RLock(), allocate_lock()
        self._waiting.clear()
        self._wake = None

    def _join_to_last(self, event: Event) -> bool:
        """Whether text that streams in was added to the text before it: where much waits, pieces would be lost."""
        if len(self._waiting) < _MANY:
            return False
        last = self._waiting[-1]
        if not last.data.is_live_only or last.agent != event.agent:
            return False
        piece: Any = event.data
        before: Any = last.data
        if len(before.text) > _LONG or (before.kind, before.call_id) != (piece.kind, piece.call_id):
            return False
        text = replace(piece, text=before.text + piece.text)
        self._waiting[-1] = replace(event, data=text)
        return True

    # read

    @property
    def has_due(self) -> bool:
        return bool(self._ready or self._waiting) or self._position < self._due_until

    def take_all(self) -> list[Event]:
        """Return everything that is new, at once."""
        self._has_restarted = False
        self._raise_error()
        events: list[Event] = []
        while self.prepare():
            events += self._ready
            self._ready.clear()
        return events

    def prepare(self) -> bool:
        """Make ready what comes next, if nothing is; return whether anything is then."""
        with self._reading:
            if not self._ready:
                # Read without the lock: whoever holds the store's may want it, to add an event.
                with self._lock:
                    missing, turn = self._count_missing(), self._restarts_so_far
                events = self._read(min(missing, _PAGE)) if missing else []
                with self._lock:
                    if missing and turn == self._restarts_so_far:
                        self._position = events[-1].version if events else self._position + missing
                        self._ready.extend(map(self._complete, events))
                    while not self._count_missing() and self._waiting:
                        event = self._waiting.popleft()
                        self._position = max(self._position, event.version)
                        self._ready.append(self._complete(event))
        return bool(self._ready)

    def _count_missing(self) -> int:
        """Return how many events must be read from the store before the first that waits."""
        version = self._waiting[0].version if self._waiting else self._due_until + 1
        return max(version - self._position - 1, 0)

    def _read(self, number: int) -> list[Event]:
        return self._log.store.events(self._log.name, self._position, number)

    def _complete(self, event: Event) -> Event:
        """Return the event with its session and, if it is its agent's last change of the list, with the full list."""
        todos, state = event.todos, self._log.last_state
        if todos is None and isinstance(event.data, ListDelta) and state is not None:
            todo_list = state.list_of(event.agent)
            todos = tuple(todo_list.items.values()) if todo_list.changed_in == event.version else None
        return replace(event, todos=todos, session_id=self._log.name)

    def close(self) -> None:
        """End it, in whatever thread it is read; it can be read no more."""
        self.is_over = True
        self._log.remove_follower(self)
        self.wake()

    # waited for

    @property
    def _has_news(self) -> bool:
        return self.has_due or self.is_over or self._has_restarted or self._error is not None

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until there is something to take or the end; False if neither came in so many seconds."""
        import threading

        signal = threading.Event()
        self._wake = signal.set
        self._log.look_regularly()
        return self._has_news or signal.wait(seconds)

    async def wait_async(self, seconds: float | None = None) -> bool:
        """As `wait`, on an event loop."""
        import asyncio

        signal, loop = asyncio.Event(), asyncio.get_running_loop()

        def wake() -> None:
            with suppress(RuntimeError):  # the loop is gone
                loop.call_soon_threadsafe(signal.set)

        self._wake = wake
        try:
            self._log.look_regularly()
            async with asyncio.timeout(seconds):
                return self._has_news or await signal.wait()
        except TimeoutError:
            return False

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Event:
        while not self._ready:
            if self._has_ended():
                raise StopIteration
            if not self.prepare() and not self.wait(self._find_patience()):
                self.close()
        return self._ready.popleft()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        import asyncio

        while not self._ready:
            if self._has_ended():
                raise StopAsyncIteration
            # If this is cancelled, what the thread reads is ready for the next reader.
            is_ready = await asyncio.to_thread(self.prepare) if self._count_missing() else self.prepare()
            if not is_ready and not await self.wait_async(self._find_patience()):
                self.close()
        return self._ready.popleft()

    def _raise_error(self) -> None:
        if self._error is not None:
            error, self._error = self._error, None
            self.close()
            raise error

    def _has_ended(self) -> bool:
        self._has_restarted = False
        self._raise_error()
        if self._deadline is not None and time.monotonic() >= self._deadline:
            if self._last_version is None:
                self._last_version = self._due_until
            if self._position >= self._last_version:
                self.close()
        return self.is_over

    def _find_patience(self) -> float | None:
        """Return how many seconds may be waited now."""
        left = None if self._deadline is None else max(self._deadline - time.monotonic(), 0)
        return min((one for one in (self._timeout, left) if one is not None), default=None)


class Listener(Follower):
    """Calls a function for the events of a name and agent, or all: where they are made, or in a thread of its own."""

    hears_live = True

    def __init__(self, log: Log, name: str | None, call: Callable[..., object], agent: str | None) -> None:
        self._name = name
        self._call = call
        self._agent = agent
        self._delivering = self._is_ending = False
        self._thread: threading.Thread | None = None
        self._signal: threading.Event | None = None
        super().__init__(log, restarts=True)

    def renew(self) -> None:
        """What waited was the parent's to tell."""
        super().renew()
        self._ready.clear()
        self._position, self._delivering, self._thread = self._due_until, False, None

    @property
    def has_due(self) -> bool:
        """Whether there is something to tell, and nobody is telling it."""
        return not self._delivering and not self.is_over and super().has_due

    def deliver_in_background(self) -> None:
        """Tell what waits in a thread of its own."""
        if not super().has_due:
            return
        import threading

        with self._lock:
            if self._thread is None or self._signal is None:
                self._is_ending, self._signal = False, threading.Event()
                arguments = (self._signal,)
                thread = threading.Thread(target=self._deliver_all, args=arguments, name="headway events", daemon=True)
                self._thread = thread
                thread.start()
            self._signal.set()

    def _deliver_all(self, signal: threading.Event) -> None:
        while True:
            signal.wait(0 if self._is_ending else _LINGER)
            signal.clear()
            told = False
            while self.deliver_next(apart=True):
                told = True
            with self._lock:
                if not told and not signal.is_set():
                    self._thread = None
                    return

    def end_delivery(self, seconds: float) -> None:
        """Wait at most so long for what is still to be told; the rest follows later."""
        from threading import current_thread

        with self._lock:
            thread, self._is_ending = self._thread, True
            if self._signal is not None:
                self._signal.set()
        if thread is not None and thread is not current_thread():
            thread.join(seconds)

    def deliver_next(self, *, apart: bool = False) -> bool:
        """Tell what comes next; False if there is nothing. The lock is not held meanwhile: a listener may be slow, or
        change the list itself, which it is told after."""
        with self._lock:
            if not self.has_due:
                return False
            self._delivering = True
        try:
            if self.prepare():
                self._dispatch(self._ready.popleft(), apart=apart)
        finally:
            self._delivering = False
        return True

    def _read(self, number: int) -> list[Event]:
        try:
            return super()._read(number)
        except StoreError:
            return []

    def _dispatch(self, event: Event, *, apart: bool) -> None:
        if self.is_over or (self._agent is not None and self._agent != event.agent):
            return
        if self._name in (event.type, None):
            self._call_listener(event, apart=apart)
        elif self._name == TODOS_UPDATE and event.todos is not None and event.agent == MAIN_AGENT:
            self._call_listener(list(event.todos), apart=apart)

    def _call_listener(self, argument: object, *, apart: bool) -> None:
        try:
            self._call(argument)
        except BaseException as error:
            if not apart and not isinstance(error, Exception):
                raise  # a wish to leave is for whoever made the change; apart, there is nobody to hear it
            logger().exception("A listener of session %r raised; the change stands.", self._log.name)
