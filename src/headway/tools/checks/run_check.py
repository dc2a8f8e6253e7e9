"""Run one check in a folder, with the limits of `bash`, and say how it ended."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headway.core.secrets import redact
from headway.core.text import neutralize_lines, sanitize_for_display
from headway.tools.base import Context, ToolFault
from headway.tools.checks.changed_files import read_files
from headway.tools.checks.check_command import CHANGED_FILES, parse_check
from headway.tools.files.known_files import KnownFiles
from headway.tools.limits import Limits
from headway.tools.outputs import OutputFiles
from headway.tools.shell.run_in_shell import TIMED_OUT, run_in_shell, to_exit_code

if TYPE_CHECKING:
    from headway.session import Session
    from headway.tools.sandbox.sandbox import Sandbox

# Python's compiled files, which may be of another version of a source than the one that is checked.

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


# Whether a command that only runs tests shows that one of them passed. Pure.

_PYTEST = frozenset({"pytest", "py.test"})
_UNITTEST = frozenset({"unittest"})
_STARTED_BY = frozenset({"python"})
_MAKE, _GMAKE = frozenset({"make"}), frozenset({"gmake"})
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh"})
_MOST_LINES = 200
_RUNS_NONE = ("--co", "--collect-only", "--setup-plan", "--fixtures", "--markers", "--version", "--help", "-h")
_PASSED = re.compile(
    r"""(?xm)
      \b [1-9]\d* [ ] (?: passed | xfailed | xpassed ) \b
    | ^ [a-zA-Z]* \. [.a-zA-Z]* (?: \s+ \[ [ ]* \d+ % \] )? $   # dots, of which the last line may not be summed up
    """
)
_RAN = re.compile(r"^Ran (\d+) tests?\b", re.MULTILINE)
_SKIPPED = re.compile(r"^OK \(.*?\bskipped=(\d+)", re.MULTILINE)


def shows_no_passed_test(command: str, output: str, scripts: Iterable[str] = ()) -> bool:
    """Return whether all that the command runs is tests, with their results in its output, and none of them passed.

    What holds for a command of one of its shell `scripts` holds for it, and for `make`, which prints its commands.
    """
    passed = _find_pass_detector(command)
    if passed is None:
        lines = [line.strip() for script in scripts for line in script.splitlines()]
        if parse_check(command).programs in (_MAKE, _GMAKE):
            lines += output.splitlines()[:_MOST_LINES]
        passed = next((found for found in map(_find_pass_detector, lines) if found is not None), None)
    return passed is not None and not passed(output)


def list_shell_scripts(command: str) -> Iterator[str]:
    """Yield the paths of the shell scripts that a command runs by themselves: `sh check.sh`, `./check.sh`."""
    read = parse_check(command)
    if len(read.programs) == 1:
        is_shell = not read.programs.isdisjoint(_SHELLS)
        for folder, word in read.words:
            if word.endswith(".sh") or (is_shell and word not in _SHELLS and not word.startswith("-")):
                yield os.path.join(folder, word)


def _find_pass_detector(command: str) -> Callable[[str], bool] | None:
    """Return what tells from the output whether a test passed; None for a command that does not only run tests."""
    read = parse_check(command)
    programs = read.programs - _STARTED_BY
    words = {word for _, word in read.words}
    if not read.is_certain or ">" in command or "|" in command or not words.isdisjoint(_RUNS_NONE):
        return None
    if programs and programs <= _PYTEST:
        return lambda output: _PASSED.search(output) is not None
    if programs and programs <= _UNITTEST:
        return lambda output: sum(map(int, _RAN.findall(output))) > sum(map(int, _SKIPPED.findall(output)))
    return None


MAX_LINES = 20
MAX_OUTPUT = 2_000
"""Characters of the last lines that are kept."""
NOT_STARTED = 126
_LARGEST_SCRIPT = 100_000
_READ = 30_000
"""Characters of the output of which the last lines are taken."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """How a check ended."""

    command: str
    """As it was run."""
    exit_code: int
    seconds: float
    output: str
    """The last lines of what it printed, safe to record and to show."""
    shows_no_passed_test: bool = False
    """Whether it only runs tests, and none of them is seen to have passed."""

    @property
    def has_passed(self) -> bool:
        return self.exit_code == 0

    def explain(self) -> str:
        """Say how the check failed, with its last lines."""
        if self.exit_code == TIMED_OUT:
            how = f"took longer than {self.seconds:.0f} s and was stopped (limits.bash_seconds)"
        else:
            how = f"exit code {self.exit_code}"
        return f"The check failed ({how}): {sanitize_for_display(self.command, 300)}" + (
            f"\n{self.output}" if self.output else ""
        )


@dataclass(frozen=True, slots=True)
class CheckRunner:
    """What checks are run with: the same as the commands of a run."""

    project: str
    """Folder whose `.headway` the outputs belong to."""
    session: Session | None = None
    limits: Limits | None = None
    env: Sequence[str] = ()
    """Further environment variables that commands are given."""
    sandbox: Sandbox | None = None
    has_network: Callable[[str], bool] = lambda check: False
    """Says whether a person approved a check, so that it has the network in the sandbox."""

    async def run_until_settled(
        self,
        check: str,
        folder: str,
        *,
        files: Sequence[str],
        variables: Mapping[str, str] | None = None,
        report: Callable[[str], None] = lambda text: None,
    ) -> CheckResult:
        """Run a check; once more if it changed the files that it is about, so that it passed before their last edit."""
        before = read_files(folder, files)
        result = await self.run(check, folder, files=files, variables=variables, report=report)
        if result.has_passed and read_files(folder, files) != before:
            return await self.run(check, folder, files=files, variables=variables, report=report)
        return result

    async def run(
        self,
        check: str,
        folder: str,
        *,
        files: Iterable[str] = (),
        variables: Mapping[str, str] | None = None,
        report: Callable[[str], None] = lambda text: None,
    ) -> CheckResult:
        """Run a check in a folder. `files` take the place of `{files}`; being cancelled goes through."""
        command = insert_files(check, files)
        limits = self.limits or Limits()
        # Nothing of it is kept in a file: the last lines are in the log.
        outputs = OutputFiles(self.project, kept_bytes=0)
        context = Context(
            self.project,
            self.session,
            limits,
            KnownFiles(),
            outputs,
            report,
            {**WITHOUT_BYTECODE, **(variables or {})},
            self.has_network(check),
        )
        await asyncio.to_thread(remove_bytecode, folder)
        began = time.monotonic()
        with outputs.make_spool("check", _READ) as spool:
            try:
                ending = await run_in_shell(
                    command, folder, limits.bash_seconds, context, self.env, spool, self.sandbox
                )
            except ToolFault as fault:
                return CheckResult(command, NOT_STARTED, 0.0, str(fault))
        seconds = round(time.monotonic() - began, 3)
        text = spool.text()
        no_test = shows_no_passed_test(command, text, _read_scripts(command, folder))
        return CheckResult(command, to_exit_code(ending), seconds, _last_lines(redact(text)), no_test)


def _read_scripts(command: str, folder: str) -> Iterator[str]:
    """Yield the texts of the shell scripts that a check runs."""
    for path in list_shell_scripts(command):
        full = os.path.join(folder, path)
        with suppress(OSError):
            if os.path.isfile(full):
                with open(full, encoding="utf-8", errors="replace") as file:
                    yield file.read(_LARGEST_SCRIPT)


def insert_files(check: str, files: Iterable[str]) -> str:
    """Return the command with the files in place of `{files}`, quoted for the shell."""
    if CHANGED_FILES not in check:
        return check
    return check.replace(CHANGED_FILES, " ".join(map(_quote, files)))


def _quote(path: str) -> str:
    # A file called -x must not be read as an option.
    return shlex.quote(f"./{path}" if path.startswith("-") else path)


def _last_lines(text: str) -> str:
    lines = neutralize_lines(text).rstrip().split("\n")
    last = "\n".join(line.rstrip() for line in lines[-MAX_LINES:])
    return last if len(last) <= MAX_OUTPUT else f"…{last[-MAX_OUTPUT + 1 :]}"
