"""Programs that Headway starts for itself: those that are installed, never those of the project."""

from __future__ import annotations

import os
import shutil


def find_program(name: str, project: str | os.PathLike[str]) -> str | None:
    """Return the path of an installed program; None if there is none but in the project or by a relative PATH."""
    roots = {os.path.abspath(project), os.path.realpath(project)}
    for folder in os.get_exec_path():
        found = shutil.which(name, path=folder) if os.path.isabs(folder) else None
        if found is not None and not any(
            path.startswith(f"{root}{os.sep}") for path in (found, os.path.realpath(found)) for root in roots
        ):
            return found
    return None
