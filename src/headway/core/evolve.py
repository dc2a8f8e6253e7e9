"""`evolve(state, event)`: the state after an event. Pure, and total over every event that `decide` returns."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from headway.core import delta as deltas
from headway.core.events import CompletionLogged, Event, LeaseRenewed, ListDelta, PlanModeChanged, PlanUpdated, RunData
from headway.core.model import MODEL, CompletionLog, State, TodoList, is_person, parse_id_number, replace_fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from headway.core.runs import Run


def evolve(state: State, event: Event) -> State:
    data = event.data
    lists, plan, plan_mode, log = state.lists, state.plan, state.plan_mode, state.completion_log
    runs, conversations = state.runs, state.conversations
    if isinstance(data, ListDelta):
        lists = {**lists, event.agent: _apply_delta(state.list_of(event.agent), event, data)}
        if run := runs.get(event.agent):
            from headway.core.tracking import track_list_change

            runs = {**runs, event.agent: track_list_change(run, data, event.actor)}
    elif not data.affects_state:
        pass
    elif isinstance(data, RunData):
        lists, runs, conversations = _load_evolve_run()(state, event)
    elif isinstance(data, LeaseRenewed):
        lists = {**lists, event.agent: _renew_lease(state.list_of(event.agent), data)}
    elif isinstance(data, PlanUpdated):
        plan = data.plan
    elif isinstance(data, PlanModeChanged):
        plan_mode = data.on
    elif isinstance(data, CompletionLogged):
        log = CompletionLog(data.path, data.blocks, data.last)
    weight = state.weight + (deltas.weigh_delta(data) if isinstance(data, ListDelta) else 1)
    return State(event.version, lists, plan, plan_mode, log, weight, runs, conversations)


@cache
def _load_evolve_run() -> Callable[
    [State, Event], tuple[dict[str, TodoList], dict[str, Run], dict[str, tuple[int, int]]]
]:
    """Loaded only where there is a run; looked for once, since a run has many events."""
    from headway.core.runs import evolve_run

    return evolve_run


def fold(state: State, events: Iterable[Event]) -> State:
    skipped = 0
    for event in events:
        if event.data.affects_state:
            state = evolve(_skip_events(state, skipped) if skipped else state, event)
            skipped = 0
        else:
            skipped += 1
    return _skip_events(state, skipped) if skipped else state


def _skip_events(state: State, skipped: int) -> State:
    """Return the state after so many events of which nothing follows."""
    return State(
        state.version + skipped,
        state.lists,
        state.plan,
        state.plan_mode,
        state.completion_log,
        state.weight + skipped,
        state.runs,
        state.conversations,
    )


def _apply_delta(old: TodoList, event: Event, delta: ListDelta) -> TodoList:
    title, summary, kept_by_loop = old.title, old.summary, old.kept_by_loop
    if delta.about:
        title = str(delta.about.get("title", (None, title))[1])
        after = delta.about.get("summary", (None, summary))[1]
        summary = None if after is None else str(after)
        kept_by_loop = bool(delta.about.get("kept_by_loop", (None, kept_by_loop))[1])
    number = old.next_number
    for todo in delta.added:
        number = max(number, parse_id_number(todo.id) + 1)
    undo, redo, open_step = event.version, 0, old.open_step
    if delta.partial:
        # An execution has its place in undo where it begins, below what people do meanwhile.
        begins = delta.cause == "execute" and not old.open_step and delta.other == old.undo
        undo, redo, open_step = event.version if begins else old.undo, old.redo, event.version
    elif delta.cause == "undo":
        undo, redo = delta.other, event.version
    elif delta.cause == "redo":
        redo = delta.other
    elif delta.cause == "interrupt":
        redo = old.redo
    elif delta.cause in ("rollback", "verify"):  # of an old log, which does not say how its files come back; evidence
        undo, redo = old.undo, old.redo
    items = deltas.apply_delta(old.items, delta)
    while f"t{number}" in items:
        number += 1
    workers = old.workers | {event.actor} if delta.cause == "claim" else old.workers
    created_at = old.created_at or event.at
    return TodoList(
        items,
        title,
        summary,
        created_at,
        event.at,
        number,
        undo,
        redo,
        open_step,
        workers,
        kept_by_loop,
        changed_in=event.version,
        edited_in=event.version if is_person(event.actor) else old.edited_in,
        others_in=old.others_in if event.actor == MODEL else event.version,
    )


def _renew_lease(old: TodoList, data: LeaseRenewed) -> TodoList:
    items = dict(old.items)
    if todo := items.get(data.todo_id):
        items[data.todo_id] = replace_fields(todo, {"lease_until": data.until})
    return replace(old, items=items)
