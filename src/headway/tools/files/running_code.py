"""Whether a file is, or could become, part of the program that runs here: a change of it would be a command unasked."""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[2]
_OF_AN_ENVIRONMENT = ("bin", "lib", "lib64", "include", "pyvenv.cfg")
_IMPORTED = (".py", ".pyc", ".so", ".pth")


def is_running_code(root: str, path: str) -> bool:
    """Whether it is in the interpreter's own folders, or would hide a module that may be imported."""
    try:
        return _is_running(root, Path(os.path.realpath(os.path.join(root, path))))
    except (OSError, ValueError):
        return True  # no path that can be: whoever looks at it next will say so


def _is_running(root: str, file: Path) -> bool:
    for home in (Path(sys.prefix).resolve(), _PACKAGE):
        if home.is_relative_to(root) and file.is_relative_to(home):
            inside = file.relative_to(home).parts
            return home != Path(root) or inside[0] in _OF_AN_ENVIRONMENT
    for entry in sys.path:
        home = Path(entry or os.curdir).resolve()
        if home.is_relative_to(root) and file != home and file.is_relative_to(home) and file.suffix in _IMPORTED:
            first = home / file.relative_to(home).parts[0]
            if file.suffix == ".pth" or (not first.exists() and _is_imported(first.stem, root)):
                return True
    return False


def _is_imported(name: str, root: str) -> bool:
    """Whether the program could mean another module by the name, one that is not of the project."""
    if name in sys.stdlib_module_names or name in ("sitecustomize", "usercustomize"):
        return True
    elsewhere = [entry for entry in sys.path if not Path(entry or os.curdir).resolve().is_relative_to(root)]
    return PathFinder.find_spec(name, elsewhere) is not None
