"""`decide(state, command)`: the events that follow from a command, or an error that says why there are none.

Pure, and total: every command ends in events (none if it changes nothing) or in a `HeadwayError`. All rules of the list
are applied here, whoever asks.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial

from headway.core import commands
from headway.core import delta as deltas
from headway.core import events as ev
from headway.core.clock import add_seconds
from headway.core.errors import ClaimRefused, HeadwayError, InvalidTodos, NoPlan, StoreConflict, TodoNotFound
from headway.core.events import Event, ListDelta, Splice
from headway.core.evolve import evolve
from headway.core.graph import PRIORITY_ORDER, is_ready
from headway.core.model import DEFAULT_TITLE, FINISHED, MODEL, State, Status, Todo, TodoList, is_person, replace_fields
from headway.core.replace import check_dependencies, create_todo, drop_status, patch_todo, remove_todos, replace_todos
from headway.core.rules import FULL, Fault, check_text, check_todo, check_todos, has_field, wire_name
from headway.core.text import sanitize_for_display, trim_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from headway.core.evidence import Evidence
    from headway.core.replace import KeepsState
    from headway.core.rules import Patch
    from headway.core.runs import Run

KEPT_BY_LOOP = frozenset({"create", "plan"})
"""Replacements after which an agent's loop keeps the list; after any other, whoever wrote it says what is done."""
RESUMED_LEASE = 300.0
"""Seconds for which a worker holds an item of its own that it takes up again."""


def decide(
    state: State, command: commands.Command, check_results: Mapping[str, Evidence | str] | None = None
) -> list[Event]:
    """`check_results`: todo → what its check showed, where Headway runs checks before a model completes todos."""
    todo_list = state.list_of(command.agent)
    match command:
        case commands.RunCommand():
            return _load_decide_run()(state, command)
        case commands.RevertSteps():
            return _revert(state, command)
        case commands.SetPlan():
            from headway.core.plans import check_plan

            plan = check_plan(command.plan)
            return _event_unless(plan == state.plan, state, command, ev.PlanUpdated(plan=plan))
        case commands.ClearPlan():
            return _event_unless(state.plan is None, state, command, ev.PlanUpdated(plan=None))
        case commands.SetPlanMode():
            same = command.on == state.plan_mode
            return _event_unless(same, state, command, ev.PlanModeChanged(on=command.on))
        case commands.LogCompletion():
            log = command.log
            return [_new_event(state, command, ev.CompletionLogged(path=log.path, blocks=log.blocks, last=log.last))]
        case commands.Renew():
            return _renew(state, todo_list, command)
        case _:
            delta = _list_delta(todo_list, command, state)
            return [] if delta is None else _list_events(state, todo_list, command, delta, check_results)


@cache
def _load_decide_run() -> Callable[[State, commands.RunCommand], list[Event]]:
    """Loaded only where there is a run; looked for once, since a run makes many changes."""
    from headway.core.decide_runs import decide_run

    return decide_run


def _new_event(state: State, command: commands.Command, data: ev.EventData) -> Event:
    return Event(state.version + 1, command.at, command.agent, command.actor, data)


def _event_unless(same: bool, state: State, command: commands.Command, data: ev.EventData) -> list[Event]:
    return [] if same else [_new_event(state, command, data)]


def _list_events(
    state: State,
    todo_list: TodoList,
    command: commands.Command,
    delta: ListDelta,
    check_results: Mapping[str, Evidence | str] | None,
) -> list[Event]:
    if deltas.is_empty(delta):
        return []
    _keep_checks(todo_list, delta, command.actor)
    run = state.runs.get(command.agent)
    if run is not None and any("status" in fields for fields in delta.changed.values()):
        from headway.core.tracking import clear_tracker_notes

        delta = clear_tracker_notes(delta, todo_list.items, run, command.actor)
    if run is not None and run.is_active and run.round:
        from headway.core.tracking import add_check_results, add_evidence, add_rounds, list_without_evidence

        delta = add_evidence(add_rounds(delta, todo_list.items, run.round), run, command.actor)
        if check_results is not None and command.actor == MODEL:
            delta = add_check_results(delta, todo_list.items, check_results)
        if asked := list_without_evidence(delta, run, command.actor):
            from headway.core.run_events import EvidenceAsked

            return [_new_event(state, command, EvidenceAsked(item_ids=tuple(asked)))]
    return [_new_event(state, command, deltas.link_delta(delta, todo_list.undo))]


def _keep_checks(todo_list: TodoList, delta: ListDelta, actor: str) -> None:
    """Refuse to change, unless a person does, the check of an item on which work has begun."""
    if is_person(actor):
        return
    changed = [todo_list.items[todo_id] for todo_id, fields in delta.changed.items() if "verify" in fields]
    begun = [
        sanitize_for_display(todo.id, 40) for todo in changed if todo.started_at or todo.status is Status.IN_PROGRESS
    ]
    if begun:
        why = "Cannot be changed once work on the item has started; leave it unchanged, or ask the user"
        raise InvalidTodos([f"{todo_id}.verify: {why}" for todo_id in begun])


def _list_delta(todo_list: TodoList, command: commands.Command, state: State) -> ListDelta | None:
    match command:
        case commands.Write():
            return _write(todo_list, command, _run_of_writer(state, command))
        case commands.PlanToTodos():
            if state.plan is None:
                raise NoPlan
            from headway.core.plans import to_todo_items

            write = commands.Write(
                command.agent, command.actor, command.at, to_todo_items(state.plan), FULL, True, "plan", {}
            )
            return _write(todo_list, write)
        case commands.Update():
            return _update(todo_list, command)
        case commands.Advance():
            return _advance(todo_list, command)
        case commands.RecordCheck():
            touched = replace_fields(_get_todo(todo_list, command.todo_id), {"evidence": command.evidence})
            return _delta_of_touched(todo_list, [touched], "verify")
        case commands.Add():
            return _add(todo_list, command)
        case commands.Move():
            return _move(todo_list, command)
        case commands.Drop():
            return _drop(todo_list, command)
        case commands.Claim():
            return _claim(todo_list, command)
        case commands.Release():
            return _release(todo_list, command)
        case _:
            raise HeadwayError(f"Unknown command {type(command).__name__}.")


def _get_todo(todo_list: TodoList, todo_id: str) -> Todo:
    todo = todo_list.items.get(todo_id)
    if todo is None:
        raise TodoNotFound(todo_id, todo_list.items)
    return todo


def _run_of_writer(state: State, command: commands.Write) -> Run | None:
    """Return the run whose model writes the list, if it is one that goes on."""
    run = state.runs.get(command.agent)
    return run if command.actor == MODEL and run is not None and run.is_active else None


def _find_kept_states(run: Run | None) -> KeepsState | None:
    """Return which states a rewrite by a run's model leaves alone: those that a person set since."""
    if run is None or not run.set_by_user:
        return None
    from headway.core.tracking import repeats_older_state

    return partial(repeats_older_state, run)


def _shown_as_pending(run: Run | None) -> frozenset[str]:
    if run is None or not run.shown_statuses:
        return frozenset()
    from headway.core.tracking import shown_as_pending

    return shown_as_pending(run)


def _write(todo_list: TodoList, command: commands.Write, run: Run | None = None) -> ListDelta:
    faults: list[str] = []
    whole: list[str] = []
    patches = check_todos(command.items, command.shape, faults, whole)
    updating = not command.replace and patches and all(patch.get("id") in todo_list.items for patch in patches)
    if not updating and not all(has_field(patches, "content")):
        faults.clear()
        check_todos(command.items, command.shape, faults, [], new=True)
    about = _check_list_fields(todo_list, command.about, whole)
    if faults or whole:
        raise InvalidTodos(faults + whole)
    if updating:
        delta = _smart_update(todo_list, patches, command, _find_kept_states(run))
    else:
        delta = deltas.to_delta(todo_list.items, _replacement(todo_list, patches, command, run), command.cause)
        delta = _refuse_touching_others(todo_list, delta, command)
        kept, keep = todo_list.kept_by_loop, command.cause in KEPT_BY_LOOP
        # A list that is only sent again stays whose it was; one that is created again is the loop's from then on.
        if kept != keep and (keep or about or not deltas.is_empty(delta)):
            about["kept_by_loop"] = (kept, keep)
    return deltas.with_list_fields(delta, about) if about else delta


def _check_list_fields(
    todo_list: TodoList, about: Mapping[str, str | None], faults: list[str]
) -> dict[str, tuple[object, object]]:
    changed: dict[str, tuple[object, object]] = {}
    for name, value in about.items():
        before = getattr(todo_list, name)
        try:
            text = None if value is None else check_text(value)
        except Fault as fault:
            faults.append(f"{name}: {fault}")
            continue
        wanted = text or (DEFAULT_TITLE if name == "title" else None)
        if before != wanted:
            changed[name] = (before, wanted)
    return changed


def _replacement(todo_list: TodoList, patches: list[Patch], command: commands.Write, run: Run | None) -> list[Todo]:
    keeps, pending = _find_kept_states(run), _shown_as_pending(run)
    items = replace_todos(todo_list, patches, command.at, command.shape.statuses, keeps, pending)
    if any(has_field(patches, "depends_on")):
        check_dependencies(items, wire_name(command.shape, "depends_on"))
    return items


def _smart_update(
    todo_list: TodoList, patches: list[Patch], command: commands.Write, keeps: KeepsState | None
) -> ListDelta:
    touched: dict[str, Todo] = {}
    for patch in patches:
        todo_id = str(patch["id"])
        todo = touched.get(todo_id, todo_list.items[todo_id])
        if keeps is not None and keeps(todo, patch.get("status")):
            patch = drop_status(patch)
        if not is_person(command.actor):
            patch = _restrict_to_worker(todo_list, todo, patch, command)
        touched[todo_id] = patch_todo(todo, patch, command.at)
    if any(has_field(patches, "depends_on")):
        check_dependencies(list({**todo_list.items, **touched}.values()), wire_name(command.shape, "depends_on"))
    return _delta_of_touched(todo_list, touched.values(), "update")


def _delta_of_touched(todo_list: TodoList, touched: Iterable[Todo], cause: str) -> ListDelta:
    """Return the delta of a change that keeps the order and touches only these items."""
    changed = {todo.id: deltas.field_changes(todo_list.items[todo.id], todo) for todo in touched}
    return ListDelta(cause=cause, changed={todo_id: fields for todo_id, fields in changed.items() if fields})


def _update(todo_list: TodoList, command: commands.Update) -> ListDelta:
    todo = _get_todo(todo_list, command.todo_id)
    patch = _check_fields(command.fields, sanitize_for_display(command.todo_id, 40))
    if command.as_worker:
        patch = _restrict_to_worker(todo_list, todo, patch, command)
    touched = patch_todo(todo, patch, command.at)
    if "depends_on" in patch:
        check_dependencies(list({**todo_list.items, todo.id: touched}.values()))
    return _delta_of_touched(todo_list, [touched], "update")


def _advance(todo_list: TodoList, command: commands.Advance) -> ListDelta:
    from headway.core.advance import apply_steps

    def restrict(todo: Todo, patch: Patch) -> Patch:
        return patch if is_person(command.actor) else _restrict_to_worker(todo_list, todo, patch, command)

    delta = deltas.to_delta(todo_list.items, apply_steps(todo_list, command, restrict), "advance")
    return _refuse_touching_others(todo_list, delta, command)


def _check_fields(fields: Mapping[str, object], path: str) -> Patch:
    faults: list[str] = []
    patch = check_todo(dict(fields), FULL, path, faults)
    if "id" in patch:
        faults.append(f"{path}.id: Cannot be changed")
    if faults:
        raise InvalidTodos(faults)
    return patch


def _restrict_to_worker(todo_list: TodoList, todo: Todo, patch: Patch, command: commands.Command) -> Patch:
    """Return the patch, or refuse it: a worker changes nothing of another's, and finishes only what it still holds."""
    name, actor = sanitize_for_display(todo.id, 40), sanitize_for_display(command.actor)
    if any(patch.get(field, getattr(todo, field)) != getattr(todo, field) for field in ("owner", "lease_until")):
        raise ClaimRefused(f"'{name}' cannot get an owner from '{actor}'; claim it instead.")
    status = patch.get("status")
    if todo.owner is None:
        if command.actor in todo_list.workers and (status in FINISHED or status is Status.BLOCKED):
            raise ClaimRefused(f"'{name}' is not claimed by '{actor}'; claim it before finishing it.")
        return patch
    _refuse_others(todo, command)
    if todo.lease_until and todo.lease_until <= command.at:
        raise ClaimRefused(
            f"The lease of '{actor}' on '{name}' ran out at {todo.lease_until};"
            " renew it or claim it again before changing it."
        )
    if status is Status.IN_PROGRESS and todo.status is not Status.IN_PROGRESS:
        return {**patch, "owner": command.actor, "lease_until": add_seconds(command.at, RESUMED_LEASE)}
    return patch


def _refuse_others(todo: Todo, command: commands.Command) -> None:
    """Refuse a worker's change of what another one holds or finished."""
    if todo.owner is not None and todo.owner != command.actor:
        held = "is claimed by" if todo.status is Status.IN_PROGRESS else "was last worked on by"
        raise ClaimRefused(
            f"'{sanitize_for_display(todo.id, 40)}' {held} '{sanitize_for_display(todo.owner)}', not "
            f"'{sanitize_for_display(command.actor)}'; claim another item."
        )


def _refuse_touching_others(todo_list: TodoList, delta: ListDelta, command: commands.Command) -> ListDelta:
    """The delta, unless a worker would drop with it, or set the state of, what another one has."""
    if command.actor in todo_list.workers:
        states = [todo_id for todo_id, fields in delta.changed.items() if "status" in fields or "content" in fields]
        for todo in (*delta.removed, *(todo_list.items[todo_id] for todo_id in states)):
            _refuse_others(todo, command)
    return delta


def _add(todo_list: TodoList, command: commands.Add) -> ListDelta:
    fields = dict(command.fields)
    wanted = fields.pop("id", None)
    patch = _check_fields(fields, "todo")
    if "content" not in patch:
        raise InvalidTodos(["todo.content: Required"])
    todo_id = f"t{todo_list.next_number}"
    if wanted is not None:
        todo_id = trim_text(wanted) if isinstance(wanted, str) else ""
        if not todo_id or todo_id in todo_list.items:
            problem = "Already in the list" if todo_id else "Expected a non-blank string"
            raise InvalidTodos([f"todo.id: {problem}"])
    place = len(todo_list.items)
    if command.after is not None:
        place = list(todo_list.items).index(_get_todo(todo_list, command.after).id) + 1
    new = create_todo(todo_id, patch, command.at)
    if new.depends_on:
        # An id that is given only now is one that nobody can have meant.
        checked = new if wanted is not None else replace_fields(new, {"id": ""})
        check_dependencies([*todo_list.items.values(), checked], path={checked.id: "todo.depends_on"})
    return ListDelta(cause="add", added=(new,), order=Splice(place, (), (new.id,)))


def _move(todo_list: TodoList, command: commands.Move) -> ListDelta:
    todo = _get_todo(todo_list, command.todo_id)
    total = len(todo_list.items)
    if type(command.position) is not int or not 1 <= command.position <= total:
        raise InvalidTodos([f"position: Must be from 1 to {total}, received {sanitize_for_display(command.position)}"])
    items = [other for other in todo_list.items.values() if other is not todo]
    items.insert(command.position - 1, todo)
    return deltas.to_delta(todo_list.items, items, "move")


def _drop(todo_list: TodoList, command: commands.Drop) -> ListDelta:
    todo = _get_todo(todo_list, command.todo_id)
    delta = deltas.to_delta(todo_list.items, remove_todos(todo_list.items, {todo.id}), "drop")
    return _refuse_touching_others(todo_list, delta, command)


def _claim(todo_list: TodoList, command: commands.Claim) -> ListDelta | None:
    """Claim the next runnable item, highest priority first; one whose lease ran out counts as runnable."""
    best: Todo | None = None
    for todo in todo_list.items.values():
        if not is_ready(todo, todo_list.items, command.at):
            continue
        if best is None or PRIORITY_ORDER[todo.priority] < PRIORITY_ORDER[best.priority]:
            best = todo
    if best is None:
        return None
    claimed: Patch = {
        "status": Status.IN_PROGRESS,
        "owner": command.actor,
        "lease_until": add_seconds(command.at, command.lease),
        "started_at": best.started_at or command.at,
        "interrupted": False,
    }
    return _delta_of_touched(todo_list, [patch_todo(best, claimed, command.at)], "claim")


def _get_claimed(todo_list: TodoList, todo_id: str, actor: str) -> Todo:
    todo = _get_todo(todo_list, todo_id)
    if todo.owner != actor or todo.status is not Status.IN_PROGRESS:
        holder = f"it is {todo.status}" if todo.owner is None else f"its owner is '{sanitize_for_display(todo.owner)}'"
        raise ClaimRefused(
            f"'{sanitize_for_display(todo_id, 40)}' is not claimed by "
            f"'{sanitize_for_display(actor)}': {holder}; claim it first."
        )
    return todo


def _renew(state: State, todo_list: TodoList, command: commands.Renew) -> list[Event]:
    todo = _get_claimed(todo_list, command.todo_id, command.actor)
    until = add_seconds(command.at, command.lease)
    return _event_unless(until == todo.lease_until, state, command, ev.LeaseRenewed(todo_id=todo.id, until=until))


def _release(todo_list: TodoList, command: commands.Release) -> ListDelta:
    todo = _get_claimed(todo_list, command.todo_id, command.actor)
    return _delta_of_touched(todo_list, [patch_todo(todo, {"status": Status.PENDING}, command.at)], "release")


def _revert(state: State, command: commands.RevertSteps) -> list[Event]:
    made: list[Event] = []

    def add(data: ev.EventData) -> None:
        nonlocal state
        made.append(_new_event(state, command, data))
        state = evolve(state, made[-1])

    for step, files in zip(command.steps, command.files, strict=True):
        todo_list = state.list_of(command.agent)
        next_step, last = todo_list.undo, todo_list.redo
        if command.cause == "redo":
            next_step, last = last, next_step
        if step.version != next_step:
            raise StoreConflict("The list changed in the meantime; try again.")
        of = step.origin.version
        if files is None:
            add(deltas.link_delta(step.delta, last, step.previous, of=of))
            continue
        changed = not deltas.is_empty(step.delta)
        if changed:
            add(deltas.link_delta(step.delta, 0, partial=True))
        at = state.version if changed else 0
        add(replace(files, step=at, previous=last, other=step.previous, of=of))
    return made
