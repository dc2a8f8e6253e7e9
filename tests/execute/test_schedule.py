"""Which item runs next: the same as if everything were looked at anew in each step, whatever others do to the list."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from headway.core.model import Priority, Status, Todo, replace_fields
from headway.execute.schedule import Schedule
from headway.views.plan import parse_minutes

List = dict[str, Todo]
RANKS = {Priority.HIGH: 0, Priority.MEDIUM: 1, None: 1, Priority.LOW: 2}
TIMES = ("5min", "1h", "2h 30min", "3 days")
MODULES = (None, None, "core", "docs")


# a naive reference


def takes(todo: Todo) -> bool:
    return todo.status in (Status.PENDING, Status.BLOCKED)


def longest(items: List, todo_id: str, weights: dict[str, float]) -> float:
    """The longest chain that begins with an item, looked for anew."""
    after = [other.id for other in items.values() if todo_id in other.depends_on]
    return weights[todo_id] + max((longest(items, other, weights) for other in after), default=0.0)


def runnable(items: List, gone: Iterable[str], busy: Iterable[str]) -> list[Todo]:
    done = {todo.id for todo in items.values() if todo.status is Status.COMPLETED}
    return [
        todo
        for todo in items.values()
        if takes(todo) and todo.id not in gone and {*todo.depends_on} <= done and todo.module not in {*busy}
    ]


def naive(items: List, gone: Iterable[str], busy: Iterable[str], *, in_order: bool) -> Todo | None:
    found = runnable(items, gone, busy)
    if in_order or not found:
        return found[0] if found else None
    times = {todo.id: parse_minutes(todo.estimated_time) for todo in items.values()}
    weights = {key: 1.0 if None in times.values() or time is None else time for key, time in times.items()}
    places = {todo_id: place for place, todo_id in enumerate(items)}
    return min(found, key=lambda t: (RANKS[t.priority], -longest(items, t.id, weights), places[t.id]))


# lists, and what happens to them


@st.composite
def lists(draw: st.DrawFn, most: int = 7) -> List:
    timed = draw(st.booleans())
    items: List = {}
    for number in range(draw(st.integers(1, most))):
        needs = draw(st.sets(st.sampled_from(sorted(items)), max_size=3)) if items else set[str]()
        items[f"i{number}"] = Todo(
            f"i{number}",
            "Do it",
            status=draw(st.sampled_from([Status.PENDING] * 6 + [Status.COMPLETED, Status.CANCELLED, Status.BLOCKED])),
            priority=draw(st.sampled_from([*Priority, None])),
            module=draw(st.sampled_from(MODULES)),
            depends_on=tuple(sorted(needs)),
            estimated_time=draw(st.sampled_from(TIMES)) if timed else None,
        )
    shuffled = draw(st.permutations(sorted(items)))
    return {todo_id: items[todo_id] for todo_id in shuffled}


def _set(items: List, at: int, **fields: object) -> List:
    todo_id = [*items][at % len(items)]
    return {**items, todo_id: replace_fields(items[todo_id], fields)}


def _drop(items: List, at: int) -> List:
    gone = [*items][at % len(items)]
    rest = [todo for todo in items.values() if todo.id != gone]
    return {t.id: replace(t, depends_on=tuple(node for node in t.depends_on if node != gone)) for t in rest}


def _move(items: List, at: int, to: int) -> List:
    names = [*items]
    names.insert(to % len(names), names.pop(at % len(names)))
    return {name: items[name] for name in names}


def _add(items: List, number: int, needs: int) -> List:
    name = f"n{number}"
    if name in items:
        return items
    return {**items, name: Todo(name, "Do it", depends_on=([*items][needs % len(items)],) if items else ())}


def _depend(items: List, at: int, on: int) -> List:
    """Only on what was made before, so that no circle comes about."""
    names = sorted(items)
    one, other = names[at % len(names)], names[on % len(names)]
    return _set(items, [*items].index(one), depends_on=(other,) if other < one else ())


Edit = Callable[[List], List]
_AT = st.integers(0, 20)
_FIELDS: dict[str, tuple[object, ...]] = {
    "status": (*Status, Status.COMPLETED, Status.COMPLETED, Status.PENDING),
    "priority": (*Priority, None),
    "module": MODULES,
    "estimated_time": (None, *TIMES),
    "content": ("Do it well", "Do it again"),
}


def edit_of(name: str, at: int, other: int) -> Edit:
    """An edit of a person: of a field, or of the list."""
    whole: dict[str, Callable[[List, int, int], List]] = {
        "drop": lambda items, at, other: _drop(items, at),
        "move": _move,
        "add": _add,
        "depend": _depend,
    }

    def edit(items: List) -> List:
        if name in whole:
            return whole[name](items, at, other)
        return _set(items, at, **{name: _FIELDS[name][other % len(_FIELDS[name])]})

    return edit


EDITS: st.SearchStrategy[Edit] = st.builds(
    edit_of, st.sampled_from([*_FIELDS, "status", "drop", "move", "add", "depend"]), _AT, _AT
)


@dataclass
class Runner:
    """Takes items as an execution does: what it took is in progress from then on, until it ends."""

    items: List
    in_order: bool
    schedule: Schedule = field(init=False)

    def __post_init__(self) -> None:
        self.schedule = Schedule(takes, in_order=self.in_order)
        self.schedule.update(self.items)

    def change(self, edit: Edit) -> None:
        changed = edit(self.items) if self.items else self.items
        if changed:
            self.items = changed
            self.schedule.update(self.items)

    def busy(self) -> set[str]:
        working = {todo.module for todo in self.items.values() if todo.status is Status.IN_PROGRESS}
        return {module for module in working if module is not None}

    def step(self) -> Todo | None:
        """What the schedule takes, checked against the reference."""
        busy = self.busy()
        wanted = naive(self.items, (), busy, in_order=self.in_order)
        taken = self.schedule.take_next(busy)
        assert taken is wanted
        if taken is not None:
            self.change(lambda items: {**items, taken.id: replace(taken, status=Status.IN_PROGRESS)})
        return taken

    def end(self, status: Status) -> None:
        """The first item that is being worked on ends."""
        working = [todo for todo in self.items.values() if todo.status is Status.IN_PROGRESS]
        if working:
            done = replace(working[0], status=status)
            self.change(lambda items: {**items, done.id: done})
            if done.module is not None:
                self.schedule.release_module(done.module)

    def free_all(self) -> None:
        """Someone else may have ended what was being worked on."""
        for module in {"core", "docs"} - self.busy():
            self.schedule.release_module(module)


ENDS = st.sampled_from([Status.COMPLETED, Status.COMPLETED, Status.PENDING, Status.BLOCKED, Status.CANCELLED])


@given(lists(), st.booleans(), st.lists(st.one_of(st.just("take"), ENDS), max_size=25))
def test_it_takes_what_looking_at_everything_anew_would_take(
    items: List, in_order: bool, story: list[Status | str]
) -> None:
    runner = Runner(items, in_order)
    for step in story:
        if isinstance(step, Status):
            runner.end(step)
        else:
            runner.step()


@given(lists(), st.booleans(), st.lists(st.one_of(st.just("take"), ENDS, EDITS), max_size=25))
def test_a_list_that_others_edit_meanwhile_is_never_overlooked(
    items: List, in_order: bool, story: list[Status | str | Edit]
) -> None:
    runner = Runner(items, in_order)
    for step in story:
        if isinstance(step, Status):
            runner.end(step)
        elif isinstance(step, str):
            runner.free_all()
            runner.step()
        else:
            runner.change(step)
            assert runner.schedule.count_left == sum(takes(todo) for todo in runner.items.values())


@given(lists(), st.booleans(), st.lists(EDITS, max_size=8))
def test_a_schedule_that_was_kept_up_to_date_is_as_one_that_was_made_anew(
    items: List, in_order: bool, edits: list[Edit]
) -> None:
    runner = Runner(items, in_order)
    for edit in edits:
        runner.change(edit)
    fresh = Schedule(takes, in_order=in_order)
    fresh.update(runner.items)
    while True:
        one, other = runner.schedule.take_next(), fresh.take_next()
        assert one is other
        if one is None:
            break
    assert runner.schedule.count_left == fresh.count_left


@given(lists(most=9), st.integers(1, 4))
def test_all_is_done_no_later_than_any_list_scheduling_may_take(items: List, workers: int) -> None:
    """At most (work + (workers - 1) * longest chain) / workers, as for everyone who never idles without need."""
    items = {t.id: replace(t, status=Status.PENDING, module=None, priority=None) for t in items.values()}
    times = {todo.id: parse_minutes(todo.estimated_time) or 1.0 for todo in items.values()}
    runner = Runner(items, in_order=False)
    working: dict[str, float] = {}
    now = 0.0
    while True:
        while len(working) < workers and (taken := runner.step()) is not None:
            working[taken.id] = now + times[taken.id]
        if not working:
            break
        first = min(working, key=lambda todo_id: working[todo_id])
        now = working.pop(first)
        runner.change(lambda items, first=first: {**items, first: replace(items[first], status=Status.COMPLETED)})
    chain = max(longest(items, todo_id, times) for todo_id in items)
    assert all(todo.status is Status.COMPLETED for todo in runner.items.values())
    assert now <= (sum(times.values()) + (workers - 1) * chain) / workers + 1e-6
    assert now >= max(chain, sum(times.values()) / workers) - 1e-6


def test_an_item_is_taken_only_when_it_can_run() -> None:
    items = {"a": Todo("a", "Do a"), "b": Todo("b", "Do b", depends_on=("a",), module="core")}
    schedule = Schedule(takes, in_order=True)
    schedule.update(items)
    assert schedule.take("b") is None
    assert schedule.take("x") is None
    assert schedule.take("a") is items["a"]
    assert schedule.take("a") is None, "it is taken once"
    items = {**items, "a": replace(items["a"], status=Status.COMPLETED)}
    schedule.update(items)
    assert schedule.take("b", ["core"]) is None
    assert schedule.take("b") is items["b"]


class Counting(dict[str, Todo]):
    """A list that counts how many of its items were looked up."""

    looked = 0

    def __getitem__(self, key: str) -> Todo:
        Counting.looked += 1
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None, /) -> Any:
        Counting.looked += 1
        return super().get(key)


def test_a_step_looks_up_as_many_items_in_a_long_list_as_in_a_short_one() -> None:
    counts: list[int] = []
    for size in (10, 1_000):
        items = Counting({f"i{n}": Todo(f"i{n}", "Do it", depends_on=(f"i{n - 1}",) if n else ()) for n in range(size)})
        schedule = Schedule(takes, in_order=False)
        schedule.update(items)
        Counting.looked = 0
        for _step in range(5):
            taken = schedule.take_next()
            assert taken is not None
            items = Counting({**items, taken.id: replace(taken, status=Status.COMPLETED)})
            schedule.update(items)
        counts.append(Counting.looked)
    assert counts[0] == counts[1]
