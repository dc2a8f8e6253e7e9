"""Thinning out checkpoints: those of the last executions and of the last days are kept.

A commit whose parent goes becomes a root (`shallow`, as git calls it), so that all others keep their names.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headway.core.errors import HeadwayError
from headway.core.execution_events import (
    AttemptFinished,
    AttemptStarted,
    ExecutionStarted,
    MergeStarted,
    TodosRolledBack,
)
from headway.execute.git import GitFailed
from headway.project import project_folder_of
from headway.session import Session

if TYPE_CHECKING:
    from collections.abc import Collection

    from headway.execute.shadow_repository import ShadowRepository
    from headway.session import SessionStore

_DAY = 86_400.0
_FIELDS = ("checkpoint", "before", "after", "kept", "saved")
"""Of events: commits."""
_SAFE = "1.hour.ago"
"""What others may be writing at this moment is not cleared away."""


@dataclass(slots=True)
class ExecutionCheckpoints:
    session: str
    at: str
    """When the last of them was made."""
    commits: set[str] = field(default_factory=set[str])


def list_executions(store: SessionStore) -> list[ExecutionCheckpoints]:
    """Return the commits that the log names, by execution, the latest first."""
    found: list[ExecutionCheckpoints] = []
    for info in store.sessions():
        current: dict[str, ExecutionCheckpoints] = {}
        for event in store.session(info.name).events():
            data = event.data
            if isinstance(data, ExecutionStarted):
                current[event.agent] = ExecutionCheckpoints(info.name, event.at)
                found.append(current[event.agent])
            elif (
                isinstance(data, AttemptStarted | MergeStarted | AttemptFinished | TodosRolledBack)
                and event.agent in current
            ):
                execution = current[event.agent]
                execution.at = event.at
                execution.commits |= {name for part in _FIELDS if (name := getattr(data, part, None)) is not None}
    return sorted(found, key=lambda execution: execution.at, reverse=True)


def thin_out(
    store: SessionStore, shadow: ShadowRepository, *, older_than: float | None = None, at_once: bool = False
) -> int:
    """Drop the checkpoints that are not to be kept; return how many went.

    `older_than`: seconds, instead of what the rules say.
    """
    age = shadow.rules.keep_days * _DAY if older_than is None else older_than
    commits, last = _list_commits(shadow)
    old = {name for name, made in commits.items() if made < time.time() - age and name != last}
    if old and older_than is None:
        for execution in list_executions(store)[: shadow.rules.keep_executions]:
            old -= execution.commits
    if old:
        _thin_to(shadow, commits.keys() - old, at_once=at_once)
    return len(old)


def thin_out_quietly(session: Session, shadow: ShadowRepository | None) -> None:
    """The same after an execution; whatever goes wrong is no reason to fail."""
    project = project_folder_of(session)
    if shadow is None or project is None or os.path.realpath(project) != os.path.realpath(shadow.project):
        return  # the logs of others may name commits that this store knows nothing of
    with suppress(GitFailed, OSError, HeadwayError):
        thin_out(session.store, shadow)


def forget_session(store: SessionStore, shadow: ShadowRepository, session: str) -> None:
    """Remove the worktrees of a session that is about to be deleted, and the checkpoints that nobody else needs."""
    shadow.remove_worktrees(lambda name: shadow.kept.session_of(name) == session)
    executions = list_executions(store)
    of_others = {name for each in executions if each.session != session for name in each.commits}
    own = {name for each in executions if each.session == session for name in each.commits} - of_others
    commits, last = _list_commits(shadow)
    if gone := (own & commits.keys()) - {last}:
        _thin_to(shadow, commits.keys() - gone, at_once=False)


def _list_commits(shadow: ShadowRepository) -> tuple[dict[str, int], str | None]:
    """Return commit → when it was made, and which is the project's last."""
    git = shadow.repository
    last = git.head_commit()
    if last is None:
        return {}, None
    printed = git.run("rev-list", "--format=%ct", "--all", last).decode().split("\n")
    names, times = printed[:-1:2], printed[1::2]
    return {name.removeprefix("commit "): int(made) for name, made in zip(names, times, strict=True)}, last


def _thin_to(shadow: ShadowRepository, keep: Collection[str], *, at_once: bool) -> None:
    git = shadow.repository
    with git.lock_index(shadow.project, "index"):
        lines = [f"delete {ref}" for ref in git.list_kept_refs() if ref.rpartition("/")[2] not in keep]
        lines += [f"update refs/kept/{name} {name}" for name in sorted(keep)]
        parents = git.run("rev-list", "--parents", "--no-walk", "--stdin", stdin=_as_stdin(keep)).decode().split("\n")
        git.run("update-ref", "--stdin", stdin=_as_stdin(lines))
        roots = [words[0] for line in parents if (words := line.split()) and not set(words[1:]) <= set(keep)]
        before = (git.read("shallow") or b"").decode().split()
        git.write_file("shallow", "".join(f"{name}\n" for name in sorted({*roots, *before} & set(keep))))
        git.run("gc", "--quiet", f"--prune={'now' if at_once else _SAFE}")


def _as_stdin(lines: Collection[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()
