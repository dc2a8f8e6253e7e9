"""For which todo the files of a worktree are kept, until the next attempt at it."""

from __future__ import annotations

import json
import os
from contextlib import suppress

from headway.execute import on_disk
from headway.execute.git import Git

_ATTEMPT = "attempt"
"""A file that says for which todo the files of a worktree are kept."""


class KeptWorktrees:
    def __init__(self, git: Git) -> None:
        self._git = git

    def keep_for(self, name: str, session: str | None, todo_id: str | None) -> None:
        """Say for which todo the files of a worktree are kept; None: for none."""
        path = os.path.join(self._git.folder, "indexes", name, _ATTEMPT)
        if session is None:
            on_disk.remove(path)
        else:
            self._git.write_file(path, json.dumps([session, todo_id]))

    def is_kept(self, name: str) -> bool:
        return os.path.lexists(os.path.join(self._git.folder, "indexes", name, _ATTEMPT))

    def is_kept_for(self, name: str, session: str, todo_id: str) -> bool:
        return self._kept_for(name) == [session, todo_id]

    def session_of(self, name: str) -> str | None:
        """Return the session for which the files of a worktree are kept."""
        kept_for = self._kept_for(name)
        return kept_for[0] if kept_for else None

    def _kept_for(self, name: str) -> list[str]:
        with suppress(OSError, ValueError), open(os.path.join(self._git.folder, "indexes", name, _ATTEMPT)) as file:
            return json.load(file)
        return []
