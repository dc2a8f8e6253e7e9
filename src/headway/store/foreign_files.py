"""Files that may be someone else's work, so that nothing in them may count as the user's word."""

from __future__ import annotations

import os

from headway.store.git_index import is_tracked

OTHER_OWNER = "another user owns the file"


def explain_foreign(file: str) -> str | None:
    """Say why a file, or the folder it is in, may be someone else's; None if it is the user's own or not there."""
    folder = os.path.dirname(file)
    if os.path.islink(folder) or os.path.islink(file):
        return "the file is reached through a link"
    if hasattr(os, "geteuid") and any(_has_other_owner(path) for path in (folder, file)):
        return OTHER_OWNER
    return "git tracks the file" if is_tracked(file) else None


def _has_other_owner(path: str) -> bool:
    try:
        return os.stat(path).st_uid != os.geteuid()
    except (FileNotFoundError, NotADirectoryError):
        return False
