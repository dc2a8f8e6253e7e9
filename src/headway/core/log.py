"""A session's log as one process sees it: loaded, brought up to date, appended to, and listened to.

Below it is a store, above it `Session`. It knows nothing of what a change means; `decide` and `evolve` do.
"""

from __future__ import annotations

import time
from _thread import RLock
from collections import deque
from dataclasses import replace

from headway.core.clock import now
from headway.core.codec import read_state, write_state
from headway.core.decide import decide
from headway.core.errors import RunRefused, StoreConflict, StoreError
from headway.core.events import TODO_LIST_UPDATED
from headway.core.evolve import evolve, fold
from headway.core.forks import renew_in_children
from headway.core.model import MAIN_AGENT, State

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from headway.core.changes import Change
    from headway.core.courier import Courier
    from headway.core.events import Event
    from headway.core.model import Todo
    from headway.core.runs import Run

    Listener: TypeAlias = "tuple[str, Callable[..., object], str | None, int]"
    """(name of the event, function, agent, version after which it listens)."""
    from headway.core.store import Store


TODOS_UPDATE = "todos:update"
EVERY = "*"
"""The name under which every event is listened to."""
_SNAPSHOT_EVENTS = 100
_SNAPSHOT_WEIGHT = 500
_MOST_WAITING = 1_000
"""Events that wait for slow listeners; what falls out is read from the store again when it is their turn."""
_PAGE = 500
_ATTEND_EVERY = 1.0
"""Seconds between looks at whether the process of a run is still there."""


def run_lease(agent: str) -> str:
    """The key of the lease that an agent's run holds."""
    return f"run:{agent}"


def _doubled(number: int, least: int) -> int:
    while number < least:
        number *= 2
    return number


class Log:
    def __init__(self, store: Store, name: str) -> None:
        self.store = store
        self.name = name
        self._lock = RLock()
        self._state: State | None = None
        self._identity: object = None
        self._listeners: list[Listener] = []
        self._undelivered: deque[Event] = deque(maxlen=_MOST_WAITING)
        self._told = 0
        """Version of the last event that listeners were told of, or need not be."""
        self._due_until = 0
        """Version of the last event that they are to be told of."""
        self._newest: dict[str, tuple[int, dict[str, Todo]]] = {}
        """agent → (version, items) of its last list change: of several that wait, only this one is built in full."""
        self._delivering = False
        self._background = 0
        self._courier: Courier | None = None
        self._look_at = 0.0
        renew_in_children(self)

    def renew(self) -> None:
        self._lock = RLock()
        self._undelivered.clear()
        self._delivering = False
        self._background, self._courier = 0, None

    def state(self) -> State:
        """The state as the store has it now; listeners hear of what others changed."""
        with self._lock:
            state = self._attended(self._fresh())
        self._deliver()
        return state

    def _attended(self, state: State) -> State:
        """The state without runs whose process is gone: what they had in progress does not stay so."""
        if not state.runs or time.monotonic() < self._look_at:
            return state
        self._look_at = time.monotonic() + _ATTEND_EVERY
        for agent, run in state.runs.items():
            if run.goes_on and self.store.holder(self.name, run_lease(agent)) is None:
                self.cut_off(agent, run)
        return self._fresh()

    def cut_off(self, agent: str, run: Run) -> None:
        """Ends a run whose process is gone."""
        from headway.core.model import LOOP
        from headway.core.run_changes import EndRun
        from headway.core.runs import CUT_OFF

        def make(state: State) -> EndRun:
            return EndRun(agent, LOOP, now(), run.id, "error", CUT_OFF)

        with self._lock:
            try:
                self._decided(make)
            except (RunRefused, StoreError):  # someone else was faster, or nothing can be written here
                self._look_at = time.monotonic() + _ATTEND_EVERY

    def _fresh(self) -> State:
        state = self._state
        if state is None:
            return self._loaded()
        identity, version = self.store.position(self.name)
        continued = self._identity is None or identity == self._identity
        if version == state.version and continued:
            return state
        events = self.store.events(self.name, state.version) if continued else []
        if not events:
            return self._loaded()
        self._identity = identity
        return self._adopted(state, events, fold(state, events))

    def change(self, make: Callable[[State], Change]) -> tuple[list[Event], State]:
        """Decides and appends; the events and the state right after them, whatever others, or listeners, do next.

        If another process was faster: once more on the fresh state, now holding the turn.
        """
        with self._lock:
            if self._state is None or time.monotonic() >= self._look_at:
                self._attended(self._fresh())
            made = self._decided(make)
        self._deliver()
        return made

    def _decided(self, make: Callable[[State], Change]) -> tuple[list[Event], State]:
        try:
            return self._attempt(make)
        except StoreConflict:
            with self.store.turn(self.name):
                return self._attempt(make)

    def _attempt(self, make: Callable[[State], Change]) -> tuple[list[Event], State]:
        state = self._fresh()
        events = decide(state, make(state))
        if not events:
            return events, state
        after = fold(state, events)
        self.store.append(self.name, state.version, events, self._snapshot_text(state, after))
        self._adopted(state, events, after)
        if self._identity is None:
            self._identity = self.store.position(self.name)[0]
        return events, after

    def _snapshot_text(self, before: State, after: State) -> str | None:
        """A snapshot after some events, sooner if they are large; what "some" is doubles with the size of the state."""
        if not self.store.keeps_snapshots:
            return None
        items = sum(len(todos.items) for todos in after.lists.values())
        events = _doubled(_SNAPSHOT_EVENTS, items // 10)
        weight = _doubled(_SNAPSHOT_WEIGHT, items)
        due = after.version // events > before.version // events or after.weight // weight > before.weight // weight
        return write_state(after) if due else None

    def _loaded(self) -> State:
        self._identity = self.store.position(self.name)[0]
        snapshot = self.store.snapshot(self.name)
        state = (read_state(snapshot.text) if snapshot else None) or State()
        self._state = fold(state, self.store.events(self.name, state.version))
        self._told = self._due_until = self._state.version
        return self._state

    def _adopted(self, before: State, events: list[Event], after: State) -> State:
        """The state after the events, now this log's own; the events are queued for the listeners.

        Whoever is told at once gets the list after each of them; whoever may be slow, the newest.
        """
        if self._listeners:
            for event in events:
                listed = event.type == TODO_LIST_UPDATED
                if listed:
                    self._newest[event.agent] = (event.version, after.list_of(event.agent).items)
                if not self._background:
                    before = evolve(before, event)
                    if listed:
                        event = replace(event, todos=tuple(before.list_of(event.agent).items.values()))
                self._undelivered.append(event)
            self._due_until = after.version
        else:
            self._told = self._due_until = after.version
        self._state = after
        return after

    @property
    def is_heard(self) -> bool:
        return bool(self._listeners)

    def tell(self, event: Event) -> None:
        """Tells the listeners of something that is not in the log."""
        with self._lock:
            self._undelivered.append(event)
        self._deliver()

    def listen(self, name: str, listener: Callable[..., object], agent: str | None) -> Callable[[], None]:
        """Calls the listener for an event's name, of one agent or of all, from now on."""
        with self._lock:
            entry = (name, listener, agent, self._fresh().version)
            self._listeners = [*self._listeners, entry]

        def unsubscribe() -> None:
            with self._lock:
                self._listeners = [other for other in self._listeners if other is not entry]

        return unsubscribe

    def deliver_apart(self) -> Callable[[float], None]:
        """From now on listeners are called in a thread of their own. Returns what ends it, waiting so many seconds."""
        with self._lock:
            self._background += 1

        def end(seconds: float) -> None:
            with self._lock:
                self._background -= 1
                courier, self._courier = (None, self._courier) if self._background else (self._courier, None)
            if courier is not None:
                courier.close(seconds)

        return end

    def _deliver(self) -> None:
        """Tells the listeners, in the order of the log: here, or in a thread of its own while a run goes on."""
        if not self._background:
            self._deliver_now()
        elif self._has_due:
            with self._lock:
                if self._courier is None:
                    from headway.core.courier import Courier

                    self._courier = Courier(self._deliver_now)
                self._courier.wake()

    def _deliver_now(self) -> None:
        """The lock is not held meanwhile: a listener may be slow, or change the list itself, which is told after what
        it heard."""
        while True:
            with self._lock:
                if self._delivering or not self._has_due:
                    return
                self._delivering = True
                events = self._due()
                listeners = self._listeners
            try:
                for event in events:
                    self._announce(event, listeners)
            finally:
                with self._lock:
                    self._delivering = False

    @property
    def _has_due(self) -> bool:
        return bool(self._undelivered) or self._told < self._due_until

    def _due(self) -> list[Event]:
        """What comes next: the first that waits, or what fell out of the queue before it."""
        version = self._undelivered[0].version if self._undelivered else self._due_until + 1
        if version <= self._told + 1:
            events = [self._undelivered.popleft()]
        else:
            events = self._read_again(min(version - self._told - 1, _PAGE))
        self._told = max(self._told, events[-1].version) if events else version - 1
        return [replace(event, todos=self._full_list(event), session_id=self.name) for event in events]

    def _read_again(self, number: int) -> list[Event]:
        try:
            return self.store.events(self.name, self._told, number)
        except StoreError:
            return []

    def _full_list(self, event: Event) -> tuple[Todo, ...] | None:
        newest = self._newest.get(event.agent)
        if event.todos is None and event.type == TODO_LIST_UPDATED and newest and newest[0] == event.version:
            return tuple(newest[1].values())
        return event.todos

    def _announce(self, event: Event, listeners: list[Listener]) -> None:
        for name, listener, agent, since in listeners:
            if (agent is not None and agent != event.agent) or 0 < event.version <= since:
                continue
            if name in (event.type, EVERY):
                self._call(listener, event)
            elif name == TODOS_UPDATE and event.todos is not None and event.agent == MAIN_AGENT:
                self._call(listener, list(event.todos))

    def _call(self, listener: Callable[..., object], argument: object) -> None:
        try:
            listener(argument)
        except Exception:
            import logging

            logging.getLogger("headway").exception("A listener of session %r raised; the change stands.", self.name)
