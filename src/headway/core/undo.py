"""Undo and redo: what counts as one step, and what reverting it makes of the list.

A step is what a person would count: one execution, one edit, one rewrite, one rollback; what tracking concluded in one
run, as long as nobody else changed the list meanwhile. What changes nothing that people see is reverted together with
the step before it. Below it is the log, which is only read; `decide` makes events of steps.
"""

from __future__ import annotations

from headway.core import delta as deltas
from headway.core.errors import NothingToUndo
from headway.core.events import ListDelta
from headway.core.execution_events import AttemptFinished, FilesReverted, TodosRolledBack
from headway.core.model import MODEL, Status, replace_fields
from headway.core.run_events import RunFinished, RunStarted
from headway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import TypeAlias

    from headway.core.events import Event
    from headway.core.model import State, Todo, TodoList
    from headway.core.store import Store

    About: TypeAlias = "dict[str, tuple[object, object]]"

_OF_RUN = frozenset({"track", "interrupt", "execute"})
"""Causes of what a run does by itself to its list. Executions are recorded as steps; old logs have only their parts."""
_WITH_STATUS = frozenset(
    {"status", "started_at", "completed_at", "started_at_round", "completed_at_round", "evidence"}
    | {"owner", "lease_until", "interrupted", "notes"}
)
"""Fields that stay with the status, where others set that meanwhile."""
_MOST_BETWEEN = 500
"""Events that are read at once to see whether a run began between two changes."""


class Step(Value):
    """What one undo, or one redo, reverts."""

    __slots__ = ("changes", "delta", "files", "origin", "previous", "version")

    def __init__(
        self,
        version: int,
        previous: int,
        origin: Event,
        changes: tuple[Event, ...],
        delta: ListDelta,
        files: tuple[Event, ...],
    ) -> None:
        self.version: int = version
        """Of the event from which undo (or redo) now starts."""
        self.previous: int = previous
        """Where it continues."""
        self.origin: Event = origin
        """What was done at first, however often it was undone and redone since."""
        self.changes: tuple[Event, ...] = changes
        """The changes of the list that this was, newest first."""
        self.delta: ListDelta = delta
        """What reverting it makes of the list."""
        self.files: tuple[Event, ...] = files
        """The events that say how it changed the project's files."""


class Reverted(list["Todo"]):
    """The list after an undo or redo, with the steps that were reverted.

    `keeps_files` says that these steps had changed the project's files too, and that the files were left as they are.
    """

    def __init__(self, todos: Iterable[Todo], steps: Sequence[Step], *, keeps_files: bool) -> None:
        super().__init__(todos)
        self.steps = steps
        self.keeps_files = keeps_files


def find_steps(
    store: Store, name: str, state: State, agent: str, cause: str, n: int, *, with_files: bool = False
) -> list[Step]:
    """Return the next n steps of undo or redo; raise `NothingToUndo` if there are fewer.

    Where the files do not change with the list, no todo becomes completed of which the work is not in them.
    """
    return _StepFinder(store, name, state, agent, cause, with_files).find(n)


class _Node(Value):
    """A place at which undo or redo can stand: an event, and the changes of the list that belong to it."""

    __slots__ = ("changes", "event", "previous")

    def __init__(self, event: Event, changes: list[Event], previous: int) -> None:
        self.event = event
        self.changes = changes
        """Newest first."""
        self.previous = previous


class _StepFinder:
    def __init__(self, store: Store, name: str, state: State, agent: str, cause: str, with_files: bool) -> None:
        self._store = store
        self._name = name
        self._agent = agent
        self._cause = cause
        self._with_files = with_files
        todo_list = state.list_of(agent)
        self._start = todo_list.undo if cause == "undo" else todo_list.redo
        self._open_step = todo_list.open_step if cause == "undo" else 0
        self._items: Mapping[str, Todo] = todo_list.items
        self._about = _list_fields(todo_list)
        run = state.runs.get(agent)
        self._running = run is not None and run.is_active

    def find(self, n: int) -> list[Step]:
        steps: list[Step] = []
        version, began = self._start, self._execution_began()
        while len(steps) < n and version > began and (step := self._find_step(version)):
            steps.append(step)
            version = step.previous
        if len(steps) == n:
            return steps
        verb, participle = ("undo", "undone") if self._cause == "undo" else ("redo", "redone")
        if steps:
            some = "1 change" if len(steps) == 1 else f"{len(steps)} changes"
            raise NothingToUndo(
                f"Only {some} can be {participle}{' while the execution is in progress' if began else ''}."
            )
        if began:
            raise NothingToUndo("An execution is in progress; stop it to undo earlier changes.")
        raise NothingToUndo(f"There is nothing to {verb} in this list.")

    def _execution_began(self) -> int:
        """Return the version of the first change of the execution that is going on; 0 if none is."""
        version = began = self._open_step
        while version:
            began, version = version, _get_delta(self._read_event(version)).previous
        return began

    def _find_step(self, version: int) -> Step | None:
        before, about, first = self._items, dict(self._about), version
        files: list[Event] = []
        while version:
            node = self._read_node(version)
            now, files_of_node = self._items, self._files_of(node)
            version = self._revert(node)
            if not self._with_files and not isinstance(node.event.data, RunFinished) and files_of_node:
                self._items = _without_completions(now, self._items)
            delta = deltas.to_delta(before, [*self._items.values()], self._cause)
            delta = deltas.with_list_fields(
                delta, {key: (old, self._about[key]) for key, old in about.items() if self._about[key] != old}
            )
            files += files_of_node
            origin = self._find_origin(node)
            if deltas.is_visible(delta) or self._files_of(origin):
                return Step(first, version, origin.event, tuple(origin.changes), delta, tuple(files))
        return None

    # reading

    def _read_event(self, version: int) -> Event:
        return self._store.event(self._name, version)

    def _read_node(self, version: int) -> _Node:
        event = self._read_event(version)
        data = event.data
        changes: list[Event] = []
        if isinstance(data, ListDelta) and data.partial:
            return self._read_execution(event, data)
        if isinstance(data, ListDelta):
            older: Event | None = event
            while older is not None:
                changes.append(older)
                older = self._same_step(older)
            return _Node(event, changes, _get_delta(changes[-1]).previous)
        assert isinstance(data, RunFinished | TodosRolledBack | FilesReverted)
        at = data.step
        while at:
            changes.append(self._read_event(at))
            at = _get_delta(changes[-1]).previous
        if data.previous is None and changes:
            return _Node(event, changes, _get_delta(changes[-1]).other)
        return _Node(event, changes, data.previous or 0)

    def _read_execution(self, event: Event, first: ListDelta) -> _Node:
        """Return the execution that began with a change."""
        end = self._end_of_run(event.version)
        return self._read_node(end) if end else _Node(event, [event], first.other)

    def _end_of_run(self, after: int) -> int:
        """Return the version with which the next run ended; 0 if none has."""
        while events := self._store.events(self._name, after, _MOST_BETWEEN):
            for event in events:
                if event.agent == self._agent and isinstance(event.data, RunFinished):
                    return event.version
            after = events[-1].version
        return 0

    def _same_step(self, event: Event) -> Event | None:
        """Return the change before it, if the same run made both by itself."""
        delta = _get_delta(event)
        if delta.cause not in _OF_RUN or not delta.previous:
            return None
        older = self._read_event(delta.previous)
        if not isinstance(older.data, ListDelta) or older.data.partial or older.data.cause not in _OF_RUN:
            return None
        return None if self._run_began_between(older.version, event.version) else older

    def _run_began_between(self, after: int, before: int) -> bool:
        while after + 1 < before:
            events = self._store.events(self._name, after, min(_MOST_BETWEEN, before - after - 1))
            if not events:
                return False
            if any(event.agent == self._agent and isinstance(event.data, RunStarted) for event in events):
                return True
            after = events[-1].version
        return False

    def _find_origin(self, node: _Node) -> _Node:
        of = getattr(node.event.data, "of", 0)
        return self._read_node(of) if of else node

    def _files_of(self, node: _Node) -> list[Event]:
        data = node.event.data
        if isinstance(data, TodosRolledBack | FilesReverted):
            return [node.event] if data.saved is not None else []
        if self._was_redone_in_list(node):
            return self._files_of(self._find_origin(node))
        if not isinstance(data, RunFinished) and not (isinstance(data, ListDelta) and data.cause == "execute"):
            return []
        ends = [
            self._read_event(change.version + 1) for change in node.changes if _get_delta(change).cause == "execute"
        ]
        return [end for end in ends if isinstance(end.data, AttemptFinished) and end.data.before != end.data.after]

    def _was_redone_in_list(self, node: _Node) -> bool:
        """Return whether it is a redo of the list alone that is to be undone: files are to follow what it was of."""
        data = node.event.data
        return isinstance(data, ListDelta) and data.cause == "redo" and data.of > 0 and self._cause == "undo"

    # reverting

    def _revert(self, node: _Node) -> int:
        """Revert it on the list as it was made of so far; return where undo continues."""
        if isinstance(node.event.data, RunFinished):
            self._revert_statuses(node.changes)
            return node.previous
        if self._with_files and self._was_redone_in_list(node) and self._files_of(node):
            self._revert_statuses(self._find_origin(node).changes)
            return node.previous
        for change in node.changes:
            delta = _get_delta(change)
            back = deltas.invert_delta(delta, self._items, self._cause)
            abandoned = deltas.find_started(back)
            if delta.cause not in ("execute", "interrupt") and (delta.cause != "track" or self._running):
                abandoned = {todo_id for todo_id in abandoned if self._is_abandoned(todo_id, change.version)}
            back = deltas.with_interrupted(back, abandoned)
            self._items = deltas.apply_delta(self._items, back)
            self._about |= {key: after for key, (_, after) in back.about.items()}
        return node.previous

    def _is_abandoned(self, todo_id: str, version: int) -> bool:
        """Return whether a todo was in progress, before a change, in a run that no longer works on it."""
        before = version
        while before > 1:
            after = max(0, before - 1 - _MOST_BETWEEN)
            for event in reversed(self._store.events(self._name, after, before - 1 - after)):
                if event.agent != self._agent or not isinstance(event.data, ListDelta):
                    continue
                delta = event.data
                if delta.cause in ("undo", "redo"):  # which set only what someone had set before
                    continue
                if "status" in delta.changed.get(todo_id, ()) or any(todo.id == todo_id for todo in delta.added):
                    if delta.cause == "execute":
                        return True
                    return (delta.cause == "track" or event.actor == MODEL) and self._end_of_run(version) > 0
            before = after + 1
        return False

    def _revert_statuses(self, changes: Sequence[Event]) -> None:
        """Revert what an execution, or a rollback, did to todos; what others set meanwhile stays."""
        whole: dict[str, About] = {}
        for change in reversed(changes):
            for todo_id, fields in _get_delta(change).changed.items():
                known = whole.setdefault(todo_id, {})
                for key, (before, after) in fields.items():
                    known[key] = (known[key][0] if key in known else before, after)
        items = dict(self._items)
        for todo_id, fields in whole.items():
            todo = items.get(todo_id)
            if todo is None:
                continue
            stays = frozenset[str]()
            if "status" in fields and todo.status != fields["status"][1]:
                stays = _WITH_STATUS
            back = {
                key: before
                for key, (before, after) in fields.items()
                if key not in stays and getattr(todo, key) == after
            }
            if back.get("status") is Status.IN_PROGRESS:
                back["status"] = Status.PENDING
            items[todo_id] = replace_fields(todo, back)
        self._items = items


def _without_completions(before: Mapping[str, Todo], after: Mapping[str, Todo]) -> Mapping[str, Todo]:
    """Return the list with no todo completed that was not: its files are not there."""
    items = dict(after)
    for todo_id, todo in after.items():
        old = before.get(todo_id)
        if todo.status is Status.COMPLETED and old is not None and old.status is not Status.COMPLETED:
            items[todo_id] = replace_fields(todo, {name: getattr(old, name) for name in _WITH_STATUS})
    return items


def _list_fields(todo_list: TodoList) -> dict[str, object]:
    return {"title": todo_list.title, "summary": todo_list.summary, "kept_by_loop": todo_list.kept_by_loop}


def _get_delta(event: Event) -> ListDelta:
    assert isinstance(event.data, ListDelta)
    return event.data
