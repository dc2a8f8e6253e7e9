"""Rollback: what an item changed is reversed by a three-way merge, and the item is to be done again.

Later work in the same files, by other items or by people, stays. Where the reversal conflicts with it, nothing changes.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headway.core.clock import now
from headway.core.errors import FilesChanged, NotRunnable, TodoNotFound
from headway.core.execution_commands import RollBackTodos
from headway.core.execution_events import AttemptFinished, AttemptStarted, MergeStarted, TodosRolledBack
from headway.core.file_history import FileChange, read_file_history
from headway.core.model import PERSON, Status
from headway.core.text import join_first_few, sanitize_for_display
from headway.execute.recover_files import describe_recovery, open_shadow, record_change, recover, reserve_files
from headway.project import project_folder_of

if TYPE_CHECKING:
    from headway.execute.shadow_repository import ShadowRepository
    from headway.session import Session

THINNED = (
    "{}: the checkpoint for it has been removed. The settings keep_executions and keep_days say how long checkpoints "
    "are kept."
)
_TRIES = 5
"""How often a reversal is made anew because someone changes the files meanwhile."""
_MOST_WEIGHED = 20
"""Items of which each is tried without, to find out which are in the way of a rollback."""


@dataclass(frozen=True, slots=True)
class RollbackResult:
    files: tuple[str, ...]
    """The project's files that changed."""
    removed: tuple[str, ...]
    """Those of them that are no longer there."""
    with_later: tuple[str, ...]
    """Other items that were rolled back, since they were in the way."""
    left: tuple[str, ...]
    """Files that others changed while the item worked in the project's own files; they are as they were."""
    saved: str | None
    """The commit that has the files as they were until now."""
    dependents: tuple[str, ...]
    """Completed items that were done on top of it."""
    recovery: str = ""
    """Which files changed besides, because changes that a killed process had begun were settled first."""


def roll_back(
    session: Session, todo_id: str, *, with_later: bool = False, project: str | os.PathLike[str] | None = None
) -> RollbackResult:
    """Reverse what an item changed in the project's files when it was executed, and set it to pending.

    Raise `FilesChanged`, and change nothing, if later changes are in the way; `with_later` rolls back the items that
    made them too, latest first.
    """
    with reserve_files(session):
        items = session.todo_list.items
        if todo_id not in items:
            raise TodoNotFound(todo_id, items)
        recovered = recover(session, project)
        changes = read_file_history(session.events(), session.agent_id).list_unreversed()
        own = [change for change in changes if change.todo_id == todo_id]
        if own or todo_id not in recovered:
            _refuse_unknown(session, todo_id, own)
            chosen, rolled = _reverse(session, todo_id, changes, project, with_later=with_later)
        else:
            chosen, rolled = (), TodosRolledBack(item_id=todo_id, files=recovered.pop(todo_id).files)
        session.log.execute(lambda state: RollBackTodos(session.agent_id, PERSON, now(), rolled))
        if rolled.saved is not None and rolled.after is not None:
            open_shadow(session, project).forget_change(rolled.saved, rolled.after)
    gone = {todo_id, *chosen}
    dependents = [
        todo.id
        for todo in items.values()
        if todo.status is Status.COMPLETED and todo.id not in gone and not gone.isdisjoint(todo.depends_on)
    ]
    left = tuple(dict.fromkeys(path for change in own for path in change.by_others))
    recovery = describe_recovery(recovered)
    return RollbackResult(
        rolled.files, rolled.removed, rolled.with_later, left, rolled.saved, tuple(dependents), recovery
    )


def diff_todo(session: Session, todo_id: str, *, project: str | os.PathLike[str] | None = None) -> str:
    """Return what an item changed in the project's files, as a unified diff; empty if it changed nothing.

    Of an item whose last attempt did not end well, it is what is kept in that attempt's worktree.
    """
    items = session.todo_list.items
    if todo_id not in items:
        raise TodoNotFound(todo_id, items)
    changes = [
        change
        for change in read_file_history(session.events(), session.agent_id).list_unreversed()
        if change.todo_id == todo_id
    ]
    pairs = [(change.before, change.after) for change in changes] or _read_kept_attempt(session, todo_id, project)
    if not pairs:
        return ""
    shadow = open_shadow(session, project)
    if shadow.repository.find_missing(name for pair in pairs for name in pair):
        raise NotRunnable(THINNED.format(f"The changes of '{sanitize_for_display(todo_id, 40)}' cannot be shown"))
    return "".join(shadow.diff(before, after) for before, after in pairs)


def reverse_changes(
    shadow: ShadowRepository, saved: str, changes: Sequence[FileChange]
) -> tuple[str, list[str], FileChange | None]:
    """Reverse changes on top of the commit `saved`, latest first.

    Return the commit that comes of it, and the files in conflict with the change that cannot be reversed, if any.
    """
    target = saved
    for change in reversed(changes):
        merged, conflicts = shadow.merge(change.after, target, change.before)
        if merged is None:
            return target, conflicts, change
        target = merged
    return target, [], None


def _reverse(
    session: Session,
    todo_id: str,
    changes: Sequence[FileChange],
    project: str | os.PathLike[str] | None,
    *,
    with_later: bool,
) -> tuple[Sequence[str], TodosRolledBack]:
    """Return the other items that were rolled back, and what to record."""
    if not any(change.todo_id == todo_id for change in changes):
        return (), TodosRolledBack(item_id=todo_id, files=())
    shadow = open_shadow(session, project)
    missing = shadow.repository.find_missing(name for change in changes for name in (change.before, change.after))
    thinned = [change for change in changes if not missing.isdisjoint((change.before, change.after))]
    if any(change.todo_id == todo_id for change in thinned):
        raise NotRunnable(THINNED.format(f"'{sanitize_for_display(todo_id, 40)}' cannot be rolled back"))
    changes = [change for change in changes if change not in thinned]
    tries = _TRIES
    while True:
        saved = shadow.snapshot()
        later, target = _find_reversal(shadow, todo_id, changes, saved, with_later=with_later)
        record_change(session, MergeStarted(item_id=todo_id, before=saved, after=target, reverses=True))
        try:
            files = shadow.apply_change(saved, target)
        except FilesChanged:
            record_change(session, MergeStarted(item_id=todo_id, before=saved, after=saved))
            tries -= 1
            if not tries:
                raise
            continue
        removed = tuple(shadow.list_removed(saved, target))
        rolled = TodosRolledBack(
            item_id=todo_id, files=tuple(files), saved=saved, after=target, removed=removed, with_later=tuple(later)
        )
        return later, rolled


def _find_reversal(
    shadow: ShadowRepository, todo_id: str, changes: Sequence[FileChange], saved: str, *, with_later: bool
) -> tuple[list[str], str]:
    """Return the items to roll back besides, latest first, and what the files become."""

    def reverse(chosen: Collection[str]) -> tuple[str, list[str], FileChange | None]:
        return reverse_changes(shadow, saved, [change for change in changes if change.todo_id in chosen])

    chosen = {todo_id}
    target, conflicts, blocked = reverse(chosen)
    first = conflicts
    while blocked is not None:
        in_the_way = {
            change.todo_id
            for change in changes
            if change.version > blocked.version
            and not set(conflicts).isdisjoint(shadow.list_changed(change.before, change.after))
        }
        if in_the_way <= chosen:
            raise _conflict_error(todo_id, first, [])
        chosen |= in_the_way
        target, conflicts, blocked = reverse(chosen)
    if len(chosen) <= _MOST_WEIGHED:  # a change of the same file need not be in the way
        for other in sorted(chosen - {todo_id}):
            without = reverse(chosen - {other})
            if without[2] is None:
                chosen, target = chosen - {other}, without[0]
    later = dict.fromkeys(
        change.todo_id for change in reversed(changes) if change.todo_id in chosen and change.todo_id != todo_id
    )
    if later and not with_later:
        raise _conflict_error(todo_id, first, [*later])
    return [*later], target


def _conflict_error(todo_id: str, files: Sequence[str], items: list[str]) -> FilesChanged:
    by = f"by {join_first_few(items)}" if items else "by someone else"
    return FilesChanged(
        f"'{sanitize_for_display(todo_id, 40)}' was not rolled back: conflicting changes "
        f"were made to {join_first_few(files)} later, {by}.",
        files,
        items,
    )


def _refuse_unknown(session: Session, todo_id: str, own: Sequence[FileChange]) -> None:
    """Raise `NotRunnable` where it is not known what an item changed."""
    run = session.run
    last = run.executed.get(todo_id) if run is not None else None
    if last is None or not last.newest_version:
        raise NotRunnable(
            f"'{sanitize_for_display(todo_id, 40)}' has nothing to roll back: it was not executed in this session, was "
            "interrupted, or has already been rolled back."
        )
    data = session.store.event(session.name, last.newest_version).data
    if isinstance(data, AttemptFinished) and data.before is None and data.tool_calls and not own:
        changed = f" It changed: {join_first_few(data.files)}." if data.files else ""
        raise NotRunnable(
            f"'{sanitize_for_display(todo_id, 40)}' cannot be rolled back: no files "
            f"were saved when it was executed.{changed}"
        )
    if isinstance(data, AttemptStarted) and data.in_place and not own:
        raise NotRunnable(
            f"'{sanitize_for_display(todo_id, 40)}' cannot be rolled back: it was "
            "interrupted while it worked in the project's "
            "own files, so its changes there are not known."
        )


def _read_kept_attempt(session: Session, todo_id: str, project: str | os.PathLike[str] | None) -> list[tuple[str, str]]:
    """Return the checkpoint and the files of the last attempt, if its changes did not come into the project.

    Raise `NotRunnable` where it is not known what it changed.
    """
    name = f"'{sanitize_for_display(todo_id, 40)}'"
    events = [event.data for event in session.events() if event.agent == session.agent_id]
    attempts = [
        data for data in events if isinstance(data, AttemptStarted | AttemptFinished) and data.item_id == todo_id
    ]
    last = attempts[-1] if attempts else None
    if isinstance(last, AttemptStarted) and last.worktree is not None:
        folder = os.path.join(project or project_folder_of(session) or ".", last.worktree)
        if os.path.isdir(folder):
            is_under_way = session.todo_list.items[todo_id].status is Status.IN_PROGRESS
            state = "is in progress" if is_under_way else "was interrupted; its files are"
            raise NotRunnable(f"{name} {state} in {last.worktree}, where git status and git diff show what it changed.")
    executed = session.run.executed.get(todo_id) if session.run is not None else None
    if executed is None or not executed.newest_version:
        raise NotRunnable(f"{name} was not executed in this session, was interrupted, or was rolled back.")
    if isinstance(last, AttemptStarted) and last.in_place and session.todo_list.items[todo_id].status is Status.PENDING:
        raise NotRunnable(f"The changes of {name} are not known: it was interrupted in the project's own files.")
    if not isinstance(last, AttemptFinished):
        return []
    if last.before is None and last.tool_calls and last.worktree is None:
        changed = f" It changed: {join_first_few(last.files)}." if last.files else ""
        raise NotRunnable(f"The changes of {name} cannot be shown: no files were saved when it was executed.{changed}")
    return [(last.before, last.kept)] if last.before is not None and last.kept is not None else []
