"""Environments that a worktree shares with the project and that point back into it, as an editable install does.

A command in the worktree would then run the project's modules instead of those that were just written. Their paths in
the worktree are put in front of them (`PYTHONPATH`); where that cannot work, a check has to run in the project.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from glob import escape, glob
from urllib.parse import unquote, urlsplit

_LARGEST = 1_000_000
_MAPPED = re.compile(r"""['"]([\w.]+)['"]\s*[:,]\s*['"]([^'"\n]+)['"]""")
"""A module and its path, as the finders of editable installs name them."""
_IGNORES_PATHS = re.compile(r"PYTHONPATH|(?<!\S)-[a-zA-Z]*[IE]\b|(?<!\S)env\s+-i\b|--isolated\b")
"""What keeps a command from seeing the paths that are put in front."""
_HIDES_ENVIRONMENT = frozenset({"tox", "nox"})


@dataclass(frozen=True, slots=True)
class LinkedEnvironments:
    """What the environments that commands use have of the project's own modules."""

    paths: tuple[str, ...] = ()
    """Folders of the project in which modules are looked for."""
    modules: Mapping[str, str] | None = None
    """Module → its path in the project."""
    unmapped: str | None = None
    """What points into the project in a way that cannot be led elsewhere."""

    @property
    def points_back(self) -> bool:
        return bool(self.paths or self.modules or self.unmapped)


def read_environments(project: str, linked: Iterable[str], environ: Mapping[str, str]) -> LinkedEnvironments:
    """Return what points back into the project: in its linked folders, and in the environment that is in use."""
    reader = _Reader(os.path.realpath(project))
    for name in linked:
        folder = os.path.join(project, name)
        if os.path.basename(name) == "node_modules":
            reader.read_node_modules(folder)
    for prefix in _prefixes(project, linked, environ):
        for site in _site_packages(prefix):
            reader.read_site_packages(site)
    return LinkedEnvironments(tuple(reader.paths), reader.modules, reader.unmapped)


def variables_for(found: LinkedEnvironments, project: str, worktree: str, shims: str) -> dict[str, str]:
    """Return the variables with which commands find the worktree's modules first.

    `shims`: a folder for links, where a module's path does not end in its name.
    """
    if not found.paths and not found.modules:
        return {}
    home = os.path.realpath(project)
    paths = [_to_worktree_path(path, home, worktree) for path in found.paths]
    for name, path in (found.modules or {}).items():
        there = _to_worktree_path(path, home, worktree)
        if os.path.basename(there).removesuffix(".py") == name:
            paths.append(os.path.dirname(there))
        else:
            paths.append(shims)
            os.makedirs(shims, exist_ok=True)
            link = os.path.join(shims, f"{name}.py" if there.endswith(".py") else name)
            with suppress(FileNotFoundError):
                os.unlink(link)
            os.symlink(there, link)
    return {"PYTHONPATH": os.pathsep.join(dict.fromkeys(paths))}


def must_run_in_project(check: str, found: LinkedEnvironments, project: str) -> str | None:
    """Return why a check that runs in a worktree could be about the project's files instead; None if it is not."""
    if any(path in check for path in {os.path.realpath(project), os.path.abspath(project)}):
        return "it names the project's folder"
    if found.unmapped is not None:
        return f"{found.unmapped} points into the project"
    if found.points_back and (_IGNORES_PATHS.search(check) or not _HIDES_ENVIRONMENT.isdisjoint(check.split())):
        return "it searches for modules in its own paths"
    return None


def _to_worktree_path(path: str, home: str, worktree: str) -> str:
    return os.path.normpath(os.path.join(worktree, os.path.relpath(path, home)))


def _prefixes(project: str, linked: Iterable[str], environ: Mapping[str, str]) -> Iterator[str]:
    """The Python environments that commands may use."""
    prefixes = [os.path.join(project, name) for name in linked]
    prefixes += [environ[name] for name in ("VIRTUAL_ENV", "CONDA_PREFIX") if environ.get(name)]
    for program in ("python", "python3", "pytest"):
        if found := shutil.which(program, path=environ.get("PATH")):
            prefixes.append(os.path.dirname(os.path.dirname(os.path.abspath(found))))
    yield from dict.fromkeys(prefixes)


def _site_packages(prefix: str) -> Iterator[str]:
    for pattern in ("lib*/python*/site-packages", "lib*/python*/dist-packages", "Lib/site-packages"):
        yield from glob(os.path.join(escape(prefix), pattern))


class _Reader:
    def __init__(self, home: str) -> None:
        self._home = home
        self.paths: dict[str, None] = {}
        self.modules: dict[str, str] = {}
        self.unmapped: str | None = None

    def read_site_packages(self, site: str) -> None:
        with suppress(OSError):
            # What a distribution says of itself comes last: it counts only where nothing else says it.
            for name in sorted(os.listdir(site), key=lambda name: (name.endswith(".dist-info"), name)):
                path = os.path.join(site, name)
                if name.endswith((".pth", ".egg-link")):
                    self._read_paths(path)
                elif name.endswith(".py") and "editable" in name:
                    self._read_finder(path)
                elif name.endswith(".dist-info"):
                    self._read_origin(path)
                elif os.path.islink(path) and self._is_ours(os.path.realpath(path)):
                    self.modules[name.removesuffix(".py")] = os.path.realpath(path)

    def read_node_modules(self, folder: str) -> None:
        """Links of workspaces lead to the project's own packages; Node follows them wherever they are found."""
        with suppress(OSError):
            for name in sorted(os.listdir(folder)):
                entries = [name]
                if name.startswith("@"):
                    entries = [f"{name}/{inner}" for inner in os.listdir(os.path.join(folder, name))]
                for entry in entries:
                    path = os.path.join(folder, entry)
                    if os.path.islink(path) and self._is_ours(os.path.realpath(path)):
                        self._note(f"node_modules/{entry}")

    def _read_paths(self, file: str) -> None:
        for line in _read(file).splitlines():
            text = line.strip()
            if not text or text.startswith("#") or text == ".":
                continue
            if text.startswith(("import ", "import\t")):
                if self._home in text:
                    self._note(os.path.basename(file))
            elif self._is_ours(path := os.path.realpath(os.path.join(os.path.dirname(file), text))):
                self._add_path(path, file)

    def _read_finder(self, file: str) -> None:
        text = _read(file)
        found = [(name, path) for name, path in _MAPPED.findall(text) if self._is_ours(os.path.realpath(path))]
        for name, path in found:
            real = os.path.realpath(path)
            if os.path.basename(real) == "__init__.py":
                real = os.path.dirname(real)
            if "." in name or not os.path.exists(real):
                self._note(os.path.basename(file))
            else:
                self.modules[name] = real
        if not found and self._home in text:
            self._note(os.path.basename(file))

    def _read_origin(self, folder: str) -> None:
        """An editable install of the project itself, of which nothing else says where its modules are."""
        with suppress(ValueError, AttributeError):
            origin: object = json.loads(_read(os.path.join(folder, "direct_url.json")) or "null")
            if not isinstance(origin, dict) or not origin.get("dir_info", {}).get("editable"):  # type: ignore[reportUnknownMemberType]
                return
            path = os.path.realpath(unquote(urlsplit(str(origin.get("url"))).path))  # type: ignore[reportUnknownMemberType]
            known = [*self.paths, *self.modules.values()]
            if self._is_ours(path) and not any(other == path or other.startswith(f"{path}/") for other in known):
                self._note(os.path.basename(folder))

    def _add_path(self, path: str, file: str) -> None:
        # What a build put together, such as setuptools' strict mode, is made of links to the project's files.
        if os.path.isdir(path) and "__editable__" not in path:
            self.paths[path] = None
        else:
            self._note(os.path.basename(file))

    def _note(self, what: str) -> None:
        self.unmapped = self.unmapped or what

    def _is_ours(self, path: str) -> bool:
        """Whether it is in the project, and not in an environment that is there too."""
        inside = os.path.relpath(path, self._home)
        parts = inside.split(os.sep)
        return parts[0] != ".." and not {"site-packages", "node_modules", ".headway"} & set(parts)


def _read(file: str) -> str:
    with suppress(OSError):
        if os.path.isfile(file) and os.path.getsize(file) <= _LARGEST:
            with open(file, encoding="utf-8", errors="replace") as opened:
                return opened.read()
    return ""
