"""Rollback: the files that an item changed are as they were before it, and the item is to be done again."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headway.core.batch_changes import RollBack
from headway.core.batch_events import ItemFinished, ItemRolledBack, ItemStarted
from headway.core.clock import now
from headway.core.errors import NotRunnable, TodoNotFound
from headway.core.model import PERSON, Status
from headway.core.text import shown, some
from headway.execute.shadow import NoCheckpoints, Shadow
from headway.project import project_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headway.core.runs import Run
    from headway.core.session import Session


@dataclass(frozen=True, slots=True)
class RolledBack:
    files: tuple[str, ...]
    """What is now as it was before the item."""
    saved: str | None
    """Under which name the files are kept as they were until now."""
    dependents: tuple[str, ...]
    """Completed items that were done on top of it."""


def roll_back(
    session: Session, todo_id: str, *, force: bool = False, project: str | os.PathLike[str] | None = None
) -> RolledBack:
    """Brings back the files that the item changed when it was last executed, and sets it to pending.

    If some of them were changed again since, it raises `NotRunnable` with who changed them, and changes nothing;
    `force` brings them back all the same.
    """
    items = session.todo_list.items
    if todo_id not in items:
        raise TodoNotFound(todo_id, items)
    run = session.run
    if run is not None and run.goes_on:
        raise NotRunnable("A run is going on in this session; wait for it or stop it before you roll something back.")
    before, after, files = _changed(session, run, todo_id)
    saved = None
    if before is not None and files:
        saved = _brought_back(session, run, todo_id, project, before, after, files, force=force)
    elif before is None and files:
        raise NotRunnable(
            f"'{shown(todo_id, 40)}' cannot be rolled back: no files were saved when it was executed, since there was "
            f"no git that could. It changed: {some(files)}."
        )
    rolled = ItemRolledBack(todo_id, tuple(files), force, saved)
    session.log.change(lambda state: RollBack(session.agent_id, PERSON, now(), rolled))
    dependents = [todo.id for todo in items.values() if todo_id in todo.depends_on and todo.status is Status.COMPLETED]
    return RolledBack(tuple(files), saved, tuple(dependents))


def _changed(session: Session, run: Run | None, todo_id: str) -> tuple[str | None, str | None, Sequence[str]]:
    """(the files before the item's last execution, after it, what differs); without an end, all is still to be seen."""
    last = run.executed.get(todo_id) if run is not None else None
    if last is None or not (last.version or last.interrupted):
        raise NotRunnable(
            f"There is nothing to roll back for '{shown(todo_id, 40)}': it was not executed in this session, or was "
            "rolled back already."
        )
    data = session.store.event(session.name, max(last.version, last.interrupted)).data
    if isinstance(data, ItemFinished):
        return data.before, data.after, data.files
    assert isinstance(data, ItemStarted)
    return data.checkpoint, None, ("",)


def _brought_back(
    session: Session,
    run: Run | None,
    todo_id: str,
    project: str | os.PathLike[str] | None,
    before: str,
    after: str | None,
    files: Sequence[str],
    *,
    force: bool,
) -> str:
    """The name under which the files are kept as they were until now."""
    folder = os.path.abspath(project or project_of(session) or ".")
    try:
        shadow = Shadow(folder)
    except NoCheckpoints as error:
        raise NotRunnable(f"Rollback is not available: {error}") from None
    saved = shadow.snapshot()
    if after is None:  # it was cut off, and may have changed anything since it began
        files = shadow.changed(before, saved)
        later = [] if shadow.last_touched() is None else shadow.changed_since(files, shadow.last_touched() or 0.0)
    else:
        later = sorted(set(files) & set(shadow.changed(after, saved)))
    if later and not force:
        raise NotRunnable(_why_not(session, run, todo_id, later))
    shadow.apply(saved, shadow.with_paths(saved, before, files))
    return saved


def _why_not(session: Session, run: Run | None, todo_id: str, later: Sequence[str]) -> str:
    """Which of the files were changed since, and by whom."""
    own = run.executed[todo_id].version if run is not None else 0
    by: list[str] = []
    for other, last in run.executed.items() if run is not None else ():
        if last.version > own:
            data = session.store.event(session.name, last.version).data
            if isinstance(data, ItemFinished) and not set(later).isdisjoint(data.files):
                by.append(other)
    who, first = (f"by {some(by)}", "Roll that back first, or use") if by else ("by someone else", "Use")
    return (
        f"'{shown(todo_id, 40)}' was not rolled back: {some(later)} changed since, {who}. {first} --force to bring the "
        "files back all the same."
    )
