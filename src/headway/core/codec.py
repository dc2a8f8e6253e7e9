"""Events, items and states as JSON and back. What the log and the snapshots look like on disk is decided here.

Compact: most fields are left out where they have their default value. Nothing here validates: what is read was written
by this module.
"""

from __future__ import annotations

import json
from operator import attrgetter

from headway.core.events import EVENT_CLASSES, Event, EventData, LeaseRenewed, ListDelta, PlanUpdated, Splice
from headway.core.fields import DEFAULTS, FIELD, FIELDS, Kind
from headway.core.model import (
    CompletionLog,
    Origin,
    Priority,
    State,
    Status,
    Todo,
    TodoList,
    new_todo,
)
from headway.core.text import sanitize_for_display, to_storable
from headway.core.value import to_fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from headway.core.plans import Plan
    from headway.core.runs import Run

SNAPSHOT_FORMAT = 2
READABLE = (1, 2)
"""Formats of snapshots; the first knew nothing of runs."""


def to_json(value: object) -> str:
    return to_storable(_encode(value))


def _read_evidence(record: Any) -> object:
    from headway.core.evidence import parse_evidence_record

    return parse_evidence_record(record)


_READ: dict[Kind, Callable[[Any], object]] = {
    Kind.STATUS: Status,
    Kind.PRIORITY: Priority,
    Kind.ORIGIN: Origin,
    Kind.TEXTS: tuple,
    Kind.IDS: tuple,
    Kind.EVIDENCE: _read_evidence,
}
_READERS = {field.name: _READ[field.kind] for field in FIELDS if field.kind in _READ}
_SHOWN = tuple(field.name for field in FIELDS)
_KNOWN = frozenset(_SHOWN)
_SIDES = _KNOWN | {"title", "summary", "kept_by_loop"}
_DELTA = frozenset({"cause", "added", "removed", "changed", "order", "about", "previous", "other", "partial", "of"})
_LINKS = frozenset({"order", "previous", "other", "partial", "of"})
"""Of a change of the list, what only its session can read."""
_USUAL = ("id", "content", "active_form", "status", "created_at")
"""Written for every item; of the rest, only what differs from its default."""
_REST = tuple(name for name in _SHOWN if name not in _USUAL)
_REST_DEFAULTS = tuple(DEFAULTS[name] for name in _REST)
_usual, _rest = attrgetter(*_USUAL), attrgetter(*_REST)


_encode = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode


def to_json_value(value: object) -> object:
    """A field's value as JSON."""
    if type(value).__name__ != "Evidence":
        return value
    from headway.core.evidence import Evidence, to_evidence_record

    return to_evidence_record(value) if isinstance(value, Evidence) else value


def read_value(name: str, value: object) -> object:
    reader = _READERS.get(name)
    return value if value is None or reader is None else reader(value)


def to_todo_record(todo: Todo) -> dict[str, object]:
    """Return the item as the log keeps it."""
    usual, rest = _usual(todo), _rest(todo)
    record: dict[str, object] = dict(zip(_USUAL, usual, strict=True))
    if rest != _REST_DEFAULTS:
        for name, value, default in zip(_REST, rest, _REST_DEFAULTS, strict=True):
            if value != default:
                record[name] = to_json_value(value)
    return record


def to_todo_dict(todo: Todo) -> dict[str, object]:
    """Return the item as programs get it: every field, snake_case, ready for JSON."""
    return {name: to_json_value(getattr(todo, name)) for name in _SHOWN}


class NewerRecord(ValueError):
    """Something that this version of Headway does not know."""


def read_todo(record: dict[str, Any]) -> Todo:
    if not _KNOWN.issuperset(record):
        raise NewerRecord(f"an item has the field '{sanitize_for_display(min(record.keys() - _KNOWN))}'")
    for name, reader in _READERS.items():
        if (value := record.get(name)) is not None:
            record[name] = reader(value)
    return new_todo(**record)


def _to_sides_record(fields: dict[str, tuple[object, object]]) -> dict[str, list[object]]:
    return {name: [to_json_value(before), to_json_value(after)] for name, (before, after) in fields.items()}


def _read_sides(record: dict[str, Any]) -> dict[str, tuple[object, object]]:
    if not _SIDES.issuperset(record):
        raise NewerRecord(f"an event changes the field '{sanitize_for_display(min(record.keys() - _SIDES))}'")
    return {name: (read_value(name, before), read_value(name, after)) for name, (before, after) in record.items()}


def _to_delta_record(delta: ListDelta) -> dict[str, object]:
    record: dict[str, object] = {"cause": delta.cause}
    if delta.added:
        record["added"] = [to_todo_record(todo) for todo in delta.added]
    if delta.removed:
        record["removed"] = [to_todo_record(todo) for todo in delta.removed]
    if delta.changed:
        record["changed"] = {todo_id: _to_sides_record(fields) for todo_id, fields in delta.changed.items()}
    if delta.order:
        record["order"] = [delta.order.start, delta.order.removed, delta.order.inserted]
    if delta.about:
        record["about"] = _to_sides_record(delta.about)
    record["previous"] = delta.previous
    if delta.other:
        record["other"] = delta.other
    if delta.partial:
        record["partial"] = True
    if delta.of:
        record["of"] = delta.of
    return record


def _read_changes(record: dict[str, Any]) -> dict[str, tuple[object, object]]:
    if not record.keys() <= FIELD.keys():
        raise ValueError("unknown field")
    return _read_sides(record)


def _read_delta(record: dict[str, Any]) -> ListDelta:
    if not _DELTA.issuperset(record):
        raise NewerRecord(f"an event has the field '{sanitize_for_display(min(record.keys() - _DELTA))}'")
    order = record.get("order")
    return ListDelta(
        cause=record["cause"],
        added=tuple(read_todo(todo) for todo in record.get("added", ())),
        removed=tuple(read_todo(todo) for todo in record.get("removed", ())),
        changed={todo_id: _read_changes(fields) for todo_id, fields in record.get("changed", {}).items()},
        order=Splice(order[0], tuple(order[1]), tuple(order[2])) if order else None,
        about=_read_sides(record.get("about", {})),
        previous=record["previous"],
        other=record.get("other", 0),
        partial=record.get("partial", False),
        of=record.get("of", 0),
    )


def _to_plan_record(plan: Plan | None) -> dict[str, object] | None:
    if plan is None:
        return None
    from headway.core.plans import to_plan_record

    return to_plan_record(plan)


def _read_plan(record: dict[str, Any] | None) -> Plan | None:
    if record is None:
        return None
    from headway.core.plans import parse_plan_record

    return parse_plan_record(record)


def _to_log_record(log: CompletionLog) -> dict[str, object]:
    return {"path": log.path, "blocks": log.blocks, "last": log.last}


_RECORD: dict[type, Callable[[Any], dict[str, object]]] = {
    ListDelta: _to_delta_record,
    LeaseRenewed: lambda data: {"id": data.todo_id, "until": data.until},
    PlanUpdated: lambda data: {"plan": _to_plan_record(data.plan)},
}
_READ_DATA: dict[type, Callable[[dict[str, Any]], EventData]] = {
    ListDelta: _read_delta,
    LeaseRenewed: lambda record: LeaseRenewed(todo_id=record["id"], until=record["until"]),
    PlanUpdated: lambda record: PlanUpdated(plan=_read_plan(record["plan"])),
}
"""The kinds whose fields are not in the log as they are."""


def to_data_record(data: EventData) -> dict[str, object]:
    make = _RECORD.get(type(data), to_fields)
    return make(data)


def _read_data(kind: type[EventData], record: dict[str, Any]) -> EventData:
    if read := _READ_DATA.get(kind):
        return read(record)
    if not kind.field_names.issuperset(record):
        raise NewerRecord(f"an event has the field '{sanitize_for_display(min(record.keys() - kind.field_names))}'")
    for name in kind.tuple_fields:
        if name in record:
            record[name] = tuple(record[name])
    return kind(**record)


def to_event_json(event: Event) -> str:
    """Return the part of an event that depends on its type, as the log keeps it."""
    return to_json(to_data_record(event.data))


def find_event_class(wire_name: str) -> type[EventData] | None:
    """Return the class of a kind of event; those of runs are loaded where one is asked for."""
    return EVENT_CLASSES.get(wire_name) or load_event_classes().get(wire_name)


def load_event_classes() -> Mapping[str, type[EventData]]:
    """Return every class of events by its wire name."""
    from headway.core import execution_events as _executions
    from headway.core import run_events as _runs

    assert _executions and _runs  # they put theirs there
    return EVENT_CLASSES


def read_event(version: int, at: str, agent: str, actor: str, name: str, data: str) -> Event:
    kind = find_event_class(name)
    if kind is None:
        raise NewerRecord(f"event {version} is a '{sanitize_for_display(name)}'")
    return Event(version, at, agent, actor, _read_data(kind, json.loads(data)))


def to_event_dict(event: Event, session: str) -> dict[str, object]:
    """Return the event as programs get it: its name is in `type`; a list change has the whole list, if known."""
    record: dict[str, object] = {"type": event.type, "session_id": session, "agent_id": event.agent}
    if event.version:
        record["version"] = event.version
    record |= {"timestamp": event.at, "actor": event.actor}
    data = to_data_record(event.data)
    links = _LINKS if isinstance(event.data, ListDelta) else ()
    record.update({name: value for name, value in data.items() if name not in links})
    if event.todos is not None:
        record["todos"] = [to_todo_dict(todo) for todo in event.todos]
    return record


def write_state(state: State) -> str:
    lists = {
        agent: {
            "items": [to_todo_record(todo) for todo in todos.items.values()],
            "title": todos.title,
            "summary": todos.summary,
            "created_at": todos.created_at,
            "updated_at": todos.updated_at,
            "next_number": todos.next_number,
            "undo": todos.undo,
            "redo": todos.redo,
            "open_step": todos.open_step,
            "workers": sorted(todos.workers),
            "kept_by_loop": todos.kept_by_loop,
            "changed_in": todos.changed_in,
            "edited_in": todos.edited_in,
            "others_in": todos.others_in,
        }
        for agent, todos in state.lists.items()
    }
    record = {
        "format": SNAPSHOT_FORMAT,
        "version": state.version,
        "lists": lists,
        "plan": _to_plan_record(state.plan),
        "plan_mode": state.plan_mode,
        "completion_log": state.completion_log and _to_log_record(state.completion_log),
        "weight": state.weight,
        "conversations": state.conversations,
        "runs": {},
    }
    if state.runs:
        from headway.core.run_records import to_run_record

        record["runs"] = {agent: to_run_record(run) for agent, run in state.runs.items()}
    return to_json(record)


def read_state(text: str) -> State | None:
    """Return the state; None if it is damaged or in another format: the log is then folded from its beginning."""
    try:
        record = json.loads(text)
        return _read_state(record) if record["format"] in READABLE else None
    except (ValueError, LookupError, TypeError, AttributeError):
        return None


def _read_state(record: dict[str, Any]) -> State:
    lists: dict[str, TodoList] = {}
    for agent, fields in record["lists"].items():
        todos = [read_todo(todo) for todo in fields.pop("items")]
        fields["workers"] = frozenset(fields["workers"])
        fields.setdefault("changed_in", max(fields["undo"], fields["redo"]))
        fields.setdefault("edited_in", fields["changed_in"])  # by whom, an older snapshot does not say
        fields.setdefault("others_in", fields["changed_in"])
        lists[agent] = TodoList({todo.id: todo for todo in todos}, **fields)
    log = record["completion_log"]
    plan = _read_plan(record["plan"])
    runs: dict[str, Run] = {}
    if record.get("runs"):
        from headway.core.run_records import parse_run_record

        runs = {agent: parse_run_record(run) for agent, run in record["runs"].items()}
    conversations = {agent: (pair[0], pair[1]) for agent, pair in record.get("conversations", {}).items()}
    log = log and CompletionLog(**log)
    return State(record["version"], lists, plan, record["plan_mode"], log, record["weight"], runs, conversations)
