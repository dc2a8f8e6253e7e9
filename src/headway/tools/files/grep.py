"""`grep`: lines of files that match a regular expression."""

from __future__ import annotations

import asyncio
import codecs
import re
from collections.abc import Callable
from contextlib import closing

from pydantic import Field

from headway.core.text import sanitize_for_display, to_storable
from headway.tools.base import Context, Tool, ToolFault, ToolInput, ToolResult, read_description
from headway.tools.effects import Effect
from headway.tools.files.content import decode, read_bytes
from headway.tools.files.glob import compile_path_matcher
from headway.tools.files.grep_matches import Findings, Matcher, Output, TooSlow
from headway.tools.files.walk import SearchDeadline, Walk, WalkedFile
from headway.tools.files.workspace import Workspace
from headway.tools.limits import Limits

# A text that every match of a regular expression must have in it, so that files without it need not be searched.

SHORTEST = 3
_LOOKS_ELSEWHERE = frozenset("iksIKS")
"""Letters that have a variant outside ASCII (ı, K, ſ), which ignoring case finds too."""
_GROUP = re.compile(r"\((?:\?(?:[:=!>]|<[=!]|P?<\w+>))?(?![?*])")
"""The beginning of a group that changes nothing outside itself."""
_CLASS = re.compile(r"\[\^?\]?(?:\\.|[^\]\[\\])*\]", re.DOTALL)
_COUNT = re.compile(r"\{\d+(?:,\d*)?\}")
_ONE_CHARACTER = "dDwWsS"
_NO_CHARACTER = "bBAZ"


def find_literal(pattern: str, *, fixed: bool, ignore_case: bool) -> str | None:
    """An ASCII text of at least `SHORTEST` characters that is in every match; None if there is none for sure."""
    runs = _list_fixed_runs(pattern) if fixed else _list_runs(pattern)
    if runs is None:
        return None
    if ignore_case:
        runs = [part for run in runs for part in _split_at_letters(run, _LOOKS_ELSEWHERE)]
    longest = max(runs, key=len, default="")
    return longest if len(longest) >= SHORTEST else None


def _list_fixed_runs(text: str) -> list[str]:
    return re.findall(r"[ -~]+", text)


def _split_at_letters(run: str, letters: frozenset[str]) -> list[str]:
    return "".join("\n" if char in letters else char for char in run).split("\n")


def _list_runs(pattern: str) -> list[str] | None:
    """Texts outside of groups that stand in every match as they are; None if the pattern is not understood."""
    runs = [""]
    depth = position = 0
    while position < len(pattern):
        char = pattern[position]
        token = _read_token(pattern, position)
        if token is None or (char == "|" and not depth) or (char == ")" and not depth):
            return None
        position += len(token)
        if char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
        if depth:
            continue
        if char in "*?{":  # what is before may be missing
            runs[-1] = runs[-1][:-1]
        plain = token[-1] if char == "\\" and not token[-1].isalnum() else token
        if len(plain) == 1 and _is_plain(plain, escaped=len(token) == 2):
            runs[-1] += plain
        else:
            runs.append("")
    return None if depth else runs


def _read_token(pattern: str, position: int) -> str | None:
    char = pattern[position]
    if char == "\\":
        token = pattern[position : position + 2]
        known = len(token) == 2 and (token[1] in _ONE_CHARACTER + _NO_CHARACTER or not token[1].isalnum())
        return token if known else None
    expression = {"(": _GROUP, "[": _CLASS, "{": _COUNT}.get(char)
    if expression is None:
        return char
    match = expression.match(pattern, position)
    return match[0] if match else None


def _is_plain(char: str, *, escaped: bool) -> bool:
    return " " <= char <= "~" and (escaped or char not in ".^$*+?{}[]()|")


_ROOM = 20
"""Times the longest answer; what is longer is not even kept in a file."""
_LONGEST_PATH = 4_000
_WIDE_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)
"""What begins with one of them may have more than a byte for a character of ASCII."""


class GrepInput(ToolInput):
    pattern: str = Field(min_length=1, max_length=2_000, description="Regular expression, compared line by line.")
    path: str = Field(default=".", description="Folder or file to search, relative to the project's folder.")
    glob: str | None = Field(default=None, min_length=1, max_length=1_000, description="Files to search: `*.py`.")
    fixed: bool = Field(default=False, description="Treat the pattern as plain text.")
    ignore_case: bool = False
    context: int = Field(default=0, ge=0, le=20, description="Lines to show before and after each match.")
    output: Output = "lines"


class Grep(Tool[GrepInput]):
    name = "grep"
    description = read_description(__file__)
    input = GrepInput
    effect = Effect.READ
    aliases = ("rg",)

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self.folder = workspace.root

    def subject(self, call: GrepInput) -> str:
        return self._workspace.relative_path(call.path)

    async def run(self, call: GrepInput, context: Context) -> ToolResult:
        stop = SearchDeadline(context.limits.search_seconds)
        try:
            return ToolResult(await asyncio.to_thread(self._search, call, context.limits, stop))
        finally:
            stop.set()

    def _search(self, call: GrepInput, limits: Limits, stop: SearchDeadline) -> str:
        search = _Search(self._workspace, call, limits, stop)
        if search.walk.file is not None:
            search.search_file()
        else:
            search.search_folder()
        return "\n".join(search.format_answer())


class _Search:
    """One search, and what it went through."""

    def __init__(self, workspace: Workspace, call: GrepInput, limits: Limits, stop: SearchDeadline) -> None:
        self._workspace = workspace
        self._call = call
        self._limits = limits
        self._stop = stop
        self._literal = find_literal(call.pattern, fixed=call.fixed, ignore_case=call.ignore_case)
        self._matcher = Matcher(
            call.pattern, fixed=call.fixed, ignore_case=call.ignore_case, literal=self._literal, stop=stop
        )
        self._findings = Findings(call.output, call.context, limits.results, _ROOM * limits.output_chars)
        self._searched = self._large = self._unread = 0
        self._slow_in: str | None = None
        self.walk = Walk(workspace, call.path, stop)

    def search_file(self) -> None:
        """Searches a file that was asked for by its name. Raises `ToolFault` if it cannot be searched."""
        with self._workspace.open_place(self._call.path) as place:
            data = read_bytes(place, self._limits.file_bytes)
        text, _ = decode(data, place.path)
        self._searched = 1
        self._add(place.path, text)

    def search_folder(self) -> None:
        wanted = _make_file_filter(self._call.glob, self.walk.start)
        with closing(self.walk.files()) as files:
            for file in files:
                if self._stop or self._findings.full or self._slow_in:
                    break
                if not wanted(file.path):
                    continue
                if file.size > self._limits.file_bytes:
                    self._large += 1
                elif not _is_nameable(file.path):
                    self._unread += 1
                else:
                    self._searched += 1
                    if (text := self._read_text(file)) is not None:
                        self._add(file.path, text)

    def format_answer(self) -> list[str]:
        lines = list(self._findings.lines)
        if not lines:
            lines.append(
                f"No match for '{sanitize_for_display(self._call.pattern, 200)}' in {_count_files(self._searched)}."
            )
        lines += [f"[{note}]" for note in self._list_notes()]
        return lines

    def _list_notes(self) -> list[str]:
        if self._findings.full:
            things = "matching lines" if self._call.output == "lines" else "matching files"
            return [f"There are more {things} than these; narrow the pattern, path or glob."]
        notes = self.walk.list_notes()
        if self._large:
            notes.append(f"Skipped {_count_files(self._large)} larger than {self._limits.file_bytes:,} bytes.")
        if self._unread:
            notes.append(f"Skipped {_count_files(self._unread)} that could not be read.")
        if self._slow_in is not None:
            notes.append(
                f"Stopped in '{sanitize_for_display(self._slow_in, 200)}': the pattern "
                "takes too long on one of its lines; there "
                "may be more. Simplify it, without nested repeats."
            )
        elif self._stop:
            seconds = f"{self._limits.search_seconds:g} seconds"
            notes.append(f"Stopped after {seconds}; there may be more. Narrow the path or the glob.")
        return notes

    def _read_text(self, file: WalkedFile) -> str | None:
        """The file's text; None if it cannot match."""
        try:
            data = read_bytes(self.walk.place_of(file), self._limits.file_bytes)
        except (OSError, ToolFault):
            self._unread += 1
            return None
        if not self._may_match(data):
            return None
        try:
            return decode(data, file.path)[0]
        except ToolFault:  # binary
            return None

    def _may_match(self, data: bytes) -> bool:
        if self._literal is None or data.startswith(_WIDE_MARKS):
            return True
        literal = self._literal.encode()
        return literal.lower() in data.lower() if self._call.ignore_case else literal in data

    def _add(self, path: str, text: str) -> None:
        try:
            self._findings.add(path, text, self._matcher)
        except TooSlow:
            self._slow_in = path


def _is_nameable(path: str) -> bool:
    """Whether the other file tools take the path."""
    return len(path) <= _LONGEST_PATH and to_storable(path) == path


def _make_file_filter(pattern: str | None, start: str) -> Callable[[str], bool]:
    """The filter `*.py`: by name without a slash in it, else by the path relative to where the search starts."""
    if pattern is None:
        return lambda path: True
    wanted = not pattern.startswith("!")
    pattern = pattern[not wanted :]
    expression = compile_path_matcher(pattern if "/" in pattern else f"**/{pattern}", pattern)
    skipped = 0 if start == "." else len(start) + 1
    return lambda path: (expression.match(path, skipped) is not None) is wanted


def _count_files(count: int) -> str:
    return f"{count:,} file{'s' * (count != 1)}"
