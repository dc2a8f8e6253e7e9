"""Read a check's command: what it names, what it starts, and whether all of it is understood. Pure; nothing is run."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

CHANGED_FILES = "{files}"
"""Stands in a check for the files that were changed."""
_DEEPEST = 3
"""How many shells within shells are looked into."""
_OPERATORS = frozenset(";|&()")
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh"})
_STARTERS = frozenset(
    {"env", "time", "timeout", "exec", "nice", "nohup", "command", "uv", "poetry", "pipenv", "pdm", "hatch", "rye"}
)
"""Programs that start another one."""
_NO_CHECKS = frozenset({"true", ":", "echo", "printf", "sleep", "date", "pwd", "export", "set", "unset"})
_FILTER_NAMES = "cat tac head tail tee wc sort uniq nl tr cut paste rev fold fmt column less more"
_FILTERS = frozenset(_FILTER_NAMES.split())
"""At the end of a pipe they succeed, whatever comes before."""
_FAILS_IN_PIPES = "pipefail"
_STOPS_AT_FAILURE = re.compile(r"\bset\s+-\w*e|\berrexit\b")
_SHOWS_ITSELF = frozenset({"--version", "--help", "--exit-zero"})
_ONLY_GROUPS = frozenset({"{", "}"})
_PATTERN = frozenset("*?[")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_PYTHON_PROGRAM = re.compile(r"python[0-9.]*")


@dataclass(frozen=True, slots=True)
class CheckCommand:
    """What a check's command comes down to."""

    words: tuple[tuple[str, str], ...]
    """(folder relative to where the check begins, word)"""
    modules: tuple[tuple[str, str], ...]
    """The same of files that `python -m` may mean."""
    programs: frozenset[str]
    starts: tuple[tuple[str, str], ...]
    """(folder relative to where the check begins, program as it is written)"""
    is_certain: bool
    """Whether nothing in it is known only to a shell that runs it."""


def parse_check(check: str) -> CheckCommand:
    reader = _CommandReader()
    reader.read(check, "")
    words, modules, starts = (tuple(each) for each in (reader.words, reader.modules, reader.starts))
    return CheckCommand(words, modules, frozenset(reader.programs), starts, reader.is_certain)


def can_fail(check: str, depth: int = 0) -> bool:
    """Return whether a check says anything at all: not `true`, `… || echo`, `… | tail`, `…; exit 0`."""
    words = [word.strip("()").replace("|&", "|") if set(word) <= _OPERATORS else word for word in _split_words(check)]
    words = [word for word in words if word and word not in _ONLY_GROUPS]
    if _STOPS_AT_FAILURE.search(check):
        words = ["&&" if word == ";" else word for word in words]
    while words and words[-1] in (";", "&&"):
        words.pop()
    if not words or words[-1] == "&":  # in the background
        return False
    last = _split_at_semicolons(words, ";", "&", ";;")[-1]
    has_filters = _FAILS_IN_PIPES not in check
    return not any(_always_succeeds(one, depth, has_filters=has_filters) for one in _split_at_semicolons(last, "||"))


def _always_succeeds(words: Sequence[str], depth: int, *, has_filters: bool) -> bool:
    """Whether all commands between `&&` do, of a pipe the last one."""
    pipes = [_split_at_semicolons(part, "|") for part in _split_at_semicolons(words, "&&")]
    if not has_filters:
        return all(_is_no_check(one, depth, is_filter=False) for pipe in pipes for one in pipe)
    return all(_is_no_check(pipe[-1], depth, is_filter=len(pipe) > 1) for pipe in pipes)


def _is_no_check(command: Sequence[str], depth: int, *, is_filter: bool) -> bool:
    reader = _CommandReader()
    words = iter(command)
    program = reader.read_program(words, "")
    rest = [*words]
    if program in _SHELLS and depth < _DEEPEST:
        code = _find_code(rest)
        return code is not None and not can_fail(rest[code], depth + 1)
    if not program or program in _NO_CHECKS or (is_filter and program in _FILTERS):
        return True
    return (program, rest) in (("exit", ["0"]), ("ls", []), ("cd", ["."])) or not _SHOWS_ITSELF.isdisjoint(rest)


def _split_at_semicolons(words: Sequence[str], *operators: str) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for word in words:
        if word in operators:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


class _CommandReader:
    """Takes a command line apart: what it names, what it starts, and whether all of it is understood."""

    def __init__(self) -> None:
        self.words: list[tuple[str, str]] = []
        self.modules: list[tuple[str, str]] = []
        self.programs: set[str] = set()
        self.starts: list[tuple[str, str]] = []
        self.is_certain = True

    def read(self, text: str, folder: str, depth: int = 0) -> None:
        if depth > _DEEPEST or any(mark in text for mark in ("$", "`", "<(", ">(")):
            self.is_certain = False
        if depth > _DEEPEST:
            return
        for command in _list_commands(_split_words(text)):
            folder = self._read_one(command, folder, depth)

    def _read_one(self, command: Sequence[str], folder: str, depth: int) -> str:
        """Read a single command; return the folder in which the next one runs."""
        words = iter(command)
        program = self.read_program(words, folder)
        rest = [*words]
        if program == "cd":
            return os.path.normpath(os.path.join(folder, rest[0])) if rest else folder
        if program in _SHELLS:
            self._read_shell(program, rest, folder, depth)
            return folder
        if program:
            self.programs.add(program)
        if program == "python" and "-m" in rest[:4]:
            at = rest.index("-m") + 1
            self.programs |= {rest[at].partition(".")[0]} if at < len(rest) else set()
            self.modules += [(folder, path) for path in _list_module_paths(rest[at])] if at < len(rest) else []
        if program == "python" and "-c" in rest[:4]:
            return folder
        self.words += [(folder, word) for word in rest]
        return folder

    def read_program(self, words: Iterator[str], folder: str) -> str:
        """Return what is started, beyond what only starts something else."""
        starter = ""
        for word in words:
            if _ASSIGNMENT.match(word):
                self.words.append((folder, word.partition("=")[2]))
                continue
            if starter and (word.startswith("-") or re.fullmatch(r"[0-9.]+[smhd]?", word) or word == "run"):
                continue
            name = os.path.basename(word)
            if name not in _STARTERS:
                self.words.append((folder, word))
                self.starts.append((folder, word))
                return "python" if _PYTHON_PROGRAM.fullmatch(name) else name
            starter = name
        return starter

    def _read_shell(self, program: str, rest: Sequence[str], folder: str, depth: int) -> None:
        code = _find_code(rest)
        if code is None:  # a script, which may run anything
            self.programs.add(program)
            self.words += [(folder, word) for word in rest]
        else:
            self.read(rest[code], folder, depth + 1)


def _find_code(rest: Sequence[str]) -> int | None:
    """Return where in a shell's arguments the code of `-c` is."""
    code = next((at + 1 for at, word in enumerate(rest) if re.fullmatch(r"-[a-z]*c", word)), None)
    return None if code is None or code >= len(rest) else code


def _list_commands(words: Sequence[str]) -> Iterator[list[str]]:
    """The single commands of a line."""
    command: list[str] = []
    for word in words:
        if set(word) <= _OPERATORS:
            yield command
            command = []
        else:
            command.append(word)
    yield command


def _split_words(text: str) -> list[str]:
    lexer = shlex.shlex(text.replace("\n", " ; "), posix=True, punctuation_chars="();<>|&")
    lexer.commenters = ""
    lexer.whitespace_split = True
    try:
        return [*lexer]
    except ValueError:  # a quote that is left open
        return text.split()


def _list_module_paths(name: str) -> Iterator[str]:
    """`tests.test_x.TestCase` as the files that it may mean."""
    parts = name.split(".")
    for length in range(1, len(parts) + 1):
        path = "/".join(parts[:length])
        yield f"{path}.py"
        yield f"{path}/__init__.py"
        yield f"{path}/__main__.py"


def list_paths(word: str) -> Iterator[str]:
    """The paths that a word may name: also of an option, and of a test's id."""
    value = word.partition("=")[2]
    if not _PATTERN.isdisjoint(value):  # --include=*.md
        value = ""
    for text in dict.fromkeys((word, value, word[2:] if re.match(r"-[A-Za-z]\S", word) else "")):
        path = text.partition("::")[0]
        path = re.sub(r":\d+$", "", path)
        if path.endswith("/..."):  # go test ./...
            path = path[:-4]
        if path and not path.startswith("-") and "\0" not in path and len(path) < 1_000:
            yield path
            if re.fullmatch(r"\w+(\.\w+)+", path):
                yield from _list_module_paths(path)
