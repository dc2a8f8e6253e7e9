"""A session's events: read from the log, listened to, followed from a version on. The base of `Session`."""

from __future__ import annotations

import time
from dataclasses import replace

from headway.core.errors import HeadwayError
from headway.core.events import EVENT_NAMES, RUN_EVENT_NAMES, TODO_LIST_UPDATED, ListDelta
from headway.core.listeners import EVERY, TODOS_UPDATE
from headway.core.log import Log
from headway.core.model import MAIN_AGENT
from headway.core.text import sanitize_for_display

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headway.core.events import Event

_PAGE = 500
NAMES = frozenset({TODOS_UPDATE, *EVENT_NAMES, *RUN_EVENT_NAMES})
"""What `Session.on` can be asked for."""


class Stream:
    """One agent's view of the log of its session."""

    def __init__(self, log: Log, agent: str) -> None:
        self._log = log
        self._agent = agent

    @property
    def name(self) -> str:
        return self._log.name

    @property
    def agent_id(self) -> str:
        return self._agent

    def events(self, after: int = 0) -> Iterator[Event]:
        """Return the session's log after a version, read as it is needed."""
        while page := self._log.store.events(self.name, after, _PAGE):
            for event in page:
                yield replace(event, session_id=self.name)
            after = page[-1].version

    def history(self) -> list[Event]:
        """Return the changes of this list, oldest first: who changed what, when."""
        return [event for event in self.events() if event.agent == self._agent and isinstance(event.data, ListDelta)]

    def on(self, name: str, listener: Callable[..., object]) -> Callable[[], None]:
        """Call `listener(todos)` for `todos:update`, `listener(event)` for an event's name; return an off switch."""
        if name not in NAMES:
            from difflib import get_close_matches

            near = get_close_matches(name, NAMES, n=1)
            hint = f"did you mean '{near[0]}'?" if near else f"the names are: {', '.join(sorted(NAMES))}."
            raise HeadwayError(f"There is no event named '{sanitize_for_display(name)}'; {hint}")
        if name == TODOS_UPDATE and self._agent != MAIN_AGENT:
            raise HeadwayError(
                f"'{TODOS_UPDATE}' is only for the main agent's list; here use: session.on('{TODO_LIST_UPDATED}', …)."
            )
        return self._add_listener(name, listener)

    def subscribe(self, listener: Callable[[Event], object], *, to_the_end: float | None = None) -> Callable[[], None]:
        """Call `listener(event)` for every event from now on, text as it is streamed included; return an off switch.

        While a run goes on, listeners are called in threads of their own, and never slow it. One that is switched off
        hears nothing more; with `to_the_end` still what happened before, and so many seconds are waited for that.
        """
        return self._add_listener(EVERY, listener, to_the_end=to_the_end)

    def _add_listener(
        self, name: str, listener: Callable[..., object], *, to_the_end: float | None = None
    ) -> Callable[[], None]:
        agent = None if self._agent == MAIN_AGENT else self._agent
        return self._log.add_listener(name, listener, agent, to_the_end=to_the_end)

    def follow(self, after: int = 0, *, interval: float = 0.05, timeout: float | None = None) -> Iterator[Event]:
        """Every event after a version, once and in order: those that are there, then those that anyone adds.

        Waits for more, at most `timeout` quiet seconds. Of list changes that are read together, the last one of each
        agent comes with the full list. Ends when the session is deleted.
        """
        store = self._log.store
        identity, _ = store.position(self.name)
        quiet_since = time.monotonic()
        while True:
            self._log.state()  # a run whose process is gone is ended by it
            now, version = store.position(self.name)
            if identity is not None and now != identity:
                return
            identity = now
            if version <= after:
                if timeout is not None and time.monotonic() - quiet_since >= timeout:
                    return
                time.sleep(interval)
                continue
            page = store.events(self.name, after, _PAGE)
            state = self._log.state()
            for event in page:
                after = event.version
                todos = None
                listed = state.list_of(event.agent)
                if event.type == TODO_LIST_UPDATED and listed.changed_in == event.version:
                    todos = tuple(listed.items.values())
                yield replace(event, todos=todos, session_id=self.name)
            quiet_since = time.monotonic()

    def watch(self, *, interval: float = 0.05, timeout: float | None = None) -> Iterator[list[Event]]:
        """Yield the new events whenever anyone, in any process, changed it; end after `timeout` quiet seconds.

        No events are yielded when the session was deleted; those of its successor, if it is begun again.
        """
        identity, seen = self._log.store.position(self.name)
        return self._watch(seen, identity, interval, timeout)

    def _watch(self, seen: int, identity: object, interval: float, timeout: float | None) -> Iterator[list[Event]]:
        store = self._log.store
        quiet_since = time.monotonic()
        while timeout is None or time.monotonic() - quiet_since < timeout:
            before = identity
            identity, version = store.position(self.name)
            begun_again = before not in (None, identity)
            if begun_again:
                seen = 0
            self._log.state()  # a run whose process is gone is ended by it
            if version == seen and not begun_again:
                time.sleep(interval)
                continue
            events = store.events(self.name, seen)
            seen = events[-1].version if events else 0
            quiet_since = time.monotonic()
            yield events
