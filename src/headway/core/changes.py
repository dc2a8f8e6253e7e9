"""What someone may want of a session. Values only: `decide` turns a change into events, or refuses it.

Every change says for which agent's list it is, who wants it, and when.
"""

from __future__ import annotations

from dataclasses import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headway.core.events import Event
    from headway.core.model import CompletionLog
    from headway.core.rules import Shape


@dataclass(slots=True, eq=False)
class Change:
    agent: str
    actor: str
    at: str


@dataclass(slots=True, eq=False)
class Write(Change):
    """Items as they came; a replacement, or an update of some fields where every id is known and `replace` is off."""

    items: object
    shape: Shape
    replace: bool
    cause: str
    about: Mapping[str, str | None]
    """New title or summary of the list; what is not named stays."""


@dataclass(slots=True, eq=False)
class Update(Change):
    todo_id: str
    fields: Mapping[str, object]
    as_worker: bool
    """The actor speaks as a worker: the item must not belong to another one."""


@dataclass(slots=True, eq=False)
class Add(Change):
    fields: Mapping[str, object]
    after: str | None


@dataclass(slots=True, eq=False)
class Move(Change):
    todo_id: str
    position: int
    """Counted from 1."""


@dataclass(slots=True, eq=False)
class Drop(Change):
    todo_id: str


@dataclass(slots=True, eq=False)
class Claim(Change):
    lease: float


@dataclass(slots=True, eq=False)
class Renew(Change):
    todo_id: str
    lease: float


@dataclass(slots=True, eq=False)
class Release(Change):
    todo_id: str


@dataclass(slots=True, eq=False)
class Revert(Change):
    """Undo or redo: take back these events, newest first."""

    cause: str
    targets: Sequence[Event]


@dataclass(slots=True, eq=False)
class SetPlan(Change):
    plan: object
    """As it came."""


@dataclass(slots=True, eq=False)
class ClearPlan(Change):
    pass


@dataclass(slots=True, eq=False)
class PlanToTodos(Change):
    pass


@dataclass(slots=True, eq=False)
class SetPlanMode(Change):
    on: bool


@dataclass(slots=True, eq=False)
class LogCompletion(Change):
    """A block was written to the completion log."""

    log: CompletionLog
