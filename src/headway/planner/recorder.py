"""A run in the log: begun with a lease on its session, recorded fact by fact, ended once, and asked from outside.

Between the loop, which knows what happens, and the session, which keeps it. A fact is in the store when the call that
records it returns, or moments later if it is deferred; keys and tokens are hidden.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol
from uuid import uuid4

from headway.core.errors import HeadwayError, RunGoesOn, RunRefused, StoreBusy, StoreFull
from headway.core.events import Event, RunData
from headway.core.log import run_lease_key
from headway.core.model import LOOP, State
from headway.core.run_commands import EndRun, FinishTool, RecordEvents, StartRun
from headway.core.run_events import MessageAdded, RunStarted, TextDelta, ToolFinished, ToolStarted
from headway.core.runs import Run, find_active_run
from headway.core.secrets import Redactor
from headway.core.text import sanitize_for_display
from headway.store.leases import this_process

if TYPE_CHECKING:
    from headway.core.tracking import Policy
    from headway.session import Session

LEASE = 20.0
"""Seconds after which a run that gave no sign of life is over."""
RENEW_EVERY = 5.0
DEFER_SECONDS = 0.02
"""Seconds in which a round's beginning is recorded, if nothing else is before."""
LOOK_EVERY = 0.05
"""Seconds between looks at what others ask of the run."""
_CANCELLED = "The run ended before this call did."


class Timer(Protocol):
    def cancel(self) -> object: ...


class Recorder:
    """One run of one agent, from `begin` to `end`."""

    def __init__(self, session: Session, clock: Callable[[], str]) -> None:
        self.session = session
        self.run_id: str = uuid4().hex[:12]
        self._clock = clock
        self._holder = this_process(f"run {self.run_id}")
        self._key = run_lease_key(session.agent_id)
        self._over = threading.Event()
        self.seconds_waited: dict[str | None, float] = {}
        """Call → seconds in which a person was asked about it."""
        self._waiting: list[RunData] = []
        self.call_later: Callable[[float, Callable[[], None]], Timer] | None = None
        """How a fact is recorded later; None: every fact is recorded at once."""
        self._timer: Timer | None = None
        self.redact: Redactor = Redactor()
        """Rids a text of keys and tokens, before it is recorded."""
        self._state: State | None = None
        self._open_calls: dict[str, tuple[ToolStarted, float]] = {}
        """The calls that have begun and are not over, and when they began."""

    def begin(
        self,
        task: str,
        model: str,
        max_rounds: int,
        first: Sequence[MessageAdded] = (),
        *,
        require_evidence: bool | str = False,
        new_conversation: bool = False,
        mode: str = "",
    ) -> None:
        """Take the session, or raise `RunGoesOn` with who has it."""
        store = self.session.store
        other = store.hold_lease(self.session.name, self._key, self._holder, LEASE)
        try:
            before = find_active_run(self.session.state, self.session.agent_id)
        except BaseException:
            store.release_lease(self.session.name, self._key, self._holder)
            raise
        if other is not None:
            raise RunGoesOn(self.session.name, before and before.started_at, _format_holder(other))
        if before is not None:  # it does not hold the lease any more
            self.session.log.end_dead_run(self.session.agent_id, before)
        task = self.redact(task)
        started = RunStarted(
            run_id=self.run_id,
            task=task,
            model=model,
            max_rounds=max_rounds,
            holder=self._holder,
            require_evidence=require_evidence,
            new_conversation=new_conversation,
            mode=mode,
        )
        self.session.log.own_runs.add(self.run_id)
        try:
            self._execute(lambda at: StartRun(self.session.agent_id, LOOP, at, started, first))
        except BaseException:
            self.session.log.own_runs.discard(self.run_id)
            store.release_lease(self.session.name, self._key, self._holder)
            raise
        threading.Thread(target=self._renew, name="headway lease", daemon=True).start()

    def _renew(self) -> None:
        store = self.session.store
        while not self._over.wait(RENEW_EVERY):
            try:
                if store.hold_lease(self.session.name, self._key, self._holder, LEASE) is not None:
                    return  # another process has it now; the next fact of this run will be refused
                self.renew_claims()
                if self._over.is_set():  # it ended while the lease was renewed
                    self._release_lease()
            except HeadwayError:
                continue  # the store is busy or full: the lease lasts for a few more tries

    def renew_claims(self) -> None:
        """Keep what the run has claimed; there is nothing here."""

    # what happens

    def record(self, *facts: RunData, policy: Policy | None = None) -> State:
        """Record facts; with a policy, calls that begin are tracked."""
        recorded = (*self._take_deferred(), *facts)
        self._note_starts(facts)
        return self._execute(lambda at: RecordEvents(self.session.agent_id, LOOP, at, self.run_id, recorded, policy))

    def record_deferred(self, *facts: RunData) -> None:
        """Record facts within moments: together with what is recorded next, if that comes first."""
        if self.call_later is None:
            self.record(*facts)
            return
        self._waiting += facts
        if self._timer is None:  # else it was set for what is recorded by now, and goes off the sooner for these
            self._timer = self.call_later(DEFER_SECONDS, self._flush_on_timer)

    def _flush_on_timer(self) -> None:
        self._timer = None
        self._flush()

    def _take_deferred(self) -> list[RunData]:
        """Return what still waits to be recorded, which the caller now does."""
        waiting, self._waiting = self._waiting, []
        return waiting

    def _flush(self) -> None:
        facts = self._take_deferred()
        if not facts:
            return
        try:
            self.record(*facts)
        except HeadwayError:  # whatever is recorded next meets the same, where someone can say so
            self._waiting = [*facts, *self._waiting]

    def add_message(self, message: MessageAdded, *facts: RunData, policy: Policy | None = None) -> int:
        """Record a message and what comes with it; return the version under which it is kept."""
        before = self._take_deferred()
        recorded = (*before, message, *facts)
        self._note_starts(facts)
        events, self._state = self.session.log.execute(
            lambda state: RecordEvents(self.session.agent_id, LOOP, self._clock(), self.run_id, recorded, policy)
        )
        return events[len(before)].version

    def finish_tool(self, call: ToolFinished, policy: Policy) -> ToolFinished:
        """Record a call that is over; return it with the item that it was recorded on."""
        self._flush()
        self._open_calls.pop(call.call_id, None)
        events, self._state = self.session.log.execute(
            lambda state: FinishTool(self.session.agent_id, LOOP, self._clock(), self.run_id, call, policy)
        )
        return next(event.data for event in events if isinstance(event.data, ToolFinished))

    def _note_starts(self, facts: Sequence[RunData]) -> None:
        for fact in facts:
            if isinstance(fact, ToolStarted):
                self._open_calls[fact.call_id] = (fact, time.monotonic())

    def _cancel_open_calls(self) -> None:
        """Record of the calls that are not over that the run does not wait for them."""
        calls = [
            ToolFinished(
                round=call.round,
                call_id=call.call_id,
                tool=call.tool,
                ok=False,
                text=_CANCELLED,
                cancelled=True,
                effect=call.effect,
                seconds=round(time.monotonic() - began, 3),
            )
            for call, began in self._open_calls.values()
        ]
        self._open_calls.clear()
        if calls:
            self.record(*calls)

    @property
    def has_listeners(self) -> bool:
        """Whether anyone here watches the run."""
        return self.session.log.has_listeners

    def publish_live(self, text: str, kind: str, call_id: str | None = None) -> None:
        """Show whoever watches text as it comes; it is not kept."""
        if self.has_listeners:
            self._flush()
            delta = TextDelta(text=text, kind=kind, call_id=call_id)
            self.session.log.publish_live(Event(0, self._clock(), self.session.agent_id, LOOP, delta))

    def end(self, reason: str, error: str | None) -> None:
        """End the run, unless someone else did; what it had in progress is pending again."""
        self._over.set()
        self._flush()
        if self._timer is not None:
            self._timer.cancel()
        self.session.log.own_runs.discard(self.run_id)
        try:
            self._cancel_open_calls()
            self._execute(lambda at: EndRun(self.session.agent_id, LOOP, at, self.run_id, reason, error))
        except RunRefused:
            return
        finally:
            self._release_lease()

    def _release_lease(self) -> None:
        """Release the session, later if the store is busy or full: the lease would last as long as this process."""
        try:
            self.session.store.release_lease(self.session.name, self._key, self._holder)
        except (StoreBusy, StoreFull):
            timer = threading.Timer(RENEW_EVERY, self._release_lease)
            timer.daemon = True
            timer.start()

    def _execute(self, make: Callable[[str], StartRun | RecordEvents | EndRun]) -> State:
        self._state = self.session.log.execute(lambda state: make(self._clock()))[1]
        return self._state

    @property
    def tool_calls(self) -> int:
        """Calls of the run so far, or in the end, other than of todo tools."""
        run = self.session.run
        return run.tool_calls if run is not None and run.id == self.run_id else 0

    # what others want

    @property
    def state(self) -> State:
        """The session's state when something was recorded, or the log looked at, last."""
        assert self._state is not None, "the run has begun"
        return self._state

    def look(self) -> State:
        """Return the state as the log has it now. Raises `RunRefused` if the run in it is no longer this one."""
        return self._take_over(self.session.state)

    @property
    def current_run(self) -> Run:
        """The run as the log has it now. Raises `RunRefused` if it is no longer this one."""
        return self.look().runs[self.session.agent_id]

    @property
    def is_paused(self) -> bool:
        """Whether the run waits, as of the last look."""
        return self._state is not None and self._state.is_paused(self.session.agent_id)

    def _take_over(self, state: State) -> State:
        run = state.runs.get(self.session.agent_id)
        if run is None or run.id != self.run_id or not run.is_active:
            raise RunRefused("Another process ended this run or took over its session; start it again.")
        self._state = state
        return state

    async def wait_until(self, holds: Callable[[Run], bool]) -> Run:
        """Wait until something holds of the run, as far as is known: every record and every look makes that new."""
        import asyncio  # not by those who never wait

        run = self._take_over(self.session.log.last_state or self.session.state).runs[self.session.agent_id]
        while not holds(run):
            await asyncio.sleep(LOOK_EVERY)
            run = self.current_run
        return run


def _format_holder(holder: str) -> str:
    """`process 123 on HOST`, for a person."""
    words = holder.split(" ")
    return sanitize_for_display(" ".join([*words[:3], words[3].partition("/")[0]]) if len(words) > 3 else holder, 120)
