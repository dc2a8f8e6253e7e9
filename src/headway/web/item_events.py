"""What happened to one item: its changes, its executions, and the tool calls that were made for it."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from headway.core.events import ListDelta
from headway.core.execution_events import AttemptStarted
from headway.core.model import MAIN_AGENT

if TYPE_CHECKING:
    from headway.core.events import Event
    from headway.session import Session


def item_events(session: Session, todo_id: str, after: int, limit: int) -> list[Event]:
    """The last of them, in their order, and how each attempt began. All of the log is read."""
    found: deque[Event] = deque(maxlen=limit)
    begun: list[Event] = []
    agents: set[str] = set()
    for event in session.events(after):
        data = event.data
        if isinstance(data, AttemptStarted) and data.item_id == todo_id:
            agents.add(data.agent)
            begun.append(event)
        elif event.agent in agents or (event.agent == MAIN_AGENT and _concerns(data, todo_id)):
            found.append(event)
    return sorted([*begun, *found], key=lambda event: event.version)


def _concerns(data: object, todo_id: str) -> bool:
    if isinstance(data, ListDelta):
        return todo_id in data.changed or any(todo.id == todo_id for todo in (*data.added, *data.removed))
    return getattr(data, "item_id", None) == todo_id
