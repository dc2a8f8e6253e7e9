"""What the log holds: facts, each with its version, time, agent and actor. Values only; `codec` writes them down.

A list change is kept as a delta that carries both sides of what changed, so that history can be told and undone from
the event alone. Names are those that subscribers use.
"""

from __future__ import annotations

from dataclasses import dataclass, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    from headway.core.model import CompletionLog, Plan, Todo

    EventData: TypeAlias = "ListDelta | LeaseRenewal | PlanChange | PlanModeChange | CompletionLog"

TODO_LIST_UPDATED = "TodoListUpdated"
LEASE_RENEWED = "LeaseRenewed"
PLAN_UPDATED = "PlanUpdated"
PLAN_MODE_CHANGED = "PlanModeChanged"
COMPLETION_LOGGED = "CompletionLogged"


@dataclass(frozen=True, slots=True)
class Splice:
    """Change of the order: from `start`, the ids `removed` give way to the ids `inserted`."""

    start: int
    removed: tuple[str, ...]
    inserted: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ListDelta:
    """A change of one list."""

    cause: str
    """What was asked for: write, update, add, move, drop, clear, claim, release, plan, import, undo, redo."""
    added: tuple[Todo, ...] = ()
    removed: tuple[Todo, ...] = ()
    changed: dict[str, dict[str, tuple[object, object]]] = field(
        default_factory=dict[str, "dict[str, tuple[object, object]]"]
    )
    """id → field → (before, after)."""
    order: Splice | None = None
    about: dict[str, tuple[object, object]] = field(default_factory=dict[str, "tuple[object, object]"])
    """Title and summary of the list: (before, after)."""
    previous: int = 0
    """Where undo (for an undo: redo) continues once this is taken back."""
    other: int = 0
    """For an undo: where undo continues. For a redo: where redo continues."""


@dataclass(frozen=True, slots=True)
class LeaseRenewal:
    todo_id: str
    until: str


@dataclass(frozen=True, slots=True)
class PlanChange:
    plan: Plan | None


@dataclass(frozen=True, slots=True)
class PlanModeChange:
    on: bool


@dataclass(frozen=True, slots=True)
class Event:
    """One entry of a session's log."""

    version: int
    at: str
    agent: str
    actor: str
    type: str
    data: EventData
