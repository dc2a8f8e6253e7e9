"""A listener of a log: what it still has to be told, and telling it, here or in a thread of its own.

Each has a queue: one that is slow or dead holds up no one else. What falls out of a full queue is read from the store
again when it is its turn, so that everything in the log is told once and in order.
"""

from __future__ import annotations

from _thread import RLock
from collections import deque
from dataclasses import replace

from headway.core.errors import StoreError
from headway.core.events import LIVE_ONLY, TODO_LIST_UPDATED
from headway.core.logs import logger
from headway.core.model import MAIN_AGENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from headway.core.delivery_thread import DeliveryThread
    from headway.core.events import Event
    from headway.core.model import State, Todo
    from headway.core.store import Store

TODOS_UPDATE = "todos:update"
EVERY = "*"
"""The name under which every event is listened to."""
MOST_WAITING = 1_000
"""Events that wait in memory."""
_MANY = 100
"""Waiting events from which on text that streams in is joined, in pieces of some length."""
_LONG = 2_000
_PAGE = 500


class Listener:
    def __init__(
        self, store: Store, session: str, name: str, call: Callable[..., object], agent: str | None, since: int
    ) -> None:
        self._store = store
        self._session = session
        self._name = name
        self._call = call
        self._agent = agent
        self._lock = RLock()
        self._waiting: deque[Event] = deque(maxlen=MOST_WAITING)
        self._told = self._due_until = since
        """Versions up to which it was told, and is to be."""
        self._newest: dict[str, tuple[int, dict[str, Todo]]] = {}
        """agent → (version, items) of its last list change: of several that wait, only this one is built in full."""
        self._delivering = False
        self._stopped = False
        self._thread: DeliveryThread | None = None
        self._ending: DeliveryThread | None = None
        """One that may still have something to tell."""

    def renew(self) -> None:
        """Start afresh in the child of a fork: what waited was the parent's to tell."""
        self._lock = RLock()
        self._waiting.clear()
        self._told, self._delivering = self._due_until, False
        self._thread = self._ending = None

    def stop(self) -> None:
        self._stopped = True

    def restart_at(self, version: int) -> None:
        """Tell nothing before this version: the log is another one now, or was read anew."""
        with self._lock:
            self._told = self._due_until = version

    def add(self, event: Event, after: State | None) -> None:
        """Queue an event; `after` is the state after it, None for what is not in the log."""
        with self._lock:
            if not self._join_to_last(event):
                self._waiting.append(event)
            if after is not None:
                self._due_until = event.version
                if event.type == TODO_LIST_UPDATED:
                    self._newest[event.agent] = (event.version, after.list_of(event.agent).items)

    def _join_to_last(self, event: Event) -> bool:
        """Whether text that streams in was added to the text before it: where much waits, pieces would be lost."""
        if event.type != LIVE_ONLY or len(self._waiting) < _MANY:
            return False
        last = self._waiting[-1]
        if last.type != LIVE_ONLY or last.agent != event.agent:
            return False
        piece: Any = event.data
        before: Any = last.data
        if len(before.text) > _LONG or (before.kind, before.call_id) != (piece.kind, piece.call_id):
            return False
        text = type(piece)(before.text + piece.text, piece.kind, piece.call_id)
        self._waiting[-1] = replace(event, data=text)
        return True

    def deliver_in_background(self) -> None:
        """Tell what waits in a thread of its own."""
        if self._waiting or self._told < self._due_until:
            with self._lock:
                if self._thread is None:
                    from headway.core.delivery_thread import DeliveryThread

                    self._thread = DeliveryThread(self._deliver_all)
                self._thread.wake()

    def _deliver_all(self) -> None:
        while self.deliver_next(apart=True):
            pass

    def end_delivery(self, seconds: float) -> None:
        """Wait at most so long for what is still to be told; the rest follows later."""
        with self._lock:
            thread = self._ending = self._thread or self._ending
            self._thread = None
        if thread is not None:
            thread.finish(seconds)

    def deliver_next(self, *, apart: bool = False) -> bool:
        """Tell what comes next; False if there is nothing. The lock is not held meanwhile: a listener may be slow, or
        change the list itself, which it is told after."""
        with self._lock:
            if not self.has_due:
                return False
            self._delivering = True
            events = self._take_due()
        try:
            for event in events:
                self._dispatch(event, apart=apart)
        finally:
            with self._lock:
                self._delivering = False
        return True

    @property
    def has_due(self) -> bool:
        """Whether there is something to tell, and nobody is telling it."""
        return not self._delivering and not self._stopped and (bool(self._waiting) or self._told < self._due_until)

    def _take_due(self) -> list[Event]:
        """Return what comes next: the first that waits, or what fell out of the queue before it."""
        version = self._waiting[0].version if self._waiting else self._due_until + 1
        if version <= self._told + 1:
            events = [self._waiting.popleft()]
        else:
            events = self._reread(min(version - self._told - 1, _PAGE))
        self._told = max(self._told, events[-1].version) if events else version - 1
        return [replace(event, todos=self._full_list(event), session_id=self._session) for event in events]

    def _reread(self, number: int) -> list[Event]:
        try:
            return self._store.events(self._session, self._told, number)
        except StoreError:
            return []

    def _full_list(self, event: Event) -> tuple[Todo, ...] | None:
        newest = self._newest.get(event.agent)
        if event.todos is None and event.type == TODO_LIST_UPDATED and newest and newest[0] == event.version:
            return tuple(newest[1].values())
        return event.todos

    def _dispatch(self, event: Event, *, apart: bool) -> None:
        if self._stopped or (self._agent is not None and self._agent != event.agent):
            return
        if self._name in (event.type, EVERY):
            self._call_listener(event, apart=apart)
        elif self._name == TODOS_UPDATE and event.todos is not None and event.agent == MAIN_AGENT:
            self._call_listener(list(event.todos), apart=apart)

    def _call_listener(self, argument: object, *, apart: bool) -> None:
        try:
            self._call(argument)
        except BaseException as error:
            if not apart and not isinstance(error, Exception):
                raise  # a wish to leave is for whoever made the change; apart, there is nobody to hear it
            logger().exception("A listener of session %r raised; the change stands.", self._session)
