"""Rollback: the files that an item changed are as they were before it, and the item is to be done again."""

from __future__ import annotations

import os
from dataclasses import dataclass
from secrets import token_hex
from typing import TYPE_CHECKING

from headway.core.batch_changes import RollBack
from headway.core.batch_events import ItemFinished, ItemMerging, ItemRolledBack, ItemStarted
from headway.core.batches import BUSY
from headway.core.clock import now
from headway.core.errors import FilesChanged, NotRunnable, TodoNotFound
from headway.core.log import run_lease
from headway.core.model import PERSON, Status
from headway.core.text import shown, some, storable
from headway.execute.heartbeat import last_sign
from headway.execute.shadow import NoCheckpoints, Shadow
from headway.project import project_of
from headway.store.leases import this_process

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headway.core.batches import Executed
    from headway.core.runs import Run
    from headway.core.session import Session


_LEASE = 60.0


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

    If some of them were changed again since, it raises `FilesChanged` with who changed them, and changes nothing;
    `force` brings them back all the same.
    """
    items = session.todo_list.items
    if todo_id not in items:
        raise TodoNotFound(todo_id, items)
    run = session.run
    if run is not None and run.goes_on:
        raise NotRunnable(BUSY)
    last = run.executed.get(todo_id) if run is not None else None
    if run is None or last is None or not last.newest:
        raise NotRunnable(
            f"There is nothing to roll back for '{shown(todo_id, 40)}': it was not executed in this session, or was "
            "rolled back already."
        )
    key, holder = run_lease(session.agent_id), this_process(f"rollback {token_hex(4)}")
    if session.store.hold(session.name, key, holder, _LEASE) is not None:
        raise NotRunnable(BUSY)
    try:
        files, saved = _brought_back(session, run, todo_id, project, force=force)
        rolled = ItemRolledBack(todo_id, tuple(files), force, saved)
        session.log.change(lambda state: RollBack(session.agent_id, PERSON, now(), rolled))
    finally:
        session.store.let_go(session.name, key, holder)
    dependents = [todo.id for todo in items.values() if todo_id in todo.depends_on and todo.status is Status.COMPLETED]
    return RolledBack(tuple(files), saved, tuple(dependents))


def _brought_back(
    session: Session, run: Run, todo_id: str, project: str | os.PathLike[str] | None, *, force: bool
) -> tuple[Sequence[str], str | None]:
    """(what came back, the name under which the files are kept as they were until now)."""
    last = run.executed[todo_id]
    data = session.store.event(session.name, last.newest).data
    if isinstance(data, ItemFinished) and (data.before is None or data.before == data.after):
        if data.before is None and data.tool_calls:
            raise NotRunnable(
                f"'{shown(todo_id, 40)}' cannot be rolled back: no files were saved when it was executed, since there "
                f"was no git that could.{f' It changed: {some(data.files)}.' if data.files else ''}"
            )
        return (), None
    try:
        shadow = Shadow(os.path.abspath(project or project_of(session) or "."))
    except NoCheckpoints as error:
        raise NotRunnable(f"Rollback is not available: {error}") from None
    saved = shadow.snapshot()
    before, after, files = _changed(session, shadow, last, data, saved)
    target = shadow.with_paths(saved, before, files)
    # What else would go: files that others put where one of these has to come back.
    lost = set(shadow.changed(saved, target)) - set(files)
    later = sorted(lost | (set(files) & set(after)))
    if later and not force:
        raise FilesChanged(_why_not(session, run, todo_id, later))
    shadow.apply(saved, target)
    return files, saved


def _changed(
    session: Session, shadow: Shadow, last: Executed, data: object, saved: str
) -> tuple[str, Sequence[str], Sequence[str]]:
    """(the files before the item's last execution, which files were changed after it, which ones it changed)."""
    if isinstance(data, ItemFinished):
        assert data.before is not None and data.after is not None
        # In the log, names are texts; on the disk they may be any bytes.
        files = [path for path in shadow.changed(data.before, data.after) if storable(path) in data.files]
        return data.before, shadow.changed(data.after, saved), files
    if isinstance(data, ItemMerging):
        return data.before, shadow.changed(data.after, saved), shadow.changed(data.before, data.after)
    assert isinstance(data, ItemStarted) and data.checkpoint is not None
    # It was cut off. What was executed next began with the files as it left them.
    following = _next_checkpoint(session, last.began)
    if following is not None:
        return data.checkpoint, shadow.changed(following, saved), shadow.changed(data.checkpoint, following)
    files = shadow.changed(data.checkpoint, saved)
    until = last_sign(shadow, last.run_id)
    return data.checkpoint, files if until is None else shadow.changed_since(files, until), files


def _next_checkpoint(session: Session, version: int) -> str | None:
    for event in session.events(after=version):
        if isinstance(event.data, ItemStarted) and event.data.checkpoint is not None:
            return event.data.checkpoint
    return None


def _why_not(session: Session, run: Run, todo_id: str, later: Sequence[str]) -> str:
    """Which of the files were changed since, and by whom."""
    own = run.executed[todo_id].newest
    by: list[str] = []
    for other, last in run.executed.items():
        if last.version > own:
            data = session.store.event(session.name, last.version).data
            if isinstance(data, ItemFinished) and not set(later).isdisjoint(data.files):
                by.append(other)
    who, first = (f"by {some(by)}", "Roll that back first, or use") if by else ("by someone else", "Use")
    return (
        f"'{shown(todo_id, 40)}' was not rolled back: {some(later)} changed since, {who}. {first} --force to bring the "
        "files back all the same."
    )
