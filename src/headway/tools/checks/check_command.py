"""Read a check's command: what it names, what it starts, and whether all of it is understood. Pure; nothing is run."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_DEEPEST = 3
"""How many shells within shells are looked into."""
_OPERATORS = frozenset(";|&()")
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh"})
_STARTERS = frozenset(
    {"env", "time", "timeout", "exec", "nice", "command", "uv", "poetry", "pipenv", "pdm", "hatch", "rye"}
)
"""Programs that start another one."""
_NO_CHECKS = frozenset({"true", ":", "echo", "printf", "sleep"})
_PATTERN = frozenset("*?[")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_PYTHON_PROGRAM = re.compile(r"python[0-9.]*")


@dataclass(frozen=True, slots=True)
class CheckCommand:
    """What a check's command comes down to."""

    words: tuple[tuple[str, str], ...]
    """(folder relative to where the check begins, word)"""
    programs: frozenset[str]
    is_certain: bool
    """Whether nothing in it is known only to a shell that runs it."""


def read_command(check: str) -> CheckCommand:
    reader = _CommandReader()
    reader.read(check, "")
    return CheckCommand(tuple(reader.words), frozenset(reader.programs), reader.is_certain)


def can_fail(check: str) -> bool:
    """Return whether a check says anything at all: not `true`, `… || echo`, `…; exit 0`."""
    words = [word.strip("()") if set(word) <= _OPERATORS else word for word in _split(check)]
    parts = [part for part in _divide([word for word in words if word], ";", "&", ";;") if part]
    alternatives = _divide(parts[-1], "||") if parts else []
    return bool(alternatives) and not any(_always_succeeds(one) for one in alternatives)


def _always_succeeds(words: Sequence[str]) -> bool:
    """Whether all commands between `&&` do, of a pipe the last one."""
    commands = [_divide(part, "|", "|&")[-1] for part in _divide(words, "&&")]
    return all(not one or one[0] in _NO_CHECKS or one == ["exit", "0"] for one in commands)


def _divide(words: Sequence[str], *operators: str) -> list[list[str]]:
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
        self.programs: set[str] = set()
        self.is_certain = True

    def read(self, text: str, folder: str, depth: int = 0) -> None:
        if depth > _DEEPEST or any(mark in text for mark in ("$", "`", "<(", ">(")):
            self.is_certain = False
        if depth > _DEEPEST:
            return
        for command in _commands(_split(text)):
            folder = self._read_one(command, folder, depth)

    def _read_one(self, command: Sequence[str], folder: str, depth: int) -> str:
        """Read a single command; return the folder in which the next one runs."""
        words = iter(command)
        program = self._program(words, folder)
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
            self.words += [(folder, path) for path in _module_paths(rest[at])] if at < len(rest) else []
        if program == "python" and "-c" in rest[:4]:
            return folder
        self.words += [(folder, word) for word in rest]
        return folder

    def _program(self, words: Iterator[str], folder: str) -> str:
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
                return "python" if _PYTHON_PROGRAM.fullmatch(name) else name
            starter = name
        return starter

    def _read_shell(self, program: str, rest: Sequence[str], folder: str, depth: int) -> None:
        code = next((at + 1 for at, word in enumerate(rest) if re.fullmatch(r"-[a-z]*c", word)), None)
        if code is None or code >= len(rest):  # a script, which may run anything
            self.programs.add(program)
            self.words += [(folder, word) for word in rest]
        else:
            self.read(rest[code], folder, depth + 1)


def _commands(words: Sequence[str]) -> Iterator[list[str]]:
    """The single commands of a line."""
    command: list[str] = []
    for word in words:
        if set(word) <= _OPERATORS:
            yield command
            command = []
        else:
            command.append(word)
    yield command


def _split(text: str) -> list[str]:
    lexer = shlex.shlex(text.replace("\n", " ; "), posix=True, punctuation_chars="();<>|&")
    lexer.commenters = ""
    lexer.whitespace_split = True
    try:
        return [*lexer]
    except ValueError:  # a quote that is left open
        return text.split()


def _module_paths(name: str) -> Iterator[str]:
    """`tests.test_x.TestCase` as the files that it may mean."""
    parts = name.split(".")
    for length in range(1, len(parts) + 1):
        path = "/".join(parts[:length])
        yield f"{path}.py"
        yield f"{path}/__init__.py"
        yield f"{path}/__main__.py"


def paths_in(word: str) -> Iterator[str]:
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
                yield from _module_paths(path)
