"""A session's log as one process sees it: loaded, brought up to date, appended to, and followed.

Below it is a store, above it `Session`. All who open a session of a store in one process share one log. What
a command means, `decide` and `evolve` know; of runs, it knows when one is left behind.
"""

from __future__ import annotations

import time
from _thread import RLock
from dataclasses import replace
from weakref import WeakSet, WeakValueDictionary, ref

from headway.core.clock import now
from headway.core.codec import read_state, write_state
from headway.core.decide import decide
from headway.core.errors import ChecksNeeded, HeadwayError, RunRefused, StoreBusy, StoreConflict, StoreError
from headway.core.events import ListDelta
from headway.core.evolve import evolve, fold
from headway.core.forks import renew_in_children
from headway.core.logs import logger
from headway.core.model import State
from headway.core.redaction import hide_secrets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from headway.core.commands import Command
    from headway.core.events import Event
    from headway.core.evidence import Evidence
    from headway.core.follow import Follower, Listener
    from headway.core.runs import Run
    from headway.core.store import Store

    T = TypeVar("T")


_SNAPSHOT_EVENTS = 100
_SNAPSHOT_WEIGHT = 500
_ATTEND_EVERY = 1.0
"""Seconds between looks at whether the process of a run is still there."""
_LOOK_EVERY = 0.05
"""Seconds between looks at what other processes added, while someone follows."""


def run_lease_key(agent: str) -> str:
    """Return the key of the lease that an agent's run holds."""
    return f"run:{agent}"


def _double_until(number: int, least: int) -> int:
    while number < least:
        number *= 2
    return number


def _crosses_multiple(step: int, before: int, after: int) -> bool:
    """Return whether a multiple of the step was reached."""
    return after // step > before // step


class CompletionChecks:
    """What is known of todos' checks where Headway runs them before the model of a run may complete a todo."""

    def __init__(self) -> None:
        self.results: dict[str, Evidence | str] = {}
        """Todo → what its check showed, or why it was not run."""
        self.needed: list[str] = []
        """Todos whose completion was refused until their checks have run."""

    def take_needed(self) -> list[str]:
        needed, self.needed = self.needed, []
        return needed


class Log:
    def __init__(self, store: Store, name: str) -> None:
        self.store = store
        self.name = name
        self._lock = RLock()
        self._state: State | None = None
        self._identity: object = None
        self.references: WeakSet[LogReference] = WeakSet()
        """Those who have it open."""
        self._followers: WeakSet[Follower] = WeakSet()
        """All who are told what is new."""
        self._listeners: list[Listener] = []
        """The followers that are told by this log, in order."""
        self._is_looked_at = False
        """Whether a thread finds what other processes add."""
        self._telling = False
        self._has_found = False
        """Whether listeners are to be told of what was found, and not appended, here."""
        self._background = 0
        """Runs that go on here: as long as there are any, listeners are called in threads of their own."""
        self.own_runs: set[str] = set()
        """Ids of runs of this process, which knows itself whether it is still there."""
        self.look_at: float = 0.0
        self.completion_checks: dict[str, CompletionChecks] = {}
        """Agent → the checks that its run, in this process, makes before its model may complete todos."""
        renew_in_children(self)

    def renew(self) -> None:
        self._lock = RLock()
        self._background, self._telling, self._has_found, self._is_looked_at = 0, False, False, False
        self.own_runs.clear()
        self.completion_checks.clear()
        for follower in self._followers:
            follower.renew()

    def forget(self) -> None:
        """Forget what was read; whoever opens the log next reads it anew."""
        with self._lock:
            self._state = None

    def state(self) -> State:
        """Return the state as the store has it now; listeners hear of what others changed."""
        with self._lock:
            state = self._end_dead_runs(self._refresh())
        self._deliver()
        return state

    @property
    def last_state(self) -> State | None:
        """The state as it was last seen here, without a look at the store."""
        return self._state

    def _end_dead_runs(self, state: State) -> State:
        """Return the state without runs whose process is gone: what they had in progress does not stay so."""
        if not state.runs or time.monotonic() < self.look_at:
            return state
        self.look_at = time.monotonic() + _ATTEND_EVERY
        for agent, run in state.runs.items():
            if (
                run.is_active
                and run.id not in self.own_runs
                and self.store.lease_holder(self.name, run_lease_key(agent)) is None
            ):
                self.end_dead_run(agent, run)
        return self._refresh()

    def end_dead_run(self, agent: str, run: Run) -> None:
        """End a run whose process is gone."""
        from headway.core.model import LOOP
        from headway.core.run_commands import EndRun
        from headway.core.runs import CUT_OFF

        def make(state: State) -> EndRun:
            return EndRun(agent, LOOP, now(), run.id, "error", CUT_OFF)

        with self._lock:
            try:
                self._decide_and_append(make)
                self._has_found = self.has_listeners
                self.store.drop_ended_questions()
            except (RunRefused, StoreError):  # someone else was faster, or nothing can be written here
                self.look_at = time.monotonic() + _ATTEND_EVERY

    def _refresh(self) -> State:
        state = self._state
        if state is None:
            return self._load()
        identity, version = self.store.position(self.name)
        continued = self._identity is None or identity == self._identity
        if version == state.version and continued:
            return state
        events = self.store.events(self.name, state.version) if continued else []
        if not events:
            return self._load()
        after = self._take_over(events, fold(state, events))
        self._has_found = self.has_listeners
        self._identity = identity
        return after

    def execute(self, make: Callable[[State], Command]) -> tuple[list[Event], State]:
        """Decide and append; return the events and the state right after them, whatever others do next."""
        with self._lock:
            if self._state is None or time.monotonic() >= self.look_at:
                self._end_dead_runs(self._refresh())
            made = self._decide_and_append(make)
        self._deliver()
        return made

    def _decide_and_append(self, make: Callable[[State], Command]) -> tuple[list[Event], State]:
        """First on what is known, since the store says if it is no longer so; then on what there is."""
        known = self._state
        if known is not None:
            try:
                made = self._try_to_append(known, make)
                if made[0] or self._refresh() is known:
                    return made
            except StoreConflict:
                pass
            except StoreError:
                raise
            except HeadwayError:
                if self._refresh() is known:
                    raise
        try:
            return self._try_to_append(self._refresh(), make)
        except StoreConflict:
            with self.store.exclusive(self.name):
                return self._try_to_append(self._refresh(), make)

    def _try_to_append(self, state: State, make: Callable[[State], Command]) -> tuple[list[Event], State]:
        command = make(state)
        command = hide_secrets(command, state.list_of(command.agent))
        checks = self.completion_checks.get(command.agent)
        try:
            events = decide(state, command, checks and checks.results)
        except ChecksNeeded as error:
            if checks is not None:
                checks.needed = error.todo_ids
            raise
        if not events:
            return events, state
        after = fold(state, events)
        snapshot = self._snapshot_text(state, after)
        identity = self.store.append(self.name, state.version, events, snapshot, identity=self._identity)
        self._take_over(events if self._background or not self._listeners else _add_lists(state, events), after)
        self._identity = identity
        return events, after

    def _snapshot_text(self, before: State, after: State) -> str | None:
        """Return a snapshot if one is due: after some events, fewer if they are large, more for a large state."""
        if not self.store.keeps_snapshots or not (
            _crosses_multiple(_SNAPSHOT_EVENTS, before.version, after.version)
            or _crosses_multiple(_SNAPSHOT_WEIGHT, before.weight, after.weight)
        ):
            return None
        items = sum(len(todos.items) for todos in after.lists.values())
        events = _double_until(_SNAPSHOT_EVENTS, items // 10)
        weight = _double_until(_SNAPSHOT_WEIGHT, items)
        due = _crosses_multiple(events, before.version, after.version) or _crosses_multiple(
            weight, before.weight, after.weight
        )
        return write_state(after) if due else None

    def _load(self) -> State:
        identity = self.store.position(self.name)[0]
        snapshot = self.store.snapshot(self.name)
        state = (read_state(snapshot.text) if snapshot else None) or State()
        self._state = state = fold(state, self.store.events(self.name, state.version))
        is_new = self._identity not in (None, identity)
        self._identity = identity
        self._has_found = self.has_listeners
        for follower in self._followers:
            follower.restart(state.version, is_new_log=is_new)
        return state

    def _take_over(self, events: list[Event], after: State) -> State:
        """Return the state after the events, now this log's own; the events are queued for all who follow it."""
        self._state = after
        for follower in self._followers if self._followers else ():  # a set of weak references is slow to walk
            for event in events:
                follower.add(event)
            follower.wake()
        return after

    # followed

    def add_follower(self, follower: Follower) -> None:
        from headway.core.follow import Listener

        with self._lock:
            follower.begin_at(self._refresh().version)
            self._followers.add(follower)
            if isinstance(follower, Listener):
                self._listeners = [*self._listeners, follower]
        self.look_regularly()

    def remove_follower(self, follower: Follower) -> None:
        with self._lock:
            self._followers.discard(follower)
            self._listeners = [listener for listener in self._listeners if listener is not follower]

    @property
    def has_listeners(self) -> bool:
        return bool(self._listeners)

    def publish_live(self, event: Event) -> None:
        """Tell the listeners of something that is not in the log."""
        for listener in self._listeners:
            listener.add(event)
        self._deliver()

    def look_regularly(self) -> None:
        """Have a thread find what other processes add, as long as anyone follows."""
        if self._is_looked_at or not self._followers:
            return
        import threading

        def look(log: ref[Log]) -> None:
            while (followed := log()) is not None and followed.look():
                del followed
                time.sleep(_LOOK_EVERY)

        with self._lock:
            if not self._is_looked_at:
                threading.Thread(target=look, args=(ref(self),), name="headway follow", daemon=True).start()
                self._is_looked_at = True

    def look(self) -> bool:
        """Take over what other processes added; return whether anyone still wants to know."""
        with self._lock:
            if not self._is_wanted():
                self._is_looked_at = False
                return False
        try:
            with self._lock:
                self._end_dead_runs(self._refresh())
        except StoreBusy:
            pass  # the next look finds it
        except Exception as error:
            if not isinstance(error, HeadwayError):
                logger().exception("Following session %r failed:", self.name)
            with self._lock:
                for follower in self._followers:
                    follower.fail(error)
        # What was appended here is told by whoever did, before the call returns; one who tells now tells this, too.
        if self._has_found and not self._telling:
            self._has_found = False
            for listener in self._listeners:
                listener.deliver_in_background()
        return True

    def _is_wanted(self) -> bool:
        """Whether a follower reads, or a listener belongs to a session that is still there."""
        return len(self._followers) > len(self._listeners) or bool(self._listeners and self.references)

    def deliver_in_background(self) -> Callable[[float], None]:
        """Call listeners in threads of their own from now on; return what ends it, waiting so many seconds."""
        with self._lock:
            self._background += 1

        def end(seconds: float) -> None:
            with self._lock:
                self._background -= 1
                listeners = [] if self._background else self._listeners
            deadline = time.monotonic() + seconds
            for listener in listeners:
                listener.end_delivery(max(deadline - time.monotonic(), 0))

        return end

    def _deliver(self) -> None:
        """Tell the listeners: each in a thread of its own while a run goes on, else here, event by event."""
        if not self._listeners:
            return
        self.look_regularly()
        if self._background:
            for listener in self._listeners:
                listener.deliver_in_background()
            return
        with self._lock:
            if self._telling or not any(listener.has_due for listener in self._listeners):
                return
            self._telling, self._has_found = True, False
        try:
            while sum(listener.deliver_next() for listener in self._listeners):
                pass
        except BaseException:  # a listener wants to leave: what is left is told by the thread that looks
            self._has_found = True
            raise
        finally:
            with self._lock:
                self._telling = False
        self._deliver()  # what another thread added after the last look


def _add_lists(state: State, events: list[Event]) -> list[Event]:
    """Return the events with the full list after each change of one: whoever is told at once is told every one."""
    with_lists: list[Event] = []
    for event in events:
        state = evolve(state, event)
        if isinstance(event.data, ListDelta):
            event = replace(event, todos=tuple(state.list_of(event.agent).items.values()))
        with_lists.append(event)
    return with_lists


class OpenLogs:
    """What is open in this process: one store for a file, and one log for all who have a session of a store open."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._stores: WeakValueDictionary[str, Any] = WeakValueDictionary()
        self._logs: WeakValueDictionary[tuple[int, str], Log] = WeakValueDictionary()
        """By the store's id, which the log keeps from being another's."""
        renew_in_children(self)

    def renew(self) -> None:
        self._lock = RLock()

    def share_store(self, path: str, make: Callable[[], T]) -> T:
        """Return the store of a file that is open here, else a new one."""
        with self._lock:
            store = self._stores.get(path)
            if store is None:
                store = self._stores[path] = make()
            return store

    def add(self, reference: LogReference, store: Store, name: str) -> Log:
        with self._lock:
            log = self._logs.get((id(store), name))
            if log is None:
                log = self._logs[id(store), name] = Log(store, name)
            log.references.add(reference)
            log.look_at = 0.0  # whoever opens it finds no run that is over
            return log

    def remove(self, reference: LogReference) -> None:
        """With the last one, close the store."""
        store = reference.log.store
        with self._lock:
            reference.log.references.discard(reference)
            is_last_of_log = not reference.log.references
            is_last = not any(log.references for log in [*self._logs.values()] if log.store is store)
        if is_last_of_log:
            reference.log.forget()
        if is_last:
            store.close()


open_logs: OpenLogs = OpenLogs()


class LogReference:
    """One who has a log open. Closing it ends what follows the log for it; the last one of a store closes that."""

    def __init__(self, store: Store, name: str) -> None:
        self.log: Log = open_logs.add(self, store, name)
        self.followers: WeakSet[Follower] = WeakSet()

    def close(self) -> None:
        for follower in [*self.followers]:
            follower.close()
        open_logs.remove(self)
