"""What the log holds: events, each with its version, time, agent and actor, and with data of its own kind.

The class of its data says what there is to know of a kind of event: its name in the log and on the wire, its fields,
whether it is kept, whether the state changes with it. A list change is kept as a delta that carries both sides of what
changed, so that history can be told and undone from the event alone.
"""

from __future__ import annotations

from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields

from headway.core.model import MAIN_AGENT
from headway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import Field
    from typing import Any, ClassVar, TypeVar, dataclass_transform

    from headway.core.model import Todo
    from headway.core.plans import Plan

    Kind = TypeVar("Kind", bound="type[EventData]")
else:

    def dataclass_transform(**_: object) -> object:
        return lambda decorator: decorator


TODOS_UPDATE = "todos:update"
"""What listeners to the list of the main agent ask for."""


class EventData(Value):
    """What an event says. Each kind is a frozen dataclass, built from keywords and decorated with `event_class`."""

    __slots__ = ()
    wire_name: ClassVar[str]
    """What the log, the wire and subscribers call it; never changed."""
    is_live_only: ClassVar[bool] = False
    """Whether it is neither logged nor versioned."""
    is_progress: ClassVar[bool] = False
    """Whether a run does it from moment to moment. It outlives the process; a power cut may take the last seconds."""
    is_progress_of_sub_agent: ClassVar[bool] = False
    """Whether it is progress where a sub-agent's run does it: whoever has it run says for good what came of it."""
    affects_state: ClassVar[bool] = True
    """Whether the state changes with it, and not only for those who read the log."""
    tuple_fields: ClassVar[tuple[str, ...]] = ()
    """Fields that JSON has as arrays."""
    field_names: ClassVar[frozenset[str]] = frozenset()
    defaults: ClassVar[dict[str, object]] = {}
    default_factories: ClassVar[dict[str, Callable[[], object]]] = {}
    if TYPE_CHECKING:
        __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def __init__(self, **values: object) -> None:
        if len(values) < len(self.field_names):
            values = {**self.defaults, **values}
            for name, make in self.default_factories.items():
                values.setdefault(name, make())
        if values.keys() != self.field_names:
            raise TypeError(f"{type(self).__name__} is built from {', '.join(self.__slots__)}, not {', '.join(values)}")
        put = object.__setattr__
        for name, value in values.items():
            put(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> None:
        raise FrozenInstanceError(f"cannot delete field {name!r}")


EVENT_CLASSES: dict[str, type[EventData]] = {}
"""By wire name, those that are loaded; `codec.load_event_classes` has all."""


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def event_class(kind: Kind) -> Kind:
    """Make a kind of event a dataclass, and make it known by its wire name.

    Its methods are those of `EventData`: written anew for each kind, they would take 13 ms for all, and not 2.
    """
    kind = dataclass(init=False, repr=False, eq=False, slots=True, kw_only=True)(kind)
    of = fields(kind)
    kind.field_names = frozenset(field.name for field in of)
    kind.defaults = {field.name: field.default for field in of if field.default is not MISSING}
    kind.default_factories = {field.name: field.default_factory for field in of if field.default_factory is not MISSING}
    kind.tuple_fields = tuple(field.name for field in of if str(field.type).startswith("tuple"))
    EVENT_CLASSES[kind.wire_name] = kind
    return kind


class RunData(EventData):
    """Of an agent's run: progress, unless it says otherwise. The kinds are in `headway.core.run_events`."""

    __slots__ = ()
    is_progress = True


class ExecutionData(RunData):
    """Of the execution of todos. The kinds are in `headway.core.execution_events`."""

    __slots__ = ()


class Splice(Value):
    """Change of the order: from `start`, the ids `removed` give way to the ids `inserted`."""

    __slots__ = ("inserted", "removed", "start")

    def __init__(self, start: int, removed: tuple[str, ...], inserted: tuple[str, ...]) -> None:
        self.start: int = start
        self.removed: tuple[str, ...] = removed
        self.inserted: tuple[str, ...] = inserted


@event_class
class LeaseRenewed(EventData):
    """A worker holds its todo for longer."""

    wire_name = "LeaseRenewed"

    todo_id: str
    until: str


@event_class
class PlanUpdated(EventData):
    """The plan was set, or cleared."""

    wire_name = "PlanUpdated"

    plan: Plan | None


@event_class
class PlanModeChanged(EventData):
    """Plan mode was switched on or off."""

    wire_name = "PlanModeChanged"

    on: bool


@event_class
class CompletionLogged(EventData):
    """A finished list was written to the completion log."""

    wire_name = "CompletionLogged"

    path: str
    blocks: int
    last: dict[str, str]


@event_class
class ListDelta(EventData):
    """A change of one list."""

    wire_name = "TodoListUpdated"

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
    data: EventData
    todos: tuple[Todo, ...] | None = field(default=None, compare=False, repr=False)
    """For subscribers to a list change: the whole list after it, unless a newer one follows at once. Not in the log."""
    session_id: str = field(default="", compare=False)
    """For whoever reads it; in the log, all are of one session."""

    @property
    def type(self) -> str:
        return self.data.wire_name

    @property
    def agent_id(self) -> str:
        return self.agent

    @property
    def timestamp(self) -> str:
        return self.at

    def to_dict(self) -> dict[str, object]:
        """Return the event as data for JSON: the fields of `data` stand beside the others in one flat object."""
        from headway.core.codec import to_event_dict

        return to_event_dict(self, self.session_id)

    @property
    def is_progress(self) -> bool:
        """What tracking makes of calls is as good as the calls, which are progress."""
        data = self.data
        if isinstance(data, ListDelta):
            return data.cause == "track"
        return data.is_progress or (data.is_progress_of_sub_agent and self.agent != MAIN_AGENT)
