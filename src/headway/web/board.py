"""The sessions of a project: everyone who watches is told of them whenever one is begun, changed or deleted."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any

from headway.core.errors import HeadwayError
from headway.core.logs import logger
from headway.project import DEFAULT_SESSION
from headway.web.wire import to_session_record

if TYPE_CHECKING:
    from headway.core.store import SessionInfo
    from headway.session import SessionStore

LOOK_EVERY = 0.5


class SessionBoard:
    def __init__(self, store: SessionStore) -> None:
        self._store = store
        self._records: dict[SessionInfo, dict[str, Any]] = {}
        self._text = ""
        self._news = asyncio.Condition()
        self._watching = 0
        self._task: asyncio.Task[None] | None = None

    def list_records(self) -> list[dict[str, Any]]:
        """All sessions, the most recently changed first. Only those are read that changed, or whose run goes on."""
        current = self._store.current() or DEFAULT_SESSION
        known = {info: record for info, record in self._records.items() if not record["running"]}
        self._records = {info: known.get(info) or self._to_record(info) for info in self._store.sessions()}
        return [{**record, "current": record["name"] == current} for record in self._records.values()]

    def _to_record(self, info: SessionInfo) -> dict[str, Any]:
        try:
            return to_session_record(info, self._store.session(info.name).state)
        except HeadwayError as error:  # one that cannot be read hides no other
            return {
                "name": info.name,
                "version": info.version,
                "created_at": info.created_at,
                "updated_at": info.updated_at,
                "title": None,
                "running": False,
                "asks": 0,
                "total": 0,
                "completed": 0,
                "problem": str(error),
            }

    async def follow(self) -> AsyncGenerator[str]:
        """The list as it is, and again whenever it is another one."""
        self._watching += 1
        if self._task is None:
            self._task = asyncio.create_task(self._refresh())
        told = ""
        try:
            while True:
                async with self._news:
                    while self._text == told:
                        await self._news.wait()
                    told = self._text
                yield told
        finally:
            self._watching -= 1
            if not self._watching:
                self._task.cancel()
                self._task, self._text = None, ""

    async def _refresh(self) -> None:
        while True:
            try:
                text = json.dumps(await asyncio.to_thread(self.list_records), ensure_ascii=False)
            except HeadwayError:
                text = self._text  # the next look finds it
            except Exception:
                logger().exception("Reading the list of sessions failed:")
                text = self._text
            if text != self._text:
                async with self._news:
                    self._text = text
                    self._news.notify_all()
            await asyncio.sleep(LOOK_EVERY)
