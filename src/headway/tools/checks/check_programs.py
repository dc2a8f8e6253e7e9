"""What a check runs with that is no part of the work: its programs, and what their environment loads at every start.

A script in place of `pytest`, or a `.pth` file in a linked `.venv`, makes any check pass; so they belong to the check.
"""

from __future__ import annotations

import os
import re
import shutil
import site
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from glob import escape, glob
from hashlib import sha256

from headway.tools.checks.check_command import CheckCommand

_SITE = ("lib*/python*/site-packages", "Lib/site-packages")
_STARTUP = ("sitecustomize.py", "usercustomize.py")
_RUNNERS = ("pytest", "_pytest", "pluggy")
"""Packages that run tests: all their sources."""
_ENVIRONMENTS = (".venv", "venv")
_LINKED = (*_ENVIRONMENTS, "node_modules")
_PYTHON = ("python", "python3", "pytest", "py.test")
_NODE = ("jest", "vitest", "mocha", "ava", "playwright", "cypress", "karma", "eslint", "tsc")
_LARGEST = 4_000_000
"""Bytes; a larger file is an interpreter, of which its size and time will do."""
_SET = re.compile(r"\bPYTHONPATH=(\S+)")


def read_programs(command: CheckCommand, folder: str, *, has_python: bool) -> dict[str, str]:
    """Return path → content of what a check's programs are, and of what runs whenever they start."""
    found: dict[str, str] = {}
    prefixes = [os.path.join(folder, name) for name in _ENVIRONMENTS]
    for base, word in dict.fromkeys((*command.starts, *((("", name) for name in _PYTHON) if has_python else ()))):
        path = os.path.normpath(os.path.join(folder, base, word)) if "/" in word else shutil.which(word)
        if path is not None:
            if _first_part(path, folder) in (None, *_LINKED):  # the project's own scripts are its own files
                _add(found, path, folder)
            prefixes.append(os.path.dirname(os.path.dirname(os.path.abspath(path))))
    for name in _NODE:
        _add(found, os.path.join(folder, "node_modules", ".bin", name), folder)
    if has_python:
        seen: set[str] = set()
        for prefix in dict.fromkeys(prefixes):
            for name in _PYTHON:
                _add(found, os.path.join(prefix, "bin", name), folder)
            for pattern in _SITE:
                for packages in sorted(glob(os.path.join(escape(prefix), pattern))):
                    if (real := os.path.realpath(packages)) not in seen:  # lib64 is lib
                        seen.add(real)
                        _add_packages(found, packages, folder)
        _add_packages(found, site.getusersitepackages(), folder)
    return found


def list_changed_programs(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    """Yield what is different; of an environment that was not there before, nothing."""
    parts = {path.split(os.sep)[0] for path in before}
    for path in {*before, *after}:
        part = path.split(os.sep)[0]
        if before.get(path) != after.get(path) and (path in before or part not in _LINKED or part in parts):
            yield path


def list_search_folders(check: str, folder: str, variables: Mapping[str, str]) -> Iterator[str]:
    """Yield the folders of the project, relative to it, in which a check's Python looks for modules first."""
    for text in (variables.get("PYTHONPATH", ""), *_SET.findall(check)):
        for path in text.strip("'\"").split(os.pathsep):
            inside = os.path.relpath(os.path.realpath(os.path.join(folder, path)), os.path.realpath(folder))
            if path and inside.split(os.sep)[0] not in ("..", "."):
                yield inside


def _add_packages(found: dict[str, str], packages: str, folder: str) -> None:
    for name in _list_names(packages):
        path = os.path.join(packages, name)
        if name.endswith(".pth") or name in _STARTUP:
            _add(found, path, folder)
        elif name in _RUNNERS:
            for at, folders, names in os.walk(path):
                folders[:] = [inner for inner in folders if inner != "__pycache__"]
                for inner in names:
                    _add(found, os.path.join(at, inner), folder)
        elif name.endswith((".dist-info", ".egg-info")) and _is_plugin(os.path.join(path, "entry_points.txt")):
            _add(found, os.path.join(path, "entry_points.txt"), folder)


def _is_plugin(path: str) -> bool:
    with suppress(OSError):
        if os.path.isfile(path):
            with open(path, "rb") as file:
                return b"[pytest11]" in file.read(_LARGEST)
    return False


def _list_names(folder: str) -> Iterable[str]:
    with suppress(OSError):
        return sorted(os.listdir(folder))
    return ()


def _add(found: dict[str, str], path: str, folder: str) -> None:
    with suppress(OSError):
        real = os.path.realpath(path)
        about = os.stat(real)
        if not os.path.isfile(real):
            return
        content = f"{real} {about.st_size} {about.st_mtime_ns}"
        if about.st_size <= _LARGEST:
            with open(real, "rb") as file:
                content = sha256(file.read()).hexdigest()
        found[path if _first_part(path, folder) is None else os.path.relpath(path, folder)] = content


def _first_part(path: str, folder: str) -> str | None:
    """Return what a path begins with in the folder; None if it is elsewhere."""
    part = os.path.relpath(path, folder).split(os.sep)[0]
    return None if part == ".." else part
