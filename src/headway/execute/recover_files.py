"""Recovery: a change of the project's files that was cut off in the middle is settled before they are changed again.

It is reversed, as it never came about for the list. Where a person has completed the item meanwhile, it is finished.
Both are three-way merges: what others changed since stays.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from secrets import token_hex
from typing import TYPE_CHECKING

from headway.core.clock import now
from headway.core.errors import FilesChanged, NotRunnable
from headway.core.execution_commands import MergeFiles
from headway.core.execution_events import AttemptFinished, MergeStarted
from headway.core.executions import BUSY
from headway.core.log import run_lease_key
from headway.core.model import EXECUTOR, Status
from headway.core.text import join_first_few
from headway.execute.shadow_repository import NoCheckpoints, ShadowRepository
from headway.project import project_folder_of
from headway.store.leases import this_process

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from headway.session import Session

_LEASE = 60.0
_TRIES = 5
"""How often it is tried anew because someone changes the files meanwhile."""


class FilesBusy(NotRunnable):
    """Something is under way in the session that has its files."""

    code = "files_busy"


@dataclass(frozen=True, slots=True)
class SettledChange:
    """What became of a change that was cut off."""

    files: tuple[str, ...] = ()
    """The project's files that changed."""
    left: tuple[str, ...] = ()
    """Files in which others were in the way; they are as they were."""
    is_known: bool = True
    """Whether it could be told how much of it had come about."""


def open_shadow(session: Session, project: str | os.PathLike[str] | None) -> ShadowRepository:
    """Open the checkpoints of a session's project."""
    try:
        return ShadowRepository(os.path.abspath(project or project_folder_of(session) or "."))
    except NoCheckpoints as error:
        raise NotRunnable(f"Rollback is unavailable: {error}") from None


def record_change(session: Session, change: MergeStarted | AttemptFinished) -> None:
    """Say in the log what the project's files are to become, or what they became, outside of an execution."""
    session.log.execute(lambda state: MergeFiles(session.agent_id, EXECUTOR, now(), change))


@contextmanager
def reserve_files(session: Session) -> Generator[None]:
    """Keep runs of this session away while files are changed."""
    key, holder = run_lease_key(session.agent_id), this_process(f"rollback {token_hex(4)}")
    if session.store.hold_lease(session.name, key, holder, _LEASE) is not None:
        raise FilesBusy(BUSY)
    try:
        run = session.run
        if run is not None and run.is_active:
            if run.id in session.log.own_runs:
                raise FilesBusy(BUSY)
            # Its process does not hold the lease any more.
            session.log.end_dead_run(session.agent_id, run)
        yield
    finally:
        session.store.release_lease(session.name, key, holder)


def settle_change(shadow: ShadowRepository, before: str, after: str, *, forward: bool = False) -> SettledChange:
    """Reverse a change of the project's files, however much of it came about; or finish it.

    Raise `FilesChanged` if others change the same files again and again.
    """
    if not shadow.was_started(before, after):
        return SettledChange()
    base, theirs = (before, after) if forward else (after, before)
    left = shadow.recover_staged(before, after)
    tries = _TRIES
    while True:
        saved = shadow.snapshot()
        target, conflicts = shadow.merge(base, saved, theirs)
        if target is None:
            untouched = set(shadow.list_changed(base, theirs)) - set(shadow.list_changed(base, saved))
            target = shadow.commit_with_paths(saved, theirs, sorted(untouched))
        try:
            files = shadow.apply_change(saved, target, settles=(before, after))
        except FilesChanged:
            tries -= 1
            if not tries:
                raise
            continue
        return SettledChange(tuple(files), tuple(sorted({*left, *conflicts})))


def recover(session: Session, project: str | os.PathLike[str] | None) -> dict[str, SettledChange]:
    """Settle changes that a process began and, since it was killed, did not finish; return them by item.

    The caller keeps others away from the session's files.
    """
    run = session.run
    cut_off = {todo_id: last.merging for todo_id, last in (run.executed if run is not None else {}).items()}
    pending = sorted(((version, todo_id) for todo_id, version in cut_off.items() if version), reverse=True)
    if not pending:
        return {}
    shadow = open_shadow(session, project)
    return {todo_id: _settle_item(session, shadow, todo_id, version) for version, todo_id in pending}


def recover_before_execution(session: Session, project: str | os.PathLike[str]) -> dict[str, SettledChange]:
    """Do the same, unless something is under way in the session: then that has its files."""
    run = session.run
    if run is None or not any(last.merging for last in run.executed.values()):
        return {}
    try:
        with reserve_files(session):
            return recover(session, project)
    except FilesBusy:
        return {}


def describe_recovery(recovered: Mapping[str, SettledChange]) -> str:
    """Say which files changed because changes that were cut off were settled; empty if none did."""
    files = sorted({path for settled in recovered.values() for path in settled.files})
    left = sorted({path for settled in recovered.values() for path in settled.left})
    told = [f"Interrupted changes were repaired first, in {join_first_few(files)}."] if files else []
    told += [f"Others have changed {join_first_few(left)} since, so this was left unchanged."] if left else []
    return " ".join(told)


def _settle_item(session: Session, shadow: ShadowRepository, todo_id: str, version: int) -> SettledChange:
    merging = session.store.event(session.name, version).data
    assert isinstance(merging, MergeStarted)
    before, after = merging.before, merging.after
    todo = session.todo_list.items.get(todo_id)
    forward = todo is not None and todo.status is Status.COMPLETED and not merging.reverses
    if shadow.repository.find_missing((before, after)):  # someone removed the checkpoints: the files stay as they are
        settled, forward = SettledChange(is_known=False), False
    else:
        settled = settle_change(shadow, before, after, forward=forward)
    if forward and shadow.was_started(before, after):
        end = _to_finished_event(
            session, shadow, todo_id, before, shadow.commit_with_paths(after, before, settled.left)
        )
        record_change(session, end)
    else:
        record_change(session, MergeStarted(item_id=todo_id, before=before, after=before, files=settled.files))
    shadow.forget_change(before, after)
    return settled


def _to_finished_event(
    session: Session, shadow: ShadowRepository, todo_id: str, before: str, after: str
) -> AttemptFinished:
    """Return the end of an attempt whose changes are in the project's files, though its process was killed."""
    run = session.run
    agent = run.execution.executing.get(todo_id, "") if run is not None and run.execution is not None else ""
    files, removed = shadow.list_changed(before, after), shadow.list_removed(before, after)
    return AttemptFinished(
        item_id=todo_id,
        agent=agent,
        attempt=1,
        outcome="completed",
        before=before,
        after=after,
        files=tuple(files),
        removed=tuple(removed),
    )
