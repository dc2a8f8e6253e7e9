"""Whether a file is, or could become, part of the program that runs here: a change of it would be a command unasked."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[2]
_IMPORTED = (".py", ".pyc", ".so", ".pth")


def is_running_code(root: str, path: str) -> bool:
    """Whether it is in the interpreter's own folders, or would be a new module where modules are looked for."""
    try:
        return _is_running(root, Path(os.path.realpath(os.path.join(root, path))))
    except (OSError, ValueError):
        return True  # no path that can be: whoever looks at it next will say so


def _is_running(root: str, file: Path) -> bool:
    homes = (Path(sys.prefix).resolve(), _PACKAGE)
    if any(home.is_relative_to(root) and file.is_relative_to(home) for home in homes):
        return True
    for entry in sys.path:
        home = Path(entry or os.curdir).resolve()
        if file.suffix in _IMPORTED and file != home and file.is_relative_to(home):
            first = home / file.relative_to(home).parts[0]
            if home.is_relative_to(root) and not first.exists():
                return True
    return False
