"""The own files of a check: what it names, the tests that it runs, and what steers the program that runs them.

Whoever changes one of them may have weakened the check, so that its passing says nothing. Files are compared by their
content before and after the work; of files that also say other things, such as `pyproject.toml`, only by what steers.
"""

from __future__ import annotations

import configparser
import json
import os
import re
import shutil
import site
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from glob import escape, glob, has_magic
from hashlib import file_digest, sha256
from typing import cast

from headway.tools.checks.check_command import CHANGED_FILES, CheckCommand, list_paths, parse_check

# What a check runs with that is no part of the work: its programs, and what their environment loads at every start.

_SITE = ("lib*/python*/site-packages", "Lib/site-packages")
_STARTUP = ("sitecustomize.py", "usercustomize.py")
_RUNNERS = ("pytest", "_pytest", "pluggy")
"""Packages that run tests: all their sources."""
_ENVIRONMENTS = (".venv", "venv")
_LINKED = (*_ENVIRONMENTS, "node_modules")
_PYTHON_RUNNERS = ("python", "python3", "pytest", "py.test")
_NODE_RUNNERS = ("jest", "vitest", "mocha", "ava", "playwright", "cypress", "karma", "eslint", "tsc")
_LARGEST = 4_000_000
"""Bytes; a larger file is an interpreter, of which its size and time will do."""
_SET = re.compile(r"\bPYTHONPATH=(\S+)")


def read_programs(command: CheckCommand, folder: str, *, has_python: bool) -> dict[str, str]:
    """Return path → content of what a check's programs are, and of what runs whenever they start."""
    found: dict[str, str] = {}
    prefixes = [os.path.join(folder, name) for name in _ENVIRONMENTS]
    for base, word in dict.fromkeys(
        (*command.starts, *((("", name) for name in _PYTHON_RUNNERS) if has_python else ()))
    ):
        path = os.path.normpath(os.path.join(folder, base, word)) if "/" in word else shutil.which(word)
        if path is not None:
            if _first_part(path, folder) in (None, *_LINKED):  # the project's own scripts are its own files
                _add(found, path, folder)
            prefixes.append(os.path.dirname(os.path.dirname(os.path.abspath(path))))
    for name in _NODE_RUNNERS:
        _add(found, os.path.join(folder, "node_modules", ".bin", name), folder)
    if has_python:
        seen: set[str] = set()
        for prefix in dict.fromkeys(prefixes):
            for name in _PYTHON_RUNNERS:
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


_STAMPED = 20
"""Files of which each is named in a stamp."""
MAX_FILES = 20_000
"""Files that are looked at."""
NOT_LOOKED_INTO = frozenset({
    *(".git", ".hg", ".svn", ".headway", "node_modules", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache"),
    *(".venv", "venv", ".tox", ".nox", ".eggs"),
})  # fmt: skip
_TEST_FOLDERS = frozenset({"test", "tests", "spec", "specs", "__tests__", "__snapshots__", "testdata", "e2e"})
_TEST_FILE = re.compile(
    r"""(?x)
      (?: test_.* | .*_tests? | tests? | conftest ) \.\w+
    | .* [._] (?: test | spec ) \. \w+
    | .* Tests? \. (?: java | kt | cs | swift | php | scala )
    """
)
_PATH = re.compile(r"/|\.(?:py|[cm]?[jt]sx?|go|rs)(?:::|$)")
_PYTEST = ("conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "tox.ini", "setup.cfg")
_PYTHON = ("sitecustomize.py", "usercustomize.py")
_LINTERS = (
    *("ruff.toml", ".ruff.toml", "mypy.ini", ".mypy.ini", "pyrightconfig.json", ".flake8", ".pylintrc", "pylintrc"),
    *("setup.cfg", "tox.ini", "pyproject.toml"),
)
_NODE = (
    *("package.json", "jest.config.*", "jest.setup.*", "vitest.config.*", "vitest.setup.*", "vite.config.*"),
    *(".mocharc*", "ava.config.*", "playwright.config.*", "cypress.config.*", "karma.conf.*", "babel.config.*"),
    *(".babelrc*", "eslint.config.*", ".eslintrc*"),
)
_SCRIPTS = (
    *("Makefile", "makefile", "GNUmakefile", "*.mk", "justfile", "Justfile", "Taskfile.y*ml", "Rakefile", "noxfile.py"),
    *("tasks.py", "*.sh", "build.gradle*", "pom.xml", "gradlew", "mvnw", ".coveragerc", "phpunit.xml*", ".rspec"),
)
_PYTHON_TESTS = ("pytest", "py.test", "unittest", "nose2", "trial")
_NODE_TESTS = ("jest", "vitest", "mocha", "ava", "playwright", "cypress", "karma")
_LINT = ("ruff", "mypy", "pyright", "basedpyright", "flake8", "pylint", "black", "isort")
_STEERS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(_PYTHON_TESTS, (*_PYTEST, *_PYTHON, "pyproject.toml")),
    **dict.fromkeys(_LINT, _LINTERS),
    **dict.fromkeys((*_NODE_TESTS, "eslint"), _NODE),
    "python": _PYTHON,
    "go": (),
    "cargo": (),
}
"""Program → the names of files that steer it."""
_PLAIN_NAMES = """
    true false test [ grep egrep fgrep rg diff cmp cat head tail wc sed awk jq curl node deno ruby perl php java javac
    gcc cc clang g++ rustc tsc git ls cd echo printf export set sort uniq sleep exit
"""
_INTERPRETERS = frozenset({"python", "node", "deno", "ruby", "perl", "php", "java"})
_RUNS_TESTS = frozenset((*_PYTHON_TESTS, *_NODE_TESTS, "go", "cargo"))
_PLAIN = frozenset(_PLAIN_NAMES.split())
"""Programs that run nothing but what the command says."""
_MODULE_NAMES = """
    pytest _pytest pluggy iniconfig packaging pygments py exceptiongroup tomli unittest nose2 sitecustomize
    usercustomize argparse ast atexit base64 bdb bisect bz2 codeop collections contextlib contextvars copy copyreg csv
    dataclasses datetime difflib dis doctest enum faulthandler fnmatch functools gettext glob hashlib heapq importlib
    inspect ipaddress itertools json keyword linecache locale lzma opcode operator pathlib pdb pickle pkgutil pprint re
    reprlib runpy selectors shlex shutil signal socket ssl string struct subprocess sysconfig tempfile textwrap
    threading tokenize tomllib traceback typing unicodedata urllib uuid warnings weakref xml zipfile zlib
"""
_SHADOWING = frozenset(_MODULE_NAMES.split())
"""What programs that run tests import themselves, once the project's modules can be found."""
_MODULES = (".py", ".pyc", ".so")
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_MAKE = frozenset({"make", "gmake"})
_RUN_BY_SCRIPTS = (".sh", ".bash", ".mk")
_SCRIPT_FOLDERS = frozenset({"script", "scripts", "ci", ".ci", ".github"})
_MENTIONED = re.compile(r"[\w.+-][\w./+-]*")
_LARGEST_SCRIPT = 200_000
_ALL = tuple(dict.fromkeys((*_PYTEST, *_PYTHON, *_LINTERS, *_NODE, *_SCRIPTS)))
_PACKAGING = frozenset({"poetry", "uv", "pdm", "hatch", "setuptools", "flit", "setuptools_scm", "cibuildwheel"})
_PACKAGE_KEYS = (
    *("scripts", "jest", "vitest", "mocha", "ava", "nyc", "c8", "babel", "eslintConfig", "type", "wireit", "nx"),
)


@dataclass(frozen=True, slots=True)
class CheckFiles:
    """A check's own files as they are at one moment."""

    contents: Mapping[str, str]
    """Path, relative to the folder → what its content comes down to."""
    steering: frozenset[str]
    """Those that steer the program: a new one can weaken tests that were there before."""
    has_tests: bool
    """Whether any file is there that is itself what the check runs."""
    programs: Mapping[str, str] = field(default_factory=dict[str, str])
    """What it runs with, such as `.venv/bin/pytest`, and what takes the place of a target of `make`."""

    def stamp(self) -> str:
        """Return a short text with which `is_as_stamped` finds out later whether one of them was changed."""
        if len(self.contents) > _STAMPED:
            return self._digest()
        return json.dumps({path: content[:16] for path, content in self.contents.items()}, ensure_ascii=False)

    def is_as_stamped(self, stamp: str) -> bool:
        """Return whether all files that were there then are as they were; of many, also that none was added."""
        try:
            then: object = json.loads(stamp)
        except ValueError:
            return stamp == self._digest()
        if not isinstance(then, dict):
            return False
        kept = cast("dict[str, object]", then)
        return all(self.contents.get(path, "")[:16] == content for path, content in kept.items())

    def _digest(self) -> str:
        return "all " + sha256(json.dumps(sorted(self.contents.items())).encode()).hexdigest()[:32]


def read_check_files(check: str, folder: str, variables: Mapping[str, str] | None = None) -> CheckFiles:
    """Return the check's own files as they are now in the folder where it runs, with these variables."""
    return _CheckFileReader(folder, check, variables).result()


def list_changed_check_files(
    before: CheckFiles, check: str, folder: str, variables: Mapping[str, str] | None = None
) -> list[str]:
    """Return what may have weakened the check: its own files that were changed or removed, and new ones that steer."""
    after = _CheckFileReader(folder, check, variables).result(also=before)
    changed = {path for path, content in before.contents.items() if after.contents.get(path) != content}
    if before.has_tests:
        changed |= {path for path in after.contents if path not in before.contents and path in after.steering}
    return sorted(changed | {*list_changed_programs(before.programs, after.programs)})


class _CheckFileReader:
    """What a command's own files are in one folder."""

    def __init__(self, folder: str, check: str, variables: Mapping[str, str] | None) -> None:
        self._root = os.path.realpath(folder)
        self._command = command = parse_check(check)
        self._has_changed_files = CHANGED_FILES in check
        self._search = {*list_search_folders(check, folder, variables or {})}
        known = _STEERS.keys() | _PLAIN
        self._is_certain = command.is_certain and bool(command.programs) and not command.programs - known
        """Whether it runs only programs that are known here, on what it names."""
        self._found: dict[str, str] = {}
        self._steering: set[str] = set()
        self._has_tests = False

    def result(self, also: CheckFiles | None = None) -> CheckFiles:
        """`also`: what were its own files before, though nothing may name them any more."""
        named, folders, bases = self._add_named()
        self._add_steering(self._patterns(), bases | folders | self._search | {os.path.dirname(path) for path in named})
        if not self._is_certain:
            self._add_mentioned()
        for path in also.contents if also is not None else ():
            if os.path.lexists(os.path.join(self._root, path)):
                self._add(path, steers=also is not None and path in also.steering)
        programs = read_programs(self._command, self._root, has_python=self._runs_python())
        programs |= self._read_targets() | self._read_above()
        return CheckFiles(self._found, frozenset(self._steering), self._has_tests, programs)

    def _add_named(self) -> tuple[set[str], set[str], set[str]]:
        """Add what the command names and the tests that it runs; return files, folders and where its parts run."""
        command, has_scope = self._command, _names_path(self._command)
        runs_tests = not command.programs.isdisjoint(_RUNS_TESTS)
        runs_files = runs_tests or not self._is_certain or not command.programs.isdisjoint(_INTERPRETERS)
        inside_of = {base: os.path.relpath(os.path.join(self._root, base), self._root) for base, _ in command.words}
        bases = {""} | {path for path in inside_of.values() if path != "." and not path.startswith("..")}
        folders: set[str] = set()
        named: set[str] = set()
        for base, word in (*command.words, *command.modules):
            for path in list_paths(word):
                files, inside = self._resolve(base, path)
                named |= files
                if not self._is_certain or (runs_tests and not word.startswith("-")):  # --cov=src does not choose tests
                    folders |= inside
        if self._has_changed_files or not self._is_certain:
            folders.add("")
        elif runs_tests and not has_scope and not folders:
            folders |= bases if len(bases) == 1 else bases - {""}
        for path in sorted(named):
            self._has_tests = True
            self._add(path)
            if runs_files:
                self._add_support(path)
        has_any = [self._add_tests(inside) for inside in sorted(folders)]
        if runs_tests and not has_scope and not any(has_any):
            self._add_tests("")  # what is named holds no tests
        return named, folders, bases

    def _add_mentioned(self) -> None:
        """Add the scripts that the check's own scripts mention, such as those that a Makefile runs or includes."""
        queue = [path for path in self._found if self._is_script(path)]
        for path in queue:
            for line in self._read_script(path).splitlines():
                includes = line.lstrip("-s ").startswith("include ")
                for word in {*_MENTIONED.findall(line)}:
                    for inside in self._resolve(os.path.dirname(path), word)[0] | self._resolve("", word)[0]:
                        if inside not in self._found and (includes or self._is_script(inside)):
                            self._add(inside)
                            queue.append(inside)

    def _is_script(self, path: str) -> bool:
        *folders, name = path.split("/")
        is_script = name.endswith(_RUN_BY_SCRIPTS) or not _SCRIPT_FOLDERS.isdisjoint(folders)
        return is_script or any(fnmatchcase(name, pattern) for pattern in ("package.json", *_SCRIPTS))

    def _read_script(self, path: str) -> str:
        full = os.path.join(self._root, path)
        with suppress(OSError):
            if os.path.isfile(full) and os.path.getsize(full) <= _LARGEST_SCRIPT:
                with open(full, encoding="utf-8", errors="replace") as file:
                    return file.read()
        return ""

    def _read_targets(self) -> dict[str, str]:
        """A file called like a target, or a makefile that comes first, has `make` do nothing, or something else."""
        if _MAKE.isdisjoint(self._command.programs):
            return {}
        words = {(base, word) for base, word in self._command.words if "/" not in word and not word.startswith("-")}
        names = {os.path.normpath(os.path.join(base, word)) for base, word in words}
        names |= {os.path.normpath(os.path.join(base, name)) for base, _ in words for name in _MAKEFILES[:2]}
        return {name: "there" for name in names if os.path.lexists(os.path.join(self._root, name))}

    def _read_above(self) -> dict[str, str]:
        """Settings of pytest in the folders above, where it looks if the project has none."""
        if self._command.programs.isdisjoint(_PYTHON_TESTS) and self._is_certain:
            return {}
        if any(path in self._found for path in (*_PYTEST[1:], "pyproject.toml")):
            return {}
        reading: dict[str, str] = {}
        above = os.path.dirname(self._root)
        while above != os.path.dirname(above):
            for name in (*_PYTEST, "pyproject.toml"):
                with suppress(OSError), open(os.path.join(above, name), "rb") as file:
                    reading[os.path.relpath(os.path.join(above, name), self._root)] = sha256(file.read()).hexdigest()
            above = os.path.dirname(above)
        return reading

    def _patterns(self) -> tuple[str, ...]:
        programs = sorted(self._command.programs)
        steers = [name for program in programs for name in _STEERS.get(program, ())]
        return tuple(dict.fromkeys(steers)) if self._is_certain else _ALL

    def _runs_python(self) -> bool:
        return not self._is_certain or not self._command.programs.isdisjoint({*_PYTHON_TESTS, "python"})

    def _resolve(self, base: str, word: str) -> tuple[set[str], set[str]]:
        """(files, folders) of the project that a word names."""
        full = os.path.join(self._root, base, word)
        try:
            matches = glob(full) if has_magic(word) else [full] if os.path.lexists(full) else []
        except (OSError, ValueError, re.error):
            return set(), set()
        files: set[str] = set()
        folders: set[str] = set()
        for match in matches:
            path = os.path.relpath(os.path.normpath(match), self._root)
            if path.startswith("..") or os.path.isabs(path) or path.split("/")[0] in NOT_LOOKED_INTO:
                continue
            (folders if os.path.isdir(match) else files).add("" if path == "." else path)
        return files, folders

    def _add_support(self, path: str) -> None:
        """Add what lies beside a test in its folder of tests and is no other test: helpers, data."""
        parts = path.split("/")[:-1]
        top = next((at for at, part in enumerate(parts) if part in _TEST_FOLDERS), None)
        if top is None:
            return
        for file in self._walk("/".join(parts[: top + 1])):
            name = os.path.basename(file)
            if name != "conftest.py" and not _TEST_FILE.fullmatch(name):
                self._add(file)

    def _add_tests(self, inside: str) -> bool:
        """Add the tests in a folder; return whether there are any."""
        found = False
        for path in self._walk(inside):
            is_in_tests = not _TEST_FOLDERS.isdisjoint(path.split("/")[:-1])
            if is_in_tests or _TEST_FILE.fullmatch(os.path.basename(path)):
                found = found or os.path.basename(path) != "conftest.py"
                self._add(path)
        self._has_tests = self._has_tests or found
        return found

    def _add_steering(self, patterns: Sequence[str], below: set[str]) -> None:
        folders = {""}
        for path in below:
            while path:
                folders.add(path)
                path = os.path.dirname(path)
        runs_python = self._runs_python()
        for folder in folders:
            with suppress(OSError):
                for name in os.listdir(os.path.join(self._root, folder)):
                    path = os.path.join(folder, name)
                    is_folder = os.path.isdir(os.path.join(self._root, path))
                    if not is_folder and any(fnmatchcase(name, pattern) for pattern in patterns):
                        self._steer(path)
                    elif runs_python and name.partition(".")[0] in _SHADOWING:
                        self._steer_modules(path, is_folder=is_folder)
        self._steering |= {path for path in self._found if os.path.basename(path) == "conftest.py"}

    def _steer(self, path: str) -> None:
        self._steering.add(path)
        self._add(path, steers=True)

    def _steer_modules(self, path: str, *, is_folder: bool) -> None:
        """A module of such a name is imported in place of the program's own."""
        if path.endswith(_MODULES) and not is_folder:
            self._steer(path)
        elif is_folder:
            with suppress(OSError):
                names = os.listdir(os.path.join(self._root, path))
                for name in names:
                    if name.startswith("__init__.") and name.endswith(_MODULES):
                        self._steer(os.path.join(path, name))

    def _walk(self, inside: str) -> Iterator[str]:
        left = MAX_FILES
        for at, folders, names in os.walk(os.path.join(self._root, inside)):
            folders[:] = sorted(name for name in folders if name not in NOT_LOOKED_INTO)
            for name in sorted(names):
                if not name.endswith((".pyc", ".pyo")):
                    yield os.path.relpath(os.path.join(at, name), self._root)
                    left -= 1
            if left <= 0:
                return

    def _add(self, path: str, *, steers: bool = False) -> None:
        full = os.path.join(self._root, path)
        if path in self._found or os.path.isdir(full):
            return
        link = os.readlink(full) if os.path.islink(full) else ""
        if os.path.lexists(full) and not os.path.isfile(full):  # reading a pipe or a device would never end
            self._found[path] = f"no file {link}"
            return
        try:
            with open(full, "rb") as file:
                if not steers:
                    self._found[path] = _digest_with_link(link, file_digest(file, "sha256").digest())
                    return
                content = file.read()
        except OSError as error:
            self._found[path] = f"unreadable {error.errno} {link}"
            return
        part = _steering_part(os.path.basename(path), content) if steers else None
        if part == b"":
            self._steering.discard(path)  # nothing in it steers
        self._found[path] = _digest_with_link(link, sha256(content).digest() if part is None else part)


def _digest_with_link(link: str, content: bytes) -> str:
    return sha256(os.fsencode(link) + b"\0" + content).hexdigest()


def _names_path(command: CheckCommand) -> bool:
    """Whether a path is named, there or not, apart from programs."""
    words = (word for base, word in command.words if (base, word) not in command.starts)
    return any(_PATH.search(word) for word in words if not word.startswith(("-", "/")))


def _steering_part(name: str, content: bytes) -> bytes | None:
    """Return what steers in a file that also says other things; None if all of it counts."""
    try:
        if name == "pyproject.toml":
            tool = tomllib.loads(content.decode()).get("tool", {})
            return _dump_values({key: value for key, value in tool.items() if key not in _PACKAGING})
        if name == "package.json":
            record = cast("dict[str, object]", json.loads(content))
            return _dump_values({key: record[key] for key in _PACKAGE_KEYS if key in record})
        if name in ("setup.cfg", "tox.ini"):
            parser = configparser.RawConfigParser(strict=False)
            parser.read_string(content.decode())
            sections = {section: dict(parser.items(section)) for section in parser.sections()}
            return _dump_values({
                name: values
                for name, values in sections.items()
                if not name.startswith(("metadata", "options", "bdist", "egg_info"))
            })  # fmt: skip
    except (ValueError, AttributeError, TypeError, configparser.Error, RecursionError):
        return None
    return None


def _dump_values(values: Mapping[str, object]) -> bytes:
    return json.dumps(values, sort_keys=True, default=str).encode() if values else b""
