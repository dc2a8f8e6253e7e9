"""Sessions in memory with a clock that the test moves, and the changes that properties send to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from headway import HeadwayError, Session, Status, Todo
from headway.core.clock import add_seconds
from headway.core.fields import DEFAULTS
from headway.core.model import TodoList, replace_fields
from headway.store.memory import MemoryStore


@dataclass
class Clock:
    """Stands still until it is told to go on."""

    at: str = "2025-01-02T03:04:05.000Z"

    def __call__(self) -> str:
        return self.at

    def forward(self, seconds: float) -> str:
        self.at = add_seconds(self.at, seconds)
        return self.at


@dataclass
class Ticking(Clock):
    """Each look at it is a second later than the one before."""

    def __call__(self) -> str:
        return self.forward(1)


def in_memory(clock: Clock | None = None, store: MemoryStore | None = None) -> Session:
    return (store or MemoryStore()).session("test", clock=clock or Ticking())


def items(*contents: str, status: str = "pending") -> list[dict[str, object]]:
    return [{"content": content, "status": status} for content in contents]


def by_content(session: Session) -> dict[str, Todo]:
    return {todo.content: todo for todo in session.todos}


def ids(session: Session) -> list[str]:
    return [todo.id for todo in session.todos]


def visible(todos: TodoList) -> tuple[list[Todo], str, str | None, bool]:
    """What undo must bring back: items in order, title, summary, and who keeps the list."""
    return list(todos.items.values()), todos.title, todos.summary, todos.kept_by_loop


UNSEEN = (
    *("lease_until", "created_at", "started_at", "completed_at", "started_at_round", "completed_at_round"),
    *("interrupted", "tool_calls", "failed_calls"),
)


def seen(todos: TodoList) -> object:
    """What a person sees of a list: undo counts changes of that."""
    defaults = {name: DEFAULTS[name] for name in UNSEEN}
    return [replace_fields(todo, defaults) for todo in todos.items.values()], todos.title, todos.summary


# Changes for properties: small alphabets, so that ids and contents meet again and again.

CONTENTS = st.sampled_from(["A", "B", "C", "D", "E", " A ", "修复", "naïve\ttext"])
IDS = st.sampled_from(["t1", "t2", "t3", "t4", "t7", "x", "step-1"])
WORKERS = st.sampled_from(["ada", "bob", "cy"])
STATUSES = st.sampled_from([status.value for status in Status])
PRIORITIES = st.sampled_from(["high", "medium", "low", None])
_OPTIONAL: dict[str, st.SearchStrategy[object]] = {
    "activeForm": st.sampled_from(["Doing", "", None]),
    "status": STATUSES,
    "priority": PRIORITIES,
    "depends_on": st.lists(IDS, max_size=2),
    "notes": st.sampled_from(["a note", "another", None]),
    "risks": st.lists(st.sampled_from(["breaks", "slow"]), max_size=2),
    "interrupted": st.booleans(),
    "tool_calls": st.integers(0, 3),
    "verify": st.sampled_from(["make test", "", None]),
    "evidence": st.sampled_from(
        [
            None,
            {"level": "verified", "command": "make", "exit_code": 0, "files": ["a.py"]},
            {"level": "verified", "command": "make", "exit_code": 0, "seconds": 0.5, "output": "ok", "note": None},
        ]
    ),
}
NEW_ITEMS = st.fixed_dictionaries({"content": CONTENTS}, optional={"id": IDS, **_OPTIONAL})
SOME_FIELDS = st.fixed_dictionaries({}, optional={"content": CONTENTS, **_OPTIONAL})
KNOWN_ITEMS = st.fixed_dictionaries({"id": IDS}, optional={"content": CONTENTS, **_OPTIONAL})

Step = Callable[[Session], object]


@dataclass
class Named:
    """A change with a name, so that a failing example reads as a story."""

    name: str
    arguments: tuple[object, ...]
    run: Step = field(repr=False)

    def __call__(self, session: Session) -> object:
        return self.run(session)


def _write(todos: list[dict[str, object]], title: str | None, summary: str | None, replace: bool) -> Named:
    return Named(
        "write",
        (todos, title, summary, replace),
        lambda s: s.write(todos, title=title, summary=summary, replace=replace),
    )


def _create(todos: list[dict[str, object]], title: str) -> Named:
    return Named("create", (todos, title), lambda s: s.write(todos, title=title, replace=True, cause="create"))


def _advance(actor: str, parts: dict[str, Any]) -> Named:
    return Named("advance", (actor, parts), lambda s: s.advance(actor=actor, **parts))


def _update(todo_id: str, actor: str | None, fields: dict[str, Any]) -> Named:
    return Named("update", (todo_id, actor, fields), lambda s: s.update(todo_id, actor=actor, **fields))


def _add(fields: dict[str, Any], place: str | None) -> Named:
    rest = {name: value for name, value in fields.items() if name != "content"}
    return Named("add", (fields, place), lambda s: s.add(str(fields["content"]), after=place, **rest))


def _move(todo_id: str, position: int) -> Named:
    return Named("move", (todo_id, position), lambda s: s.move(todo_id, position))


def _drop(todo_id: str) -> Named:
    return Named("drop", (todo_id,), lambda s: s.drop(todo_id))


def _claim(actor: str, lease: int) -> Named:
    return Named("claim", (actor, lease), lambda s: s.claim(actor, lease))


def _release(todo_id: str, actor: str) -> Named:
    return Named("release", (todo_id, actor), lambda s: s.release(todo_id, actor))


def _renew(todo_id: str, actor: str) -> Named:
    return Named("renew", (todo_id, actor), lambda s: s.renew(todo_id, actor, 500))


WRITES = st.builds(
    _write,
    st.lists(st.one_of(NEW_ITEMS, KNOWN_ITEMS), max_size=5),
    st.sampled_from([None, "Plan of the day", ""]),
    st.sampled_from([None, "a summary", ""]),
    st.booleans(),
)
SEEDS = st.builds(_write, st.lists(NEW_ITEMS, min_size=2, max_size=6), st.none(), st.none(), st.just(True))
ADVANCES = st.builds(
    _advance,
    st.one_of(st.just("user"), st.just("model"), WORKERS),
    st.fixed_dictionaries(
        {},
        optional={
            "done": st.lists(IDS, max_size=2),
            "start": IDS,
            "block": st.dictionaries(IDS, CONTENTS, max_size=1),
            "add": st.lists(CONTENTS, max_size=2),
            "drop": st.lists(IDS, max_size=1),
        },
    ),
)
CHANGES: st.SearchStrategy[Named] = st.one_of(
    SEEDS,
    WRITES,
    ADVANCES,
    st.builds(_create, st.lists(NEW_ITEMS, max_size=4), st.sampled_from(["", "Plan of the day"])),
    st.builds(_update, IDS, st.one_of(st.none(), WORKERS), SOME_FIELDS),
    st.builds(_add, NEW_ITEMS, st.one_of(st.none(), IDS)),
    st.builds(_move, IDS, st.integers(0, 6)),
    st.builds(_drop, IDS),
    st.builds(_claim, WORKERS, st.integers(1, 4)),
    st.builds(_release, IDS, WORKERS),
)
"""Changes of the list, each of which undo takes back."""
PLAN = {
    "title": "Parser",
    "overview": "Rewrite it.",
    "steps": [
        {"id": "step-1", "description": "A", "risks": ["breaks"], "estimatedTime": "1h", "verify": "make test"},
        {"id": "step-2", "description": "Write docs", "dependencies": ["step-1"], "module": "docs"},
    ],
    "testingStrategy": "all of it",
}
OTHER_STEPS: st.SearchStrategy[Named] = st.one_of(
    st.builds(_renew, IDS, WORKERS),
    st.integers(1, 3).map(lambda n: Named("undo", (n,), lambda s: s.undo(n))),
    st.integers(1, 3).map(lambda n: Named("redo", (n,), lambda s: s.redo(n))),
    st.sampled_from(
        [
            Named("clear", (), lambda s: s.clear()),
            Named("set_plan", (), lambda s: s.set_plan(PLAN)),
            Named("clear_plan", (), lambda s: s.clear_plan()),
            Named("plan_to_todos", (), lambda s: s.plan_to_todos()),
            Named("plan mode on", (), lambda s: s.set_plan_mode(True)),
            Named("sub-agent", (), lambda s: s.agent("sub-1").add("of the sub-agent")),
            Named("sub-agent undo", (), lambda s: s.agent("sub-1").undo()),
        ]
    ),
)
STORIES = st.lists(st.one_of(CHANGES, CHANGES, CHANGES, OTHER_STEPS), max_size=12)


def tell(session: Session, story: list[Named]) -> None:
    """Sends the changes, those that are refused included."""
    for step in story:
        attempt(session, step)


def attempt(session: Session, step: Step) -> HeadwayError | None:
    try:
        step(session)
    except HeadwayError as error:
        return error
    return None
