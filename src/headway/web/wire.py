"""What the page is told: sessions, states, and what changed between two states of a session. Data ready for JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast
from zlib import crc32

from headway.core.codec import to_event_dict, to_todo_dict
from headway.core.events import ListDelta
from headway.core.model import DEFAULT_TITLE, MAIN_AGENT, Status, count_by_status
from headway.core.plans import to_plan_record
from headway.core.value import to_fields
from headway.views.spoken_words import find_spoken_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from headway.core.events import Event
    from headway.core.model import State, Todo
    from headway.core.run_events import ApprovalAsked
    from headway.core.runs import Run
    from headway.core.store import SessionInfo
    from headway.session import Session

_LEFT_OUT = ("holder", "added", "removed", "changed", "about", "todos", "key", "key_hash")
"""What the page does not need of an event, or gets elsewhere."""
_NAMES = frozenset({"session_id", "agent_id", "agent", "actor", "item_id", "id", "call_id", "question_id", "run_id"})
"""What other things are found by is never cut."""
LONGEST = 2_000
"""Characters of a text of an event that are sent; the rest can be asked for."""
LONGEST_QUESTION = 20_000
"""The same of the texts of an open question."""


def format_log_identity(identity: object) -> str:
    """Tells a session from another one of the same name that was begun after it was deleted."""
    return format(crc32(repr(identity).encode()), "08x")


def to_session_record(info: SessionInfo, state: State) -> dict[str, Any]:
    todos = state.list_of(MAIN_AGENT)
    number = count_by_status([*todos.items.values()])
    run = state.runs.get(MAIN_AGENT)
    return {
        "name": info.name,
        "version": info.version,
        "created_at": info.created_at,
        "updated_at": info.updated_at,
        "title": todos.title if todos.title != DEFAULT_TITLE else None,
        "running": run is not None and run.is_active,
        "asks": len(open_questions(state.runs)),
        "total": sum(number.values()),
        "completed": number[Status.COMPLETED] + number[Status.CANCELLED],
    }


def to_state_record(session: Session) -> dict[str, Any]:
    """The whole state, as a page that comes in needs it."""
    identity, _ = session.store.position(session.name)
    state = session.state
    todos = state.list_of(MAIN_AGENT)
    return {
        "session": session.name,
        "log": format_log_identity(identity),
        "version": state.version,
        "title": todos.title,
        "todos": [to_todo_dict(todo) for todo in todos.items.values()],
        "can_undo": bool(todos.undo),
        "can_redo": bool(todos.redo),
        **to_about_record(session, state),
    }


def to_about_record(session: Session, state: State) -> dict[str, Any]:
    """All but the items."""
    run = state.runs.get(MAIN_AGENT)
    return {
        "plan": to_plan_record(state.plan) if state.plan is not None else None,
        "plan_mode": state.plan_mode,
        "run": _to_run_record(run, state) if run is not None else None,
        "questions": [question.record(session) for question in open_questions(state.runs)],
    }


def _to_run_record(run: Run, state: State) -> dict[str, Any]:
    execution, is_pausing = run.execution, state.is_pausing(MAIN_AGENT)
    return {
        "id": run.id,
        "model": run.model,
        "started_at": run.started_at,
        "round": run.round,
        "max_rounds": run.max_rounds,
        "reason": run.reason,
        "goes_on": run.is_active,
        "mode": run.mode or None,
        "pausing": is_pausing,
        "paused": state.is_paused(MAIN_AGENT) and not is_pausing,
        "stopping": run.stopping,
        "tool_calls": run.tool_calls,
        "batch": None
        if execution is None
        else {
            "active": run.is_active,
            "mode": execution.mode,
            "current_index": execution.index,
            "total_count": execution.total,
            "executing": execution.executing,
            "parallel": execution.parallel,
        },
    }


class OpenQuestion(NamedTuple):
    """What a person is asked and has not answered, by whichever agent."""

    agent: str
    item_id: str | None
    logged: ApprovalAsked

    def record(self, session: Session, *, whole: bool = False) -> dict[str, Any]:
        """As the page gets it: `exact` if its texts are what would run.

        They are not in the log, and not here if they are long and `whole` is false, or not to be had in this process.
        """
        exact = session.agent(self.agent).exact_question(self.logged.question_id)
        texts = to_fields(exact) if exact is not None else {}
        is_short = sum(len(text) for text in texts.values() if isinstance(text, str)) <= LONGEST_QUESTION
        is_exact = exact is not None and (whole or is_short)
        record = texts if is_exact else to_fields(self.logged)
        del record["key_hash"]
        return {**record, "exact": is_exact, "agent": self.agent, "item_id": self.item_id}


def open_questions(runs: Mapping[str, Run]) -> list[OpenQuestion]:
    executing = {
        agent: todo_id for run in runs.values() if run.execution for todo_id, agent in run.execution.executing.items()
    }
    return [
        OpenQuestion(agent, executing.get(agent), asked)
        for agent, run in runs.items()
        if run.is_active
        for asked, answer in run.questions.values()
        if answer is None
    ]


def whole_question(session: Session, question_id: str) -> dict[str, Any] | None:
    """Return an open question with all that would run, if that is to be had here; None if no such question is open."""
    found = (asked for asked in open_questions(session.state.runs) if asked.logged.question_id == question_id)
    question = next(found, None)
    return question and question.record(session, whole=True)


def to_event_record(event: Event, session: str, *, whole: bool = False) -> dict[str, Any]:
    """An event for the page's log: what was changed, as words can be made of it. `cut`: which texts are not whole."""
    record = {name: value for name, value in to_event_dict(event, session).items() if name not in _LEFT_OUT}
    if isinstance(record.get("message"), dict):  # of a conversation: what was said in it
        record["role"], record["text"] = find_spoken_words(cast("dict[str, Any]", record.pop("message")))
    texts = ((name, value) for name, value in record.items() if isinstance(value, str) and name not in _NAMES)
    long = {name: value for name, value in texts if len(value) > LONGEST}
    if long and not whole:
        record |= {name: f"{value[:LONGEST]}…" for name, value in long.items()}
        record["cut"] = [*long]
    if isinstance(event.data, ListDelta):
        record["changes"] = _list_changes(event)
    return record


def _list_changes(event: Event) -> list[dict[str, Any]]:
    from headway.core.events import ListDelta

    delta = event.data
    assert isinstance(delta, ListDelta)
    made = [{"id": todo.id, "kind": "added", "content": todo.content[:200]} for todo in delta.added]
    made += [{"id": todo.id, "kind": "removed", "content": todo.content[:200]} for todo in delta.removed]
    for todo_id, sides in delta.changed.items():
        status = sides.get("status")
        change: dict[str, Any] = {"id": todo_id, "kind": "changed", "fields": sorted(sides)}
        if status is not None:
            change["status"] = [str(status[0]), str(status[1])]
        made.append(change)
    if delta.order is not None and not delta.added and not delta.removed:
        made.append({"id": "", "kind": "moved"})
    return made[:100]


def to_change_record(session: Session, before: State, after: State, events: Iterable[Event]) -> dict[str, Any]:
    """What is different, for a page that knows the state before."""
    old, new = before.list_of(MAIN_AGENT), after.list_of(MAIN_AGENT)
    record: dict[str, Any] = {
        "from": before.version,
        "version": after.version,
        "events": [to_event_record(event, session.name) for event in events],
        "can_undo": bool(new.undo),
        "can_redo": bool(new.redo),
    }
    if old is not new:
        changed = [to_todo_dict(todo) for todo in _list_changed(old.items, new.items)]
        if changed:
            record["items"] = changed
        if [*old.items] != [*new.items]:
            record["order"] = [*new.items]
        if old.title != new.title:
            record["title"] = new.title
    if before.plan is not after.plan or before.plan_mode != after.plan_mode or before.runs is not after.runs:
        about = to_about_record(session, after)
        if before.plan is after.plan:
            del about["plan"]
        record |= about
    return record


def _list_changed(old: Mapping[str, Todo], new: Mapping[str, Todo]) -> list[Todo]:
    """Items that are new, or not as they were."""
    return [todo for todo_id, todo in new.items() if old.get(todo_id) is not todo]
