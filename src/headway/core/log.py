"""A session's log as one process sees it: loaded, brought up to date, appended to, and listened to.

Below it is a store, above it `Session`. It knows nothing of what a change means; `decide` and `evolve` do.
"""

from __future__ import annotations

from _thread import RLock
from collections import deque
from dataclasses import replace

from headway.core.codec import read_state, write_state
from headway.core.decide import decide
from headway.core.errors import StoreConflict
from headway.core.events import TODO_LIST_UPDATED
from headway.core.evolve import evolve, fold
from headway.core.forks import renew_in_children
from headway.core.model import MAIN_AGENT, State

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from headway.core.changes import Change
    from headway.core.events import Event
    from headway.core.model import Todo
    from headway.core.store import Store


TODOS_UPDATE = "todos:update"
_SNAPSHOT_EVENTS = 100
_SNAPSHOT_WEIGHT = 500


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
        self._listeners: list[tuple[str, Callable[..., object], str | None]] = []
        self._undelivered: deque[tuple[Event, dict[str, Todo]]] = deque()
        self._delivering = False
        renew_in_children(self)

    def renew(self) -> None:
        self._lock = RLock()
        self._undelivered.clear()
        self._delivering = False

    def state(self) -> State:
        """The state as the store has it now; listeners hear of what others changed."""
        with self._lock:
            state = self._fresh()
        self._deliver()
        return state

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
            try:
                made = self._attempt(make)
            except StoreConflict:
                with self.store.turn(self.name):
                    made = self._attempt(make)
        self._deliver()
        return made

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
        return self._state

    def _adopted(self, before: State, events: list[Event], after: State) -> State:
        """The state after the events, now this log's own; each is queued for the listeners with the list after it."""
        if self._listeners:
            for event in events:
                before = evolve(before, event)
                self._undelivered.append((event, before.list_of(event.agent).items))
        self._state = after
        return after

    def listen(self, name: str, listener: Callable[..., object], agent: str | None) -> Callable[[], None]:
        """Calls the listener for an event's name, of one agent or of all, from now on."""
        entry = (name, listener, agent)
        with self._lock:
            self._fresh()
            self._listeners = [*self._listeners, entry]

        def unsubscribe() -> None:
            with self._lock:
                self._listeners = [other for other in self._listeners if other is not entry]

        return unsubscribe

    def _deliver(self) -> None:
        """Tells the listeners, in the order of the log. The lock is not held meanwhile: a listener may be slow, or
        change the list itself, which is told after what it heard."""
        while True:
            with self._lock:
                if self._delivering or not self._undelivered:
                    return
                self._delivering = True
                event, items = self._undelivered.popleft()
                listeners = self._listeners
            event = replace(event, todos=tuple(items.values()))
            try:
                for name, listener, agent in listeners:
                    if agent is not None and agent != event.agent:
                        continue
                    if name == event.type:
                        self._call(listener, event)
                    elif name == TODOS_UPDATE and event.type == TODO_LIST_UPDATED and event.agent == MAIN_AGENT:
                        self._call(listener, list(event.todos or ()))
            finally:
                with self._lock:
                    self._delivering = False

    def _call(self, listener: Callable[..., object], argument: object) -> None:
        try:
            listener(argument)
        except Exception:
            import logging

            logging.getLogger("headway").exception("A listener of session %r raised; the change stands.", self.name)
