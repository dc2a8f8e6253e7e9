"""The data of a session: items, lists, plan, state. Frozen values; the rules are in `rules` and `decide`.

Times are ISO 8601 strings in UTC with milliseconds, so that they sort, compare and travel as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, make_dataclass
from enum import StrEnum
from operator import attrgetter

from headway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from headway.core.evidence import Evidence
    from headway.core.plans import Plan
    from headway.core.runs import Run

MAIN_AGENT = "main"
PERSON = "user"
"""The actor of a change for which nobody else is named."""
PERSON_PREFIX = "user:"
"""What the actor of a person begins with who has a name, such as `user:alice`."""
MODEL, TRACKER, JUDGE, LOOP = "model", "tracker", "judge", "loop"
"""The actors of a run: what its model calls, what tracking makes of its calls, what a judge decides, and itself."""
EXECUTOR = "executor"
"""The actor that executes items."""
DEFAULT_TITLE = "Agent Tasks"


def is_person(actor: str) -> bool:
    """Return whether it is a person who acts: `user` or `user:NAME`. Every other name is a program's or a worker's."""
    return actor == PERSON or actor.startswith(PERSON_PREFIX)


class Status(StrEnum):
    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    CANCELLED = "cancelled"
    BLOCKED = "blocked"


def is_inferred(evidence: object) -> bool:
    """Return whether only the tracker concluded that an item is completed."""
    return getattr(evidence, "level", None) == "inferred"


FINISHED = frozenset({Status.COMPLETED, Status.CANCELLED})
"""Statuses of items that need no more work."""


class Priority(StrEnum):
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Origin(StrEnum):
    PLAN = "plan"
    MANUAL = "manual"


@dataclass(frozen=True, slots=True)
class Todo:
    """One item of a list. What each field means is said in `headway.core.fields`."""

    id: str
    content: str
    active_form: str | None = None
    status: Status = Status.PENDING
    priority: Priority | None = None
    module: str | None = None
    depends_on: tuple[str, ...] = ()
    risks: tuple[str, ...] = ()
    estimated_time: str | None = None
    notes: str | None = None
    owner: str | None = None
    lease_until: str | None = None
    created_from: Origin | None = None
    created_at: str | None = None
    started_at: str | None = None
    completed_at: str | None = None
    started_at_round: int | None = None
    completed_at_round: int | None = None
    interrupted: bool = False
    verify: str | None = None
    evidence: Evidence | None = None
    tool_calls: int = 0
    failed_calls: int = 0

    @property
    def label(self) -> str:
        """What to show while the item is being worked on."""
        return self.active_form or self.content


_Draft = make_dataclass(
    "_Draft",
    [(f.name, f.type, field(default=f.default)) for f in fields(Todo)],
    slots=True,
    eq=False,
    repr=False,
    match_args=False,
)


def new_todo(*values: object, **fields: object) -> Todo:
    """As `Todo(…)`, in a third of the time: filled in while it can still be written to, and then frozen.

    Without it, replacing 50 items in memory takes 1.2 times as long and opening a list of 1,000 items 1.3 times
    (`make bench`: "make 1,000 todos").
    """
    draft: Any = _Draft(*values, **fields)
    draft.__class__ = Todo
    return draft


def replace_fields(todo: Todo, changes: Mapping[str, object]) -> Todo:
    """Return the item with some fields changed."""
    draft: Any = _Draft(*field_values(todo))
    for name, value in changes.items():
        setattr(draft, name, value)
    draft.__class__ = Todo
    return draft


field_values: Callable[[Todo], tuple[Any, ...]] = attrgetter(*(f.name for f in fields(Todo)))
"""The values of an item's fields, in their order."""


@dataclass(frozen=True)
class TodoList:
    """One agent's list, with what the core needs to change it: its next free id and where undo and redo continue."""

    items: dict[str, Todo] = field(default_factory=dict[str, Todo])
    """By id, in list order. Never changed in place."""
    title: str = DEFAULT_TITLE
    summary: str | None = None
    created_at: str | None = None
    updated_at: str | None = None
    next_number: int = 1
    """The next generated id is `t<next_number>`; never goes back, so an id is never given twice."""
    undo: int = 0
    """Version of the event that undo would take back, 0 if none."""
    redo: int = 0
    """Version of the undo that redo would take back, 0 if none."""
    open_step: int = 0
    """Version of the last change of the execution that is going on; the end of that makes a step of its changes."""
    workers: frozenset[str] = frozenset()
    """Who ever claimed an item of it."""
    kept_by_loop: bool = False
    """An agent's loop may set the states of its items. The last replacement decided that."""
    changed_in: int = 0
    """Version of the last change of the list."""
    edited_in: int = 0
    """Version of the last change by a person."""
    others_in: int = 0
    """Version of the last change by anyone but a run's model."""


class CompletionLog(Value):
    """Where finished lists of this session are written, how many blocks there are, and the last of each agent."""

    __slots__ = ("blocks", "last", "path")

    def __init__(self, path: str, blocks: int, last: dict[str, str]) -> None:
        self.path: str = path
        self.blocks: int = blocks
        self.last: dict[str, str] = last


EMPTY_LIST = TodoList()


@dataclass(frozen=True, slots=True)
class State:
    """Everything a session is, folded from its log."""

    version: int = 0
    lists: dict[str, TodoList] = field(default_factory=dict[str, TodoList])
    plan: Plan | None = None
    plan_mode: bool = False
    completion_log: CompletionLog | None = None
    weight: int = 0
    """How much the log holds, counted in items; says when a snapshot is due."""
    runs: dict[str, Run] = field(default_factory=dict[str, "Run"])
    """agent → its run, or the last one it had."""
    conversations: dict[str, tuple[int, int]] = field(default_factory=dict[str, "tuple[int, int]"])
    """agent → (version of its last compaction, 0 if there is none; version from which messages are kept)."""

    def list_of(self, agent: str) -> TodoList:
        return self.lists.get(agent, EMPTY_LIST)

    def is_executing(self, agent: str) -> bool:
        """Return whether the agent's run is an execution that goes on, or works on a todo of one."""
        return any(
            run.is_active and run.execution is not None and (agent == name or agent in run.execution.executing.values())
            for name, run in self.runs.items()
        )

    def is_planning(self, agent: str) -> bool:
        """Return whether the agent only plans now. An execution never does: plan mode pauses it."""
        return self.plan_mode and not self.is_executing(agent)

    def is_paused(self, agent: str) -> bool:
        """Return whether the agent's run is to wait: someone paused it, or it is executing and plan mode is on."""
        run = self.runs.get(agent)
        return run is not None and run.is_active and (run.paused or (self.plan_mode and self.is_executing(agent)))

    def is_pausing(self, agent: str) -> bool:
        """Return whether someone paused the agent's run and something of it still goes on until its round is over."""
        run = self.runs.get(agent)
        if run is None or not (run.is_active and run.paused):
            return False
        if run.execution is None:
            return not run.waiting
        working = [self.runs.get(name) for name in run.execution.executing.values()]
        return not all(sub is not None and sub.is_active and sub.waiting for sub in working)


def parse_id_number(todo_id: str) -> int:
    """n for an id `t<n>` that generated ids must stay clear of, else 0."""
    if todo_id.startswith("t") and len(todo_id) <= 10 and todo_id[1:].isdecimal():
        return int(todo_id[1:])
    return 0


def count_by_status(items: list[Todo]) -> dict[Status, int]:
    """Return how many items have each status, zero included."""
    result = dict.fromkeys(Status, 0)
    for todo in items:
        result[todo.status] += 1
    return result
