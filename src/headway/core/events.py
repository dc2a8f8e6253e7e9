"""What the log holds: facts, each with its version, time, agent and actor. Values only; `codec` writes them down.

A list change is kept as a delta that carries both sides of what changed, so that history can be told and undone from
the event alone. Names are those that subscribers use.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from headway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    from headway.core.model import CompletionLog, Todo
    from headway.core.plans import Plan
    from headway.core.run_events import RunData

    EventData: TypeAlias = "ListDelta | LeaseRenewed | PlanUpdated | PlanModeChanged | CompletionLog | RunData"

TODO_LIST_UPDATED = "TodoListUpdated"
TODOS_UPDATE = "todos:update"
"""What listeners to the list of the main agent ask for."""
LEASE_RENEWED = "LeaseRenewed"
PLAN_UPDATED = "PlanUpdated"
PLAN_MODE_CHANGED = "PlanModeChanged"
COMPLETION_LOGGED = "CompletionLogged"
EVENT_NAMES = (TODO_LIST_UPDATED, LEASE_RENEWED, PLAN_UPDATED, PLAN_MODE_CHANGED, COMPLETION_LOGGED)
LIVE_ONLY = "TextDelta"
EVIDENCE_ASKED = "EvidenceAsked"
RUN_EVENT_NAMES = (
    *("TodoListItemProgress", "TodoListCompleted", "TodoListContextInjected"),
    *("TodoEvaluationStarted", "TodoEvaluationCompleted", "RunStarted", "RoundStarted", LIVE_ONLY),
    *("ToolStarted", "ToolFinished", "ApprovalAsked", "ApprovalAnswered", "Usage", "RunError", "RunFinished"),
    *("RunRequested", "RunPaused", "MessageAdded", "ConversationCompacted"),
    *("BatchStarted", "ItemStarted", "ItemMerging", "ItemFinished", "BatchFinished", "ItemRolledBack"),
    *("FilesReverted", "ModeChanged", EVIDENCE_ASKED),
)
"""Of an agent's runs; their data is in `headway.core.run_events`."""
RUN_EVENTS = frozenset(RUN_EVENT_NAMES)
PROGRESS = RUN_EVENTS - {
    *("RunStarted", "RunRequested", "ApprovalAnswered", "ConversationCompacted", "RunFinished"),
    *("BatchStarted", "BatchFinished", "ItemRolledBack", "FilesReverted", "ModeChanged"),
}
"""What a run does from moment to moment. It outlives the process; a power cut may take the last seconds of it."""
_OF_SUB_RUNS = PROGRESS | {"RunStarted", "RunFinished"}


def is_progress(event: Event) -> bool:
    """Of a sub-agent's run, also where it begins and ends: whoever has it run says so for good.

    What tracking makes of calls is as good as the calls, which are progress.
    """
    if event.type in (PROGRESS if event.agent == "main" else _OF_SUB_RUNS):
        return True
    return isinstance(event.data, ListDelta) and event.data.cause == "track"


class Splice(Value):
    """Change of the order: from `start`, the ids `removed` give way to the ids `inserted`."""

    __slots__ = ("inserted", "removed", "start")

    def __init__(self, start: int, removed: tuple[str, ...], inserted: tuple[str, ...]) -> None:
        self.start = start
        self.removed = removed
        self.inserted = inserted


class LeaseRenewed(Value):
    wire_name = LEASE_RENEWED
    __slots__ = ("todo_id", "until")

    def __init__(self, todo_id: str, until: str) -> None:
        self.todo_id = todo_id
        self.until = until


class PlanUpdated(Value):
    wire_name = PLAN_UPDATED
    __slots__ = ("plan",)

    def __init__(self, plan: Plan | None) -> None:
        self.plan = plan


class PlanModeChanged(Value):
    wire_name = PLAN_MODE_CHANGED
    __slots__ = ("on",)

    def __init__(self, on: bool) -> None:
        self.on = on


@dataclass(frozen=True, slots=True)
class ListDelta:
    """A change of one list."""

    wire_name = TODO_LIST_UPDATED

    cause: str
    """What was asked for: write, create, update, advance, add, move, drop, clear, claim, release, plan, import, undo,
    redo; or what a run did: track, interrupt, execute, rollback."""
    added: tuple[Todo, ...] = ()
    removed: tuple[Todo, ...] = ()
    changed: dict[str, dict[str, tuple[object, object]]] = field(
        default_factory=dict[str, "dict[str, tuple[object, object]]"]
    )
    """id → field → (before, after)."""
    order: Splice | None = None
    about: dict[str, tuple[object, object]] = field(default_factory=dict[str, "tuple[object, object]"])
    """Title and summary of the list, and whether the loop keeps it: (before, after)."""
    previous: int = 0
    """Where undo (for an undo: redo) continues once this is taken back."""
    other: int = 0
    """For an undo: where undo continues. For a redo: where redo continues."""
    partial: bool = False
    """Whether it is part of a step that a later event ends (an execution, a rollback, an undo with files): then
    `previous` is the change before it in that step."""
    of: int = 0
    """For an undo or redo: version of the event that ended the step when it was first made."""


@dataclass(frozen=True, slots=True)
class Event:
    """One entry of a session's log."""

    version: int
    """Strictly increasing; 0 for what is live only, and not in the log."""
    at: str
    agent: str
    actor: str
    type: str
    data: EventData
    todos: tuple[Todo, ...] | None = field(default=None, compare=False, repr=False)
    """For subscribers to a list change: the whole list after it, unless a newer one follows at once. Not in the log."""
    session_id: str = field(default="", compare=False)
    """For whoever reads it; in the log, all are of one session."""

    @property
    def agent_id(self) -> str:
        return self.agent

    @property
    def timestamp(self) -> str:
        return self.at
