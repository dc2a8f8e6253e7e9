"""Tracking: what a tool call means for the list. Pure; `runs` turns it into events.

A call is recorded on the active item. On a list that the loop keeps, it may also activate, complete, block or unblock
one; it never completes one without a successful call of a matching kind. What a model set in a round is never undone
in it, and what a person set is not for the rest of the run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from headway.core.graph import is_ready, list_ready
from headway.core.model import (
    EXECUTOR,
    FINISHED,
    JUDGE,
    LOOP,
    MODEL,
    TRACKER,
    Status,
    Todo,
    TodoList,
    is_inferred,
    is_person,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

    from headway.core.events import ListDelta
    from headway.core.evidence import Evidence
    from headway.core.run_events import ToolFinished, ToolStarted
    from headway.core.runs import Run

MANUAL, AUTO, JUDGED = "manual", "auto", "judge"
TODO_EFFECT = "todo"
_WRITE, _EXECUTE = "write", "execute"
_OURS = frozenset({MODEL, TRACKER, JUDGE})
"""Whose starts are this run's own."""
ANEW = frozenset({"create", "plan"})
"""Causes of a list that begins anew, also if items of the old one are in it."""
_KEEPS_COUNTS = frozenset({TRACKER, LOOP, EXECUTOR})
"""Whose changes of a status go on with the counts of an item; anyone else's begin anew."""


@dataclass(frozen=True, slots=True)
class Policy:
    tracking: str = AUTO
    complete_after: int = 3
    """Successful calls of a matching kind on an item that complete it."""
    block_after: int = 2
    """Failed calls in a row that block it."""


@dataclass(frozen=True, slots=True)
class TodoCalls:
    """Calls on an item since it was last begun."""

    successes: int = 0
    """Of calls of a matching kind."""
    failures: int = 0
    """In a row, of calls of any kind."""
    blocked: bool = False
    """By the tracker: it is still the active one."""
    command: str | None = None
    """The last command that could have failed, if it succeeded after the last edit."""
    files: tuple[str, ...] = ()
    """What was edited, in the order of the first edits."""
    matching_ok: bool = False
    """Whether the last call of a matching kind succeeded."""
    note: str | None = None
    """What the tracker wrote into the item's notes when it blocked it."""

    def add_call(self, ok: bool, matching: bool | None) -> TodoCalls:
        """Add one call. `matching` is None in logs from before kinds counted: there every success does."""
        return replace(
            self,
            successes=self.successes + (ok and matching is not False),
            failures=0 if ok else self.failures + 1,
            matching_ok=ok if matching else self.matching_ok,
        )

    def add_evidence(self, call: ToolFinished) -> TodoCalls:
        """Return the counts with what a call on the item shows."""
        if call.effect == _WRITE and call.ok:
            return replace(self, command=None, files=tuple(dict.fromkeys((*self.files, *call.files))))
        if call.effect == _EXECUTE and not call.denied:
            return self._add_command(call)
        return self

    def _add_command(self, call: ToolFinished) -> TodoCalls:
        from headway.core.command_kinds import CommandKind, classify_command

        kind = call.command_kind or classify_command(call.command or call.tool)
        if kind == CommandKind.READS or (kind == CommandKind.CHECK and call.exit_code is None):
            return self
        shown = call.command or call.tool if kind == CommandKind.CHECK and call.exit_code == 0 else None
        return self if shown == self.command else replace(self, command=shown)

    @property
    def evidence(self) -> Evidence:
        from headway.core.evidence import Evidence, EvidenceLevel

        if self.command is None:
            return Evidence(EvidenceLevel.REPORTED, files=self.files)
        return Evidence(EvidenceLevel.COMMAND_OK, self.command, 0, self.files)


NO_CALLS = TodoCalls()


@dataclass(frozen=True, slots=True)
class RunWork:
    """What all calls of a run come to, whatever item they were on."""

    track: TodoCalls = NO_CALLS
    failed_calls: int = 0
    broken: str = ""
    """Why its last command failed; nothing if it did not."""
    denied: str = ""
    """The first tool that was not allowed; nothing if another call has changed something since."""

    def add_call(self, call: ToolFinished) -> RunWork:
        if call.denied:
            return replace(self, denied=self.denied or call.tool)
        failed = self.failed_calls + (not call.succeeded)
        changes = call.effect in (_WRITE, _EXECUTE) and call.succeeded
        broken = self.broken
        if call.effect == _EXECUTE and call.exit_code is not None:
            broken = f"exit code {call.exit_code}: {call.command or call.tool}" if call.exit_code else ""
        return RunWork(self.track.add_evidence(call), failed, broken, "" if changes else self.denied)


NO_WORK = RunWork()


def is_ours(todo: Todo) -> bool:
    """Not an item that another worker holds."""
    return todo.owner in (None, MODEL)


def find_active_todo(items: Mapping[str, Todo], run: Run | None) -> Todo | None:
    """Return the item in progress that this run began last; else one that the tracker blocked."""
    for todo_id in reversed(run.started) if run is not None else ():
        todo = items.get(todo_id)
        if todo is not None and is_ours(todo) and (todo.status is Status.IN_PROGRESS or _is_blocked(todo, run)):
            return todo
    working = [todo for todo in items.values() if todo.status is Status.IN_PROGRESS and is_ours(todo)]
    if working:
        return max(working, key=lambda todo: todo.started_at or "")
    for todo_id in reversed(run.tracks) if run is not None else ():
        todo = items.get(todo_id)
        if todo is not None and is_ours(todo) and _is_blocked(todo, run):
            return todo
    return None


def _is_blocked(todo: Todo, run: Run | None) -> bool:
    """By the tracker."""
    return todo.status is Status.BLOCKED and run is not None and run.tracks.get(todo.id, NO_CALLS).blocked


def can_tracker_set(todo: Todo, run: Run) -> bool:
    """Return whether the tracker may set the state of the item now."""
    return is_ours(todo) and todo.id not in run.forced and todo.id not in run.set_by_user


def find_matching_todo(items: Mapping[str, Todo], run: Run, call: ToolStarted | ToolFinished) -> Todo | None:
    """Return the first item that can begin now and that the call is likely to be work on."""
    if call.effect in (None, TODO_EFFECT):
        return None
    from headway.core.matching import is_likely_work_on

    for todo in items.values():
        if (
            can_tracker_set(todo, run)
            and is_ready(todo, items)
            and is_likely_work_on(call.tool, call.effect, todo.content, call.command_kind)
        ):
            return todo
    return None


def find_todo_to_start(items: Mapping[str, Todo], run: Run, call: ToolFinished) -> Todo | None:
    """Return the item that work begins under `manual`: only on a list that this run's model wrote or changed."""
    if not run.list_changed or call.effect not in (_WRITE, _EXECUTE) or not call.succeeded:
        return None
    return next((todo for todo in list_ready(items) if can_tracker_set(todo, run)), None)


def is_matching(todo: Todo, call: ToolFinished) -> bool:
    """Return whether the call does the kind of work that the item asks for."""
    from headway.core.matching import is_matching_kind

    return is_matching_kind(call.tool, call.effect, todo.content, call.command_kind)


def decide_after_call(
    todo: Todo, track: TodoCalls, call: ToolFinished, policy: Policy, *, matching: bool
) -> dict[str, object]:
    """Return the fields that change by a call on the active item; `track` counts the call already."""
    if call.denied:
        return {}
    if call.succeeded:
        freed = _clear_tracker_note(todo, track)
        if matching and track.successes >= policy.complete_after and policy.tracking == AUTO:
            return {**freed, **complete_by_tracker(todo)}
        return {**freed, "status": Status.IN_PROGRESS} if todo.status is Status.BLOCKED else {}
    if track.failures >= policy.block_after and todo.status is Status.IN_PROGRESS:
        why = f"{track.failures} calls in a row failed; the last one was {call.tool}."
        return {"status": Status.BLOCKED} if todo.notes else {"status": Status.BLOCKED, "notes": why}
    return {}


def _clear_tracker_note(todo: Todo, track: TodoCalls) -> dict[str, object]:
    """Return the fields of an item without what the tracker wrote when it blocked it."""
    return {"notes": None} if track.note is not None and todo.notes == track.note else {}


def complete_by_tracker(todo: Todo) -> dict[str, object]:
    """Only inferred, unless its check has verified it already."""
    from headway.core.evidence import Evidence, EvidenceLevel

    verified = todo.evidence is not None and todo.evidence.level is EvidenceLevel.VERIFIED
    return {"status": Status.COMPLETED, "evidence": todo.evidence if verified else Evidence(EvidenceLevel.INFERRED)}


def list_overtaken(items: Mapping[str, Todo], run: Run) -> list[Todo]:
    """Return the items that the model worked on and left in progress when it began another one this round."""
    if not run.started or run.started[-1] not in run.forced:
        return []
    working = [items[todo_id] for todo_id in run.started if todo_id in items]
    working = [todo for todo in working if todo.status is Status.IN_PROGRESS]
    return [
        todo
        for todo in working[:-1]
        if can_tracker_set(todo, run)
        and todo.id in run.started_by_model
        and run.tracks.get(todo.id, NO_CALLS).matching_ok
    ]


def is_proposed(todo: Todo, run: Run, policy: Policy) -> bool:
    """Return whether a judge is to be asked if it is done."""
    track = run.tracks.get(todo.id, NO_CALLS)
    return todo.status is Status.IN_PROGRESS and track.successes >= policy.complete_after


def is_settled(todo_list: TodoList) -> bool:
    """Done, and by more than the tracker's word for every item: only that can end a run."""
    return is_done(todo_list) and not any(is_inferred(todo.evidence) for todo in todo_list.items.values())


def is_done(todo_list: TodoList) -> bool:
    """Not empty, and every item completed or cancelled."""
    return bool(todo_list.items) and all(todo.status in FINISHED for todo in todo_list.items.values())


def add_evidence(delta: ListDelta, run: Run, actor: str) -> ListDelta:
    """The delta with what shows that items are done which the run's model, or its judge, calls completed."""
    if actor not in (MODEL, JUDGE):
        return delta
    changed = dict(delta.changed)
    for todo_id in list_completed(delta):
        if "evidence" not in changed[todo_id] or changed[todo_id]["evidence"][1] is None:
            before = changed[todo_id].get("evidence", (None, None))[0]
            changed[todo_id] = {**changed[todo_id], "evidence": (before, run.tracks.get(todo_id, NO_CALLS).evidence)}
    return replace(delta, changed=changed)


def add_check_results(delta: ListDelta, items: Mapping[str, Todo], results: Mapping[str, Evidence | str]) -> ListDelta:
    """Return the delta with what the checks show of the items that it completes.

    Raises `ChecksNeeded` if some have not run.
    """
    from headway.core.errors import ChecksNeeded
    from headway.core.evidence import Evidence

    checked = [todo_id for todo_id in list_completed(delta) if _check_after(delta, items[todo_id])]
    if missing := [todo_id for todo_id in checked if todo_id not in results]:
        raise ChecksNeeded(missing)
    changed = dict(delta.changed)
    for todo_id in checked:
        before, track = changed[todo_id]["evidence"]
        result = results[todo_id]
        assert isinstance(track, Evidence)  # see `add_evidence`
        if isinstance(result, str):
            evidence = replace(track, note=result)
        elif result.level < track.level and result.exit_code == 0:
            evidence = replace(track, note=result.note)
        else:
            evidence = result
        changed[todo_id] = {**changed[todo_id], "evidence": (before, evidence)}
    return replace(delta, changed=changed)


def _check_after(delta: ListDelta, todo: Todo) -> object:
    return delta.changed[todo.id].get("verify", (None, todo.verify))[1]


def list_completed(delta: ListDelta) -> list[str]:
    """Return the ids of the earlier items that the delta completes, or whose completion it confirms."""
    return [
        todo_id
        for todo_id, sides in delta.changed.items()
        if sides.get("status", (0, 0))[1] is Status.COMPLETED
        or ("status" not in sides and is_inferred(sides.get("evidence", (None, None))[0]))
    ]


def list_without_evidence(delta: ListDelta, run: Run, actor: str) -> list[str]:
    """Return the items that the model calls completed though nothing shows it, and about which it was not told yet."""
    if not run.require_evidence or actor != MODEL:
        return []
    from headway.core.evidence import Evidence, EvidenceLevel

    required = EvidenceLevel.COMMAND_OK if run.require_evidence is True else EvidenceLevel(run.require_evidence)

    def is_shown(todo_id: str) -> bool:
        evidence = delta.changed[todo_id].get("evidence", (None, None))[1]
        return isinstance(evidence, Evidence) and evidence.level >= required

    return [todo_id for todo_id in list_completed(delta) if todo_id not in run.asked and not is_shown(todo_id)]


def add_rounds(delta: ListDelta, items: Mapping[str, Todo], round: int) -> ListDelta:
    """Return the delta with the rounds in which items begin and end.

    Rounds are counted by run: what goes on in a later run than it began in counts as begun in that one.
    """
    from headway.core.events import ListDelta
    from headway.core.model import replace_fields

    changed = dict(delta.changed)
    for todo_id, fields in delta.changed.items():
        if "status" not in fields:
            continue
        todo, status = items[todo_id], fields["status"][1]
        began = todo.started_at_round
        starts = status is Status.IN_PROGRESS and (began is None or todo.interrupted)
        is_later = status in _ROUND_OF and began is not None and began > round
        if "started_at_round" not in fields and (starts or is_later):
            fields = {**fields, "started_at_round": (began, round)}
        if status is Status.COMPLETED and "completed_at_round" not in fields:
            fields = {**fields, "completed_at_round": (todo.completed_at_round, round)}
        changed[todo_id] = fields
    added = tuple(
        replace_fields(todo, {name: round})
        if (name := _ROUND_OF.get(todo.status)) and getattr(todo, name) is None
        else todo
        for todo in delta.added
    )
    return ListDelta(
        cause=delta.cause,
        added=added,
        removed=delta.removed,
        changed=changed,
        order=delta.order,
        about=delta.about,
        previous=delta.previous,
        other=delta.other,
    )


_ROUND_OF: dict[object, str] = {Status.IN_PROGRESS: "started_at_round", Status.COMPLETED: "completed_at_round"}


def clear_tracker_notes(delta: ListDelta, items: Mapping[str, Todo], run: Run, actor: str) -> ListDelta:
    """Return the delta without the tracker's notes on blocked items to which someone gives another state."""
    if actor == TRACKER:
        return delta
    changed = dict(delta.changed)
    for todo_id, fields in delta.changed.items():
        if "status" in fields and "notes" not in fields:
            todo = items[todo_id]
            for name, value in _clear_tracker_note(todo, run.tracks.get(todo_id, NO_CALLS)).items():
                changed[todo_id] = {**fields, name: (getattr(todo, name), value)}
    return replace(delta, changed=changed)


def repeats_older_state(run: Run, todo: Todo, status: object) -> bool:
    """Return whether a rewrite with this status repeats a state from before a person set the present one."""
    before = run.set_by_user.get(todo.id)
    if before is None or status is todo.status:
        return False
    return status is Status.PENDING or status in before or (status is Status.IN_PROGRESS and bool(todo.started_at))


def shown_as_pending(run: Run) -> frozenset[str]:
    """Return the items that the model was shown as pending, and whose state others changed since."""
    return frozenset(todo_id for todo_id, status in run.shown_statuses.items() if status == Status.PENDING)


def track_list_change(run: Run, delta: ListDelta, actor: str) -> Run:
    """Return the run after a change of its list, whoever made it."""
    now = {todo_id: fields["status"][1] for todo_id, fields in delta.changed.items() if "status" in fields}
    now |= {todo.id: todo.status for todo in delta.added}
    gone = {todo.id for todo in delta.removed}
    list_changed = run.list_changed or actor == MODEL
    if not now and not gone and delta.cause not in ANEW:
        return run if list_changed == run.list_changed else replace(run, list_changed=list_changed)
    anew = delta.cause in ANEW
    tracks = {} if anew else {todo_id: track for todo_id, track in run.tracks.items() if todo_id not in gone}
    for todo_id, status in now.items():
        if actor not in _KEEPS_COUNTS or status in FINISHED:
            tracks.pop(todo_id, None)
        elif actor == TRACKER:
            track = tracks.pop(todo_id, NO_CALLS)  # the last one in order is the one that was last worked on
            note = delta.changed[todo_id].get("notes", (None, None))[1]
            is_blocked = status is Status.BLOCKED
            tracks[todo_id] = replace(track, blocked=is_blocked, note=str(note) if is_blocked and note else None)
    begun = [todo_id for todo_id, status in now.items() if status is Status.IN_PROGRESS] if actor in _OURS else []
    added = {todo.id for todo in delta.added}
    new = {todo_id for todo_id, status in now.items() if status is Status.PENDING and (anew or todo_id in added)}
    blocked = {todo_id for todo_id in now if actor == TRACKER and now[todo_id] is Status.BLOCKED}
    started = tuple(
        todo_id for todo_id in run.started if todo_id not in gone and (todo_id not in now or todo_id in blocked)
    )
    by_model = {todo_id for todo_id in run.started_by_model if todo_id in started}
    executed = run.executed
    if executed:
        from headway.core.executions import forget_changed_todos

        executed = forget_changed_todos(run, delta, actor)
    return replace(
        run,
        executed=executed,
        started=(*started, *begun),
        started_by_model=frozenset(by_model.union(begun)) if actor == MODEL else frozenset(by_model),
        tracks=tracks,
        forced=run.forced if actor in _KEEPS_COUNTS else run.forced | (now.keys() - new),
        list_changed=list_changed,
        set_by_user=_track_user_states(run, delta, actor, now.keys() - new),
        shown_statuses=_shown_statuses(run, delta, actor, now.keys(), gone),
        finished_shown=run.finished_shown and FINISHED.issuperset(now.values()) and not delta.added,
    )


def _track_user_states(run: Run, delta: ListDelta, actor: str, set_now: set[str]) -> dict[str, tuple[str, ...]]:
    """Return the items whose state a person set, with those that they had before, after a change of some states."""
    gone = {todo.id: todo for todo in delta.removed}
    kept = {todo_id: before for todo_id, before in run.set_by_user.items() if todo_id not in gone}
    if not is_person(actor):
        # A rewrite may give an item another id; else only the model can have set something else.
        moved = {gone[todo_id].content: run.set_by_user[todo_id] for todo_id in gone if todo_id in run.set_by_user}
        same = {todo.id: before for todo in delta.added if (before := moved.get(todo.content)) is not None}
        return {**{todo_id: before for todo_id, before in kept.items() if todo_id not in set_now}, **same}
    for todo_id in set_now:
        was = [str(delta.changed[todo_id]["status"][0])] if todo_id in delta.changed else []
        kept[todo_id] = tuple(dict.fromkeys((*kept.get(todo_id, ()), *was)))
    return kept


def _shown_statuses(
    run: Run, delta: ListDelta, actor: str, set_now: AbstractSet[str], gone: AbstractSet[str]
) -> dict[str, str]:
    """Return what the model was shown of items whose state others changed since, after a change of some states."""
    if not run.round:  # no model is shown anything
        return run.shown_statuses
    shown = {todo_id: status for todo_id, status in run.shown_statuses.items() if todo_id not in gone}
    for todo_id in set_now:
        if actor == MODEL:
            shown.pop(todo_id, None)
        elif todo_id not in shown:
            shown[todo_id] = str(delta.changed[todo_id]["status"][0]) if todo_id in delta.changed else ""
    return shown
