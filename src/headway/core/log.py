"""A session's log as one process sees it: loaded, brought up to date, appended to, and listened to.

Below it is a store, above it `Session`. What a change means, `decide` and `evolve` know; of runs, it knows when one is
left behind.
"""

from __future__ import annotations

import time
from _thread import RLock
from dataclasses import replace

from headway.core.clock import now
from headway.core.codec import read_state, write_state
from headway.core.decide import decide
from headway.core.errors import ChecksNeeded, HeadwayError, RunRefused, StoreConflict, StoreError
from headway.core.events import TODO_LIST_UPDATED
from headway.core.evolve import evolve, fold
from headway.core.forks import renew_in_children
from headway.core.listening import Listener
from headway.core.model import State
from headway.core.redaction import without_secrets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from headway.core.changes import Change, CompletionChecks
    from headway.core.events import Event
    from headway.core.runs import Run
    from headway.core.store import Store


_SNAPSHOT_EVENTS = 100
_SNAPSHOT_WEIGHT = 500
_ATTEND_EVERY = 1.0
"""Seconds between looks at whether the process of a run is still there."""


def run_lease(agent: str) -> str:
    """The key of the lease that an agent's run holds."""
    return f"run:{agent}"


def _doubled(number: int, least: int) -> int:
    while number < least:
        number *= 2
    return number


def _is_over(step: int, before: int, after: int) -> bool:
    """Whether a multiple of the step was reached."""
    return after // step > before // step


class Log:
    def __init__(self, store: Store, name: str) -> None:
        self.store = store
        self.name = name
        self._lock = RLock()
        self._state: State | None = None
        self._identity: object = None
        self._listeners: list[Listener] = []
        self._telling = False
        self._background = 0
        """Runs that go on here: as long as there are any, listeners are called in threads of their own."""
        self.own_runs: set[str] = set()
        """Ids of runs of this process, which knows itself whether it is still there."""
        self._look_at = 0.0
        self.completion_checks: dict[str, CompletionChecks] = {}
        """Agent → the checks that its run, in this process, makes before its model may complete todos."""
        renew_in_children(self)

    def renew(self) -> None:
        self._lock = RLock()
        self._background, self._telling = 0, False
        self.own_runs.clear()
        self.completion_checks.clear()
        for listener in self._listeners:
            listener.renew()

    def state(self) -> State:
        """The state as the store has it now; listeners hear of what others changed."""
        with self._lock:
            state = self._attended(self._fresh())
        self._deliver()
        return state

    @property
    def known(self) -> State | None:
        """The state as it was last seen here, without a look at the store."""
        return self._state

    def _attended(self, state: State) -> State:
        """The state without runs whose process is gone: what they had in progress does not stay so."""
        if not state.runs or time.monotonic() < self._look_at:
            return state
        self._look_at = time.monotonic() + _ATTEND_EVERY
        for agent, run in state.runs.items():
            if run.goes_on and run.id not in self.own_runs and self.store.holder(self.name, run_lease(agent)) is None:
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
                self.store.drop_ended_questions()
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
        """Decides and appends; the events and the state right after them, whatever others, or listeners, do next."""
        with self._lock:
            if self._state is None or time.monotonic() >= self._look_at:
                self._attended(self._fresh())
            made = self._decided(make)
        self._deliver()
        return made

    def _decided(self, make: Callable[[State], Change]) -> tuple[list[Event], State]:
        """First on what is known, since the store says if it is no longer so; then on what there is."""
        known = self._state
        if known is not None:
            try:
                made = self._attempt(known, make)
                if made[0] or self._fresh() is known:
                    return made
            except StoreConflict:
                pass
            except StoreError:
                raise
            except HeadwayError:
                if self._fresh() is known:
                    raise
        try:
            return self._attempt(self._fresh(), make)
        except StoreConflict:
            with self.store.turn(self.name):
                return self._attempt(self._fresh(), make)

    def _attempt(self, state: State, make: Callable[[State], Change]) -> tuple[list[Event], State]:
        change = without_secrets(make(state))
        change.completion_checks = self.completion_checks.get(change.agent)
        try:
            events = decide(state, change)
        except ChecksNeeded as error:
            if change.completion_checks is not None:
                change.completion_checks.needed = error.todo_ids
            raise
        if not events:
            return events, state
        after = fold(state, events)
        snapshot = self._snapshot_text(state, after)
        self._identity = self.store.append(self.name, state.version, events, snapshot, identity=self._identity)
        self._adopted(state, events, after)
        return events, after

    def _snapshot_text(self, before: State, after: State) -> str | None:
        """A snapshot after some events, sooner if they are large; what "some" is doubles with the size of the state."""
        if not self.store.keeps_snapshots or not (
            _is_over(_SNAPSHOT_EVENTS, before.version, after.version)
            or _is_over(_SNAPSHOT_WEIGHT, before.weight, after.weight)
        ):
            return None
        items = sum(len(todos.items) for todos in after.lists.values())
        events = _doubled(_SNAPSHOT_EVENTS, items // 10)
        weight = _doubled(_SNAPSHOT_WEIGHT, items)
        due = _is_over(events, before.version, after.version) or _is_over(weight, before.weight, after.weight)
        return write_state(after) if due else None

    def _loaded(self) -> State:
        self._identity = self.store.position(self.name)[0]
        snapshot = self.store.snapshot(self.name)
        state = (read_state(snapshot.text) if snapshot else None) or State()
        self._state = fold(state, self.store.events(self.name, state.version))
        for listener in self._listeners:
            listener.begin_again(self._state.version)
        return self._state

    def _adopted(self, before: State, events: list[Event], after: State) -> State:
        """The state after the events, now this log's own; the events are queued for the listeners.

        Whoever is told at once gets the list after each of them; whoever may be slow, the newest.
        """
        if self._listeners:
            for event in events:
                if not self._background:
                    before = evolve(before, event)
                    if event.type == TODO_LIST_UPDATED:
                        event = replace(event, todos=tuple(before.list_of(event.agent).items.values()))
                for listener in self._listeners:
                    listener.add(event, after)
        self._state = after
        return after

    @property
    def is_heard(self) -> bool:
        return bool(self._listeners)

    def tell(self, event: Event) -> None:
        """Tells the listeners of something that is not in the log."""
        for listener in self._listeners:
            listener.add(event, None)
        self._deliver()

    def listen(
        self, name: str, call: Callable[..., object], agent: str | None, *, to_the_end: float | None = None
    ) -> Callable[[], None]:
        """Calls the listener for an event's name, of one agent or of all, from now on.

        What is returned ends that. With `to_the_end`, what it has not heard yet is still told, and waited for so long.
        """
        with self._lock:
            listener = Listener(self.store, self.name, name, call, agent, self._fresh().version)
            self._listeners = [*self._listeners, listener]

        def unsubscribe() -> None:
            with self._lock:
                self._listeners = [other for other in self._listeners if other is not listener]
            if to_the_end is None:
                listener.stop()
            listener.end_courier(to_the_end or 0)

        return unsubscribe

    def deliver_apart(self) -> Callable[[float], None]:
        """From now on listeners are called in threads of their own. Returns what ends it, waiting so many seconds."""
        with self._lock:
            self._background += 1

        def end(seconds: float) -> None:
            with self._lock:
                self._background -= 1
                listeners = [] if self._background else self._listeners
            deadline = time.monotonic() + seconds
            for listener in listeners:
                listener.end_courier(max(deadline - time.monotonic(), 0))

        return end

    def _deliver(self) -> None:
        """Tells the listeners: each in a thread of its own while a run goes on, else here, event by event."""
        if self._background:
            for listener in self._listeners:
                listener.deliver_apart()
            return
        with self._lock:
            if self._telling or not any(listener.has_due for listener in self._listeners):
                return
            self._telling = True
        try:
            while sum(listener.deliver_next() for listener in self._listeners):
                pass
        finally:
            with self._lock:
                self._telling = False
        self._deliver()  # what another thread added after the last look
