"""Whether a command that only runs tests shows that one of them passed. Pure.

Code under test can end or skip its tests, and the command then succeeds although nothing was tested.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator

from headway.tools.checks.check_command import parse_check

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
