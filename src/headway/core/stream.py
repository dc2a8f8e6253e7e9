"""A session's events: read from the log, listened to, followed from a version on. The base of `Session`."""

from __future__ import annotations

from dataclasses import replace
from time import monotonic

from headway.core.codec import find_event_class, load_event_classes
from headway.core.errors import HeadwayError
from headway.core.events import TODOS_UPDATE, LeaseRenewed, ListDelta
from headway.core.model import MAIN_AGENT
from headway.core.text import sanitize_for_display

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, Literal, overload

    from headway.core.event_names import EventName
    from headway.core.events import Event
    from headway.core.follow import Follower
    from headway.core.log import Log, LogReference
    from headway.core.model import Todo

_PAGE = 500


class Stream:
    """One agent's view of the log of its session."""

    def __init__(self, opened: LogReference, agent: str) -> None:
        self._opened = opened
        self._log: Log = opened.log
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

    if TYPE_CHECKING:

        @overload
        def on(self, name: Literal["todos:update"], listener: Callable[[list[Todo]], object]) -> Callable[[], None]: ...

        @overload
        def on(self, name: EventName, listener: Callable[[Event], object]) -> Callable[[], None]: ...

    def on(self, name: str, listener: Callable[..., object]) -> Callable[[], None]:
        """Call `listener(todos)` for `todos:update`, `listener(event)` for an event's name; return an off switch."""
        if name != TODOS_UPDATE and find_event_class(name) is None:
            from difflib import get_close_matches

            names = sorted({TODOS_UPDATE, *load_event_classes()})
            near = get_close_matches(name, names, n=1)
            hint = f"did you mean '{near[0]}'?" if near else f"the names are: {', '.join(names)}."
            raise HeadwayError(f"There is no event named '{sanitize_for_display(name)}'; {hint}")
        if name == TODOS_UPDATE and self._agent != MAIN_AGENT:
            raise HeadwayError(
                f"'{TODOS_UPDATE}' is only for the main agent's list; here use: session.on('TodoListUpdated', …)."
            )
        return self._add_listener(name, listener)

    def subscribe(self, listener: Callable[[Event], object], *, to_the_end: float | None = None) -> Callable[[], None]:
        """Call `listener(event)` for every event from now on, text as it is streamed included; return an off switch.

        Changes made here are told at once; those of other processes, and all while a run goes on, in threads of their
        own, which never slow it. One that is switched off hears nothing more; with `to_the_end` still what happened
        before, and so many seconds are waited for that. `close` switches it off, too.
        """
        return self._add_listener(None, listener, to_the_end=to_the_end)

    def _add_listener(
        self, name: str | None, call: Callable[..., object], *, to_the_end: float | None = None
    ) -> Callable[[], None]:
        from headway.core.follow import Listener

        listener = Listener(self._log, name, call, None if self._agent == MAIN_AGENT else self._agent)
        self._opened.followers.add(listener)

        def unsubscribe() -> None:
            if to_the_end is None:
                listener.close()
            else:
                self._log.remove_follower(listener)
            listener.end_delivery(to_the_end or 0)

        return unsubscribe

    def follow(self, after: int = 0, *, timeout: float | None = None, max_wait: float | None = None) -> Follower:
        """Yield every event after a version, once and in order: those that are there, then those that anyone adds.

        Ends after `timeout` quiet seconds, after `max_wait` seconds in all, when the session is deleted, and with
        `close`, its own or the session's, from any thread. Of list changes that are read together, the last one of
        each agent comes with the full list.
        """
        return self._add_follower(after, timeout=timeout, max_wait=max_wait)

    def afollow(self, after: int = 0, *, timeout: float | None = None, max_wait: float | None = None) -> Follower:
        """As `follow`, for `async for`: the event loop goes on meanwhile."""
        return self._add_follower(after, timeout=timeout, max_wait=max_wait)

    def watch(self, *, timeout: float | None = None) -> Iterator[list[Event]]:
        """Yield the new events whenever anyone, in any process, changed it; end after `timeout` quiet seconds.

        A worker that only keeps its claim changes nothing: that comes with the next change. No events are yielded when
        the session was deleted; those of its successor, if it is begun again.
        """
        return _watch(self._add_follower(restarts=True), timeout)

    def _add_follower(self, after: int | None = None, **options: Any) -> Follower:
        from headway.core.follow import Follower

        follower = Follower(self._log, after, **options)
        self._opened.followers.add(follower)
        return follower


def _watch(follower: Follower, timeout: float | None) -> Iterator[list[Event]]:
    renewals: list[Event] = []
    since = monotonic()
    while follower.wait(None if timeout is None else max(since + timeout - monotonic(), 0)) and not follower.is_over:
        events = follower.take_all()
        if events and all(isinstance(event.data, LeaseRenewed) for event in events):
            renewals += events
            continue
        yield [*renewals, *events] if events else []
        renewals.clear()
        since = monotonic()
