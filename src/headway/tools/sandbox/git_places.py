"""What of a git repository a command can write: all but what makes git run something the next time a person uses it."""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from dataclasses import dataclass

_LARGEST = 100_000


@dataclass(frozen=True, slots=True)
class GitPlaces:
    writable: tuple[str, ...] = ()
    readable: tuple[str, ...] = ()
    """In what is writable, what is not."""
    missing: tuple[str, ...] = ()
    """Folders that would be run from if they were there."""
    forbidden: tuple[str, ...] = ()
    """Files that are not there, and from which git would take further settings."""


def find_git_places(git: str, *, owner: str | None = None) -> GitPlaces:
    """Return what is writable of the repository of a `.git`; of a worktree's folder that `owner` names.

    `.git` itself becomes a place of its own, so that nobody can move it away and make another one.
    """
    if _is_folder(git):
        protected = (git,) if owner is None else (git, owner)
        return _of_folder(git, protected) if _is_file(os.path.join(git, "config")) else GitPlaces(readable=protected)
    if not _is_file(git):
        return GitPlaces()
    linked = _linked_worktree(git)
    return GitPlaces(readable=(git,)) if linked is None else linked


def _of_folder(git: str, protected: tuple[str, ...]) -> GitPlaces:
    inside = [os.path.join(git, name) for name in ("config", "config.worktree", "modules", "worktrees")]
    hooks = os.path.join(git, "hooks")
    readable = [path for path in (*inside, hooks) if _is_folder(path) or _is_file(path)]
    return GitPlaces(
        (git,),
        (*protected[1:], *readable),
        () if os.path.lexists(hooks) else (hooks,),
        _not_there(git, "commondir", "config.worktree"),
    )


def _linked_worktree(git: str) -> GitPlaces | None:
    """A worktree of the user's own: its repository is elsewhere, and must say that this is one of its worktrees."""
    named = re.fullmatch(r"gitdir: ([^\n]+)\n?", _read(git))
    if named is None:
        return None
    folder = os.path.realpath(os.path.join(os.path.dirname(git), named[1]))
    common = os.path.realpath(os.path.join(folder, _read(os.path.join(folder, "commondir")).strip()))
    back = os.path.join(folder, _read(os.path.join(folder, "gitdir")).strip())
    if os.path.dirname(folder) != os.path.join(common, "worktrees") or os.path.realpath(back) != os.path.realpath(git):
        return None
    if not _is_file(os.path.join(common, "config")):
        return None
    shared = _of_folder(common, (common,))
    own = [path for name in ("commondir", "gitdir", "config.worktree") if _is_file(path := os.path.join(folder, name))]
    forbidden = (*shared.forbidden, *_not_there(folder, "config.worktree"))
    return GitPlaces((*shared.writable, folder), (git, *shared.readable, *own), shared.missing, forbidden)


def _not_there(folder: str, *names: str) -> tuple[str, ...]:
    return tuple(path for name in names if not os.path.lexists(path := os.path.join(folder, name)))


def _read(file: str) -> str:
    with suppress(OSError), open(file, encoding="utf-8", errors="surrogateescape") as opened:
        return opened.read(_LARGEST)
    return ""


def _is_file(path: str) -> bool:
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


def _is_folder(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False
