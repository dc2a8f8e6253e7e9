"""Undo and redo of the list together with the project's files, for people.

An execution is undone by reversing what its items changed, latest first; a rollback by bringing its files back. Both
are three-way merges: what others changed meanwhile stays, and where it is in the way nothing changes at all.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headway.core.clock import now
from headway.core.commands import RevertSteps
from headway.core.errors import FilesChanged, NothingToUndo, NotRunnable, StoreConflict
from headway.core.execution_events import FilesReverted, MergeStarted, TodosRolledBack
from headway.core.executions import LastAttempt, read_attempts_record, to_attempt_record
from headway.core.file_history import FileHistory, read_file_history
from headway.core.model import PERSON
from headway.core.run_events import RunFinished
from headway.core.text import join_first_few
from headway.core.undo import find_steps
from headway.execute.recover_files import (
    describe_recovery,
    open_shadow,
    record_change,
    recover,
    reserve_files,
    settle_change,
)
from headway.execute.rollback import THINNED, reverse_changes
from headway.views.listing import is_half_changed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from headway.core.model import State, Todo
    from headway.core.undo import Step
    from headway.execute.shadow_repository import ShadowRepository
    from headway.session import Session

_TRIES = 5
"""How often it is done anew because someone changes the files, or the list, meanwhile."""


@dataclass(frozen=True, slots=True)
class UndoResult:
    """What an undo or redo did."""

    todos: list[Todo]
    """The list after it."""
    steps: Sequence[Step]
    """What was undone or redone, newest first."""
    files: tuple[str, ...] = ()
    """The project's files that changed."""
    removed: tuple[str, ...] = ()
    """Those of them that are no longer there."""
    left: tuple[str, ...] = ()
    """Files that changed during the executions it undid or redid, and that are as they were."""
    is_unsaved: bool = False
    """Whether such an execution had saved no files, so that nothing is known besides what its file tools wrote."""
    recovery: str = ""
    """Which files changed besides, because changes that a killed process had begun were settled first."""


def undo(
    session: Session, n: int = 1, *, project: str | os.PathLike[str] | None = None, actor: str = PERSON
) -> UndoResult:
    """Undo the last n changes of the list and what they changed in the project's files.

    Raise `FilesChanged`, and change nothing, if later changes of the files are in the way.
    """
    return _revert(session, "undo", n, project, actor)


def redo(
    session: Session, n: int = 1, *, project: str | os.PathLike[str] | None = None, actor: str = PERSON
) -> UndoResult:
    """Redo the last n changes that were undone, in the list and in the project's files, as `undo` does."""
    return _revert(session, "redo", n, project, actor)


def _revert(session: Session, cause: str, n: int, project: str | os.PathLike[str] | None, actor: str) -> UndoResult:
    if not is_half_changed(session.state, session.agent_id) and not _changed_files(session, cause, n):
        return _revert_list(session, cause, n, actor)
    with reserve_files(session):
        recovery = describe_recovery(recover(session, project))
        try:
            if not _changed_files(session, cause, n):
                undone = _revert_list(session, cause, n, actor)
            else:
                undone = _revert_with_files(session, cause, n, project, actor)
        except NothingToUndo as error:
            raise NothingToUndo(f"{error} {recovery}".strip()) from None
    return replace(undone, recovery=recovery)


def _changed_files(session: Session, cause: str, n: int) -> bool:
    return any(step.files for step in _find_steps(session, session.state, cause, n))


def _revert_list(session: Session, cause: str, n: int, actor: str) -> UndoResult:
    reverted = (session.undo if cause == "undo" else session.redo)(n, actor=actor)
    return _add_files_left(session, UndoResult([*reverted], reverted.steps))


def _revert_with_files(
    session: Session, cause: str, n: int, project: str | os.PathLike[str] | None, actor: str
) -> UndoResult:
    shadow = open_shadow(session, project)
    tries = _TRIES
    while True:
        tries -= 1
        try:
            return _add_files_left(session, _revert_files(session, shadow, cause, n, actor))
        except (FilesChanged, StoreConflict) as error:
            if not tries or (isinstance(error, FilesChanged) and not error.is_momentary):
                raise


def _add_files_left(session: Session, undone: UndoResult) -> UndoResult:
    """Add what the executions among the steps changed in the project's files that could not be undone or redone."""
    runs = {step.origin.data.run_id for step in undone.steps if isinstance(step.origin.data, RunFinished)}
    if not runs:
        return undone
    history = read_file_history(session.events(), session.agent_id)
    ends = [end for run_id, end in history.ends.values() if run_id in runs and end.tool_calls and not end.worktree]
    left = [path for end in ends for path in (end.files if end.before is None else end.by_others)]
    is_unsaved = any(end.before is None for end in ends)
    return replace(undone, left=tuple(dict.fromkeys(left)), is_unsaved=is_unsaved)


def _find_steps(session: Session, state: State, cause: str, n: int) -> list[Step]:
    return find_steps(session.store, session.name, state, session.agent_id, cause, n, with_files=True)


def _revert_files(session: Session, shadow: ShadowRepository, cause: str, n: int, actor: str) -> UndoResult:
    """Change the files and then the list; if that fails, the files are as they were."""
    steps = _find_steps(session, session.state, cause, n)
    saved = shadow.snapshot()
    reversals = _find_reversals(session, shadow, cause, steps, saved)
    target = next(files.after for files in reversed(reversals) if files is not None)
    todo_id = next(todo_id for files in reversals if files is not None for todo_id in files.executed)

    def make(state: State) -> RevertSteps:
        found = _find_steps(session, state, cause, n)
        if [step.version for step in found] != [step.version for step in steps]:
            raise StoreConflict("The list changed in the meantime; try again.")
        return RevertSteps(session.agent_id, actor, now(), cause, found, reversals)

    record_change(session, MergeStarted(item_id=todo_id, before=saved, after=target, reverses=True))
    try:
        files = shadow.apply_change(saved, target)
        _, state = session.log.execute(make)
    except BaseException:
        settle_change(shadow, saved, target)
        record_change(session, MergeStarted(item_id=todo_id, before=saved, after=saved))
        shadow.forget_change(saved, target)
        raise
    shadow.forget_change(saved, target)
    todos = [*state.list_of(session.agent_id).items.values()]
    return UndoResult(todos, steps, tuple(files), tuple(shadow.list_removed(saved, target)))


def _find_reversals(
    session: Session, shadow: ShadowRepository, cause: str, steps: Sequence[Step], saved: str
) -> list[FilesReverted | None]:
    """Return what each step makes of the project's files, one on top of the other."""
    history = read_file_history(session.events(), session.agent_id)
    run = session.run
    finder = _ReversalFinder(shadow, cause, history, dict(run.executed) if run is not None else {})
    reversals: list[FilesReverted | None] = []
    for step in steps:
        made = finder.find(step, saved) if step.files else None
        if made is not None:
            saved = made.after
        reversals.append(made)
    return reversals


class _ReversalFinder:
    def __init__(
        self, shadow: ShadowRepository, cause: str, history: FileHistory, executed: dict[str, LastAttempt]
    ) -> None:
        self._shadow = shadow
        self._cause = cause
        self._history = history
        self._executed = executed
        """As it is after the steps that were looked at."""

    def find(self, step: Step, saved: str) -> FilesReverted:
        """Return what undoing (or redoing) a step makes of the files that are `saved`; raise `FilesChanged`."""
        event, history = step.files[0], self._history
        gone: tuple[int, ...] = ()
        back: tuple[int, ...] = ()
        match event.data:
            case TodosRolledBack(saved=str(before), after=str(after)) as rolled:
                target = self._merge(event.version, after, saved, before)
                back = history.rolled_back[event.version]
                history.live.update(back)
                known = self._list_attempts_before(event.version, (rolled.item_id, *rolled.with_later))
            case FilesReverted() as reverted:
                target = self._merge(event.version, reverted.after, saved, reverted.saved)
                gone, back = reverted.back, reverted.gone
                known = read_attempts_record({todo_id: before for todo_id, (before, _) in reverted.executed.items()})
            case _:
                ends = self._list_attempt_ends(step)
                gone = tuple(version for version in ends if version in history.live)
                target = self._reverse(gone, saved)
                history.live.difference_update(gone)
                known = self._list_attempts_before(ends[0], [history.ends[version][1].item_id for version in ends])
        history.live.difference_update(gone)
        history.live.update(back)
        executed = {
            todo_id: [to_attempt_record(self._executed.get(todo_id, LastAttempt(0))), to_attempt_record(after)]
            for todo_id, after in known.items()
        }
        self._executed |= known
        files, removed = self._shadow.list_changed(saved, target), self._shadow.list_removed(saved, target)
        return FilesReverted(
            cause=self._cause,
            files=tuple(files),
            saved=saved,
            after=target,
            removed=tuple(removed),
            gone=gone,
            back=back,
            executed=executed,
        )

    def _list_attempt_ends(self, step: Step) -> list[int]:
        """Return the versions with which the attempts of an execution ended."""
        run_id = step.origin.data.run_id if isinstance(step.origin.data, RunFinished) else None
        known = {event.version for event in step.files}
        return [version for version, (of, _) in self._history.ends.items() if of == run_id or version in known]

    def _list_attempts_before(self, version: int, todo_ids: Iterable[str]) -> dict[str, LastAttempt]:
        return {todo_id: self._history.last_execution(todo_id, version) for todo_id in todo_ids}

    def _reverse(self, versions: Collection[int], saved: str) -> str:
        changes = [self._history.changes[version] for version in versions]
        self._refuse_missing(*(name for change in changes for name in (change.before, change.after)))
        target, conflicts, blocked = reverse_changes(self._shadow, saved, changes)
        if blocked is not None:
            raise self._conflict_error(conflicts, blocked.version, versions)
        return target

    def _merge(self, since: int, base: str, ours: str, theirs: str) -> str:
        self._refuse_missing(base, theirs)
        merged, conflicts = self._shadow.merge(base, ours, theirs)
        if merged is None:
            raise self._conflict_error(conflicts, since)
        return merged

    def _refuse_missing(self, *commits: str) -> None:
        if self._shadow.repository.find_missing(commits):
            raise NotRunnable(THINNED.format(f"The files cannot be restored, so nothing was {self._past_verb}"))

    @property
    def _past_verb(self) -> str:
        return "undone" if self._cause == "undo" else "redone"

    def _conflict_error(self, files: Sequence[str], since: int, besides: Collection[int] = ()) -> FilesChanged:
        items = dict.fromkeys(
            change.todo_id
            for change in self._history.list_unreversed()
            if change.version > since
            and change.version not in besides
            and not set(files).isdisjoint(self._shadow.list_changed(change.before, change.after))
        )
        by = f"by {join_first_few([*items])}" if items else "by someone else"
        return FilesChanged(
            f"Nothing was {self._past_verb}: conflicting changes were made to {join_first_few(files)} later, {by}.",
            files,
            [*items],
        )
