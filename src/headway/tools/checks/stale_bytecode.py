"""Python's compiled files, which may be of another version of a source than the one that is checked."""

from __future__ import annotations

import os
from contextlib import suppress

WITHOUT_BYTECODE = {"PYTHONDONTWRITEBYTECODE": "1"}
"""So that a check leaves nothing behind that would hide a later edit."""
_NOT_OURS = frozenset({".git", ".hg", ".svn", ".headway", "node_modules", ".venv", "venv", ".tox", ".nox"})


def remove_bytecode(folder: str) -> None:
    """Remove what Python compiled of the folder's sources.

    Python takes a compiled file for current if the source has the same size and was saved in the same second. So a
    quick edit, or a made-up time, would let a check run code that is no longer there.
    """
    for at, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in _NOT_OURS]
        if os.path.basename(at) == "__pycache__":
            for name in names:
                if name.endswith(".pyc"):
                    with suppress(OSError):
                        os.unlink(os.path.join(at, name))
