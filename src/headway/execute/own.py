"""What an attempt changed itself, as far as that can be told: files that its tools name, and what was changed while it
ran something. Whoever works beside it, a person or another session, is not to lose anything when it is begun anew."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from headway.core.run_events import ToolFinished, ToolStarted

if TYPE_CHECKING:
    from headway.core.events import Event

SLACK = 0.05
"""Seconds: the times of files are counted in larger steps than those of events."""
_HARMLESS = frozenset({"read", "network", "todo", "plan"})


@dataclass(frozen=True, slots=True)
class Own:
    files: frozenset[str]
    calls: tuple[tuple[float, float], ...]
    """When it ran something that may have changed anything: from, to."""

    def has(self, path: str, changed_at: float) -> bool:
        return path in self.files or any(began <= changed_at <= ended for began, ended in self.calls)


def own_changes(events: Iterable[Event], agent: str, until: float | None) -> Own:
    """From the log; a call of which no end is known went on until the last sign of life, or until now."""
    files: set[str] = set()
    open_calls: dict[str, float] = {}
    calls: list[tuple[float, float]] = []
    for event in events:
        if event.agent != agent:
            continue
        data, at = event.data, datetime.fromisoformat(event.at).timestamp()
        if isinstance(data, ToolStarted) and data.effect not in _HARMLESS:
            open_calls[data.call_id] = at - SLACK
        elif isinstance(data, ToolFinished):
            files.update(data.files)
            if data.call_id in open_calls:
                calls.append((open_calls.pop(data.call_id), at + SLACK))
    end = float("inf") if until is None else until
    return Own(frozenset(files), (*calls, *((began, end) for began in open_calls.values())))
