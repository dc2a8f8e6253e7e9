"""Run one check in a folder, with the limits of `bash`, and say how it ended."""

from __future__ import annotations

import asyncio
import os
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
from headway.tools.checks.check_command import CHANGED_FILES
from headway.tools.checks.output_of_tests import list_shell_scripts, shows_no_passed_test
from headway.tools.checks.stale_bytecode import WITHOUT_BYTECODE, remove_bytecode
from headway.tools.files.known_files import KnownFiles
from headway.tools.limits import Limits
from headway.tools.outputs import OutputFiles
from headway.tools.shell.run_in_shell import TIMED_OUT, run_in_shell, to_exit_code

if TYPE_CHECKING:
    from headway.session import Session
    from headway.tools.sandbox.sandbox import Sandbox

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
