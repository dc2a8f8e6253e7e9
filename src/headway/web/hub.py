"""Everyone who watches a session gets every change of it, once and in order, whoever made it, in whichever process.

One look at the store serves all who watch: what is new is read and written down once, kept for a while for those who
are a little behind, and read again from the log for those who are far behind. So memory stays flat, and nobody waits
for anybody else.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, NamedTuple

from headway.core.errors import HeadwayError
from headway.core.evolve import fold
from headway.core.log import Log
from headway.core.session import Session
from headway.web.wire import change_record, state_record

if TYPE_CHECKING:
    from headway.core.model import State
    from headway.core.store import Store

LOOK_EVERY = 0.05
PAGE = 200
"""Events that are told at once."""
KEPT = 500
"""Changes that are kept for those who are behind."""


class Change(NamedTuple):
    before: int
    version: int
    text: str


class Gone(Exception):
    """The session was deleted, or is another one of the same name now."""


class Channel:
    """One session and all who watch it."""

    def __init__(self, store: Store, name: str) -> None:
        self.session = Session(Log(store, name))
        self.is_over = False
        self._store = store
        self._identity, _ = store.position(name)
        self._state: State = self.session.state
        self._kept: deque[Change] = deque(maxlen=KEPT)
        self._news = asyncio.Condition()
        self._watching = 0
        self._task: asyncio.Task[None] | None = None

    async def follow(self, after: int) -> AsyncIterator[Change]:
        """The changes after a version, each beginning where the one before ended; raises `Gone`."""
        self._watching += 1
        if self._task is None:
            self._task = asyncio.create_task(self._look())
        try:
            while True:
                for change in await self._after(after):
                    yield change
                    after = change.version
                async with self._news:
                    while not self.is_over and self._state.version <= after:
                        await self._news.wait()
                if self.is_over:
                    raise Gone
        finally:
            self._watching -= 1
            if not self._watching:
                self._stop_looking()

    def _stop_looking(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _after(self, version: int) -> list[Change]:
        if version == self._state.version:
            return []
        kept = [change for change in self._kept if change.before >= version]
        if kept and kept[0].before == version:
            return kept
        whole = await asyncio.to_thread(self._whole, version)
        return [whole] if whole.version != version else []

    def _whole(self, version: int) -> Change:
        """The state as it is, for those who know one from which no kept change goes on."""
        state = self.session.state
        if version > state.version:  # more than there is: it knew another session of the same name
            raise Gone
        record = {"whole": True, "from": version, **state_record(self.session, state)}
        return Change(version, state.version, json.dumps(record, ensure_ascii=False))

    async def _look(self) -> None:
        while True:
            changes: list[Change] = []
            try:
                # State and changes are taken over together, here: a look that was given up changes nothing.
                state, changes = await asyncio.to_thread(self._new, self._state)
            except HeadwayError:
                state = self._state  # the file is busy: the next look finds it
            except Gone:
                state, self.is_over = self._state, True
            if changes or self.is_over:
                async with self._news:
                    self._state = state
                    self._kept.extend(changes)
                    self._news.notify_all()
            if self.is_over:
                return
            if not changes:
                await asyncio.sleep(LOOK_EVERY)

    def _new(self, state: State) -> tuple[State, list[Change]]:
        """What is new since a state, and the state after it."""
        name = self.session.name
        identity, version = self._store.position(name)
        if self._identity is not None and identity != self._identity:
            raise Gone
        self._identity = identity
        changes: list[Change] = []
        while state.version < version and len(changes) < 10:
            events = self._store.events(name, state.version, PAGE)
            if not events:
                break
            after = fold(state, events)
            text = json.dumps(change_record(name, state, after, events), ensure_ascii=False)
            changes.append(Change(state.version, after.version, text))
            state = after
        return state, changes


class Hub:
    """The sessions of a project that are being watched."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._channels: dict[str, Channel] = {}

    def channel(self, name: str) -> Channel:
        channel = self._channels.get(name)
        if channel is None or channel.is_over:
            channel = self._channels[name] = Channel(self._store, name)
        return channel
