"""Everyone who watches a session gets every change of it, once and in order, whoever made it, in whichever process.

One follower serves all who watch: what is new is written down once and kept for a while for those who are a little
behind; those who are far behind get the state as a whole. So memory stays flat, and nobody waits for anybody else.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from headway.core.errors import HeadwayError, StoreBusy
from headway.core.follow import Follower
from headway.core.logs import logger
from headway.web.wire import format_log_identity, to_change_record, to_state_record

if TYPE_CHECKING:
    from headway.core.model import State
    from headway.session import SessionStore

PATIENCE = 0.05
"""Seconds after which a store that is busy is asked again."""
KEPT = 500
KEPT_CHARACTERS = 8_000_000
"""Changes that are kept for those who are behind, at most."""


class StateChange(NamedTuple):
    before: int
    version: int
    text: str


class SessionGone(Exception):
    """The session was deleted, is another one of the same name now, or can no longer be read: look again."""


class Channel:
    """One session and all who watch it."""

    def __init__(self, store: SessionStore, name: str, left: Callable[[Channel], None]) -> None:
        self.session = store.session(name)
        self.is_over = False
        self._left = left
        self.identity, _ = store.position(name)
        self._state: State = self.session.state
        self._kept: deque[StateChange] = deque()
        self._size = 0
        self._news = asyncio.Condition()
        self._watching = 0
        self._task: asyncio.Task[None] | None = None

    async def follow(self, after: int, log: str | None = None) -> AsyncIterator[StateChange]:
        """The changes after a version, each beginning where the one before ended; raises `SessionGone`.

        `log`: of which log that version is, if it is known.
        """
        if log is not None and log != format_log_identity(self.identity):
            raise SessionGone
        self._watching += 1
        if self._task is None:
            self._task = asyncio.create_task(self._follow_log())
        try:
            while True:
                for change in await self._read_after_patiently(after):
                    yield change
                    after = change.version
                async with self._news:
                    while not self.is_over and self._state.version <= after:
                        await self._news.wait()
                if self.is_over:
                    raise SessionGone
        finally:
            self._watching -= 1
            if not self._watching:
                self._task.cancel()
                self._task = None
                self._left(self)

    async def _read_after_patiently(self, version: int) -> list[StateChange]:
        while True:
            try:
                return await self._changes_after(version)
            except StoreBusy:
                await asyncio.sleep(PATIENCE)
            except HeadwayError:
                raise SessionGone from None

    async def _changes_after(self, version: int) -> list[StateChange]:
        if version == self._state.version:
            return []
        kept = [change for change in self._kept if change.before >= version]
        if kept and kept[0].before == version:
            return kept
        whole = await asyncio.to_thread(self._to_whole_state, version)
        return [whole] if whole.version != version else []

    def _to_whole_state(self, version: int) -> StateChange:
        """The state as it is, for those who know one from which no kept change goes on."""
        record = {"whole": True, "from": version, **to_state_record(self.session)}
        if version > record["version"]:  # more than there is: it knew another session of the same name
            raise SessionGone
        return StateChange(version, record["version"], json.dumps(record, ensure_ascii=False))

    async def _follow_log(self) -> None:
        try:
            with closing(await asyncio.to_thread(self._begin_to_follow)) as follower:
                while not follower.is_over:
                    await follower.wait_async()
                    state, change = await asyncio.to_thread(self._write_down, follower, self._state)
                    if change is not None:
                        async with self._news:
                            self._state = state
                            self._keep(change)
                            self._news.notify_all()
        except HeadwayError:
            pass  # it cannot be read any more
        except Exception:
            logger().exception("Following a session failed:")
        async with self._news:
            self.is_over = True
            self._news.notify_all()

    def _begin_to_follow(self) -> Follower:
        follower = Follower(self.session.log, self._state.version)
        identity, _ = self.session.store.position(self.session.name)
        if self.identity not in (None, identity):  # another session took its place just before
            follower.is_over = True
        return follower

    def _write_down(self, follower: Follower, before: State) -> tuple[State, StateChange | None]:
        """What is new since a state, and the state after it."""
        after, events = before, follower.take_all()
        while events and after.version != events[-1].version and not follower.is_over:
            events += follower.take_all()
            after = self.session.log.last_state or before
        if not events or follower.is_over:
            return before, None
        text = json.dumps(to_change_record(self.session, before, after, events), ensure_ascii=False)
        return after, StateChange(before.version, after.version, text)

    def _keep(self, change: StateChange) -> None:
        self._kept.append(change)
        self._size += len(change.text)
        while len(self._kept) > KEPT or self._size > KEPT_CHARACTERS:
            self._size -= len(self._kept.popleft().text)


class Hub:
    """The sessions of a project that are being watched."""

    def __init__(self, store: SessionStore) -> None:
        self._store = store
        self._channels: dict[str, Channel] = {}
        self._lock = Lock()

    def channel(self, name: str) -> Channel:
        """The one that others watch already, if there is one. From any thread."""
        with self._lock:
            channel = self._channels.get(name)
            identity, _ = self._store.position(name)
            if channel is None or channel.is_over or channel.identity != identity:
                channel = self._channels[name] = Channel(self._store, name, self._forget_channel)
            return channel

    def _forget_channel(self, channel: Channel) -> None:
        """Nobody watches it any more."""
        if self._channels.get(channel.session.name) is channel:
            del self._channels[channel.session.name]
