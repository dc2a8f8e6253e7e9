"""Whether a command that only runs tests shows that one of them passed. Pure.

Code under test can end or skip its tests, and the command then succeeds although nothing was tested.
"""

from __future__ import annotations

import re

from headway.tools.checks.check_command import read_command

_PYTEST = frozenset({"pytest", "py.test"})
_UNITTEST = frozenset({"unittest"})
_STARTED_BY = frozenset({"python"})
_RUNS_NONE = ("--co", "--collect-only", "--setup-plan", "--fixtures", "--markers", "--version", "--help", "-h")
_PASSED = re.compile(
    r"""(?xm)
      \b [1-9]\d* [ ] (?: passed | xfailed | xpassed ) \b
    | ^ [a-zA-Z]* \. [.a-zA-Z]* (?: \s+ \[ [ ]* \d+ % \] )? $   # dots, of which the last line may not be summed up
    """
)
_RAN = re.compile(r"^Ran (\d+) tests?\b", re.MULTILINE)
_SKIPPED = re.compile(r"^OK \(.*?\bskipped=(\d+)", re.MULTILINE)


def shows_no_passed_test(command: str, output: str) -> bool:
    """Return whether all that the command runs is tests, with their results in its output, and none of them passed."""
    read = read_command(command)
    programs = read.programs - _STARTED_BY
    words = {word for _, word in read.words}
    if not read.is_certain or ">" in command or "|" in command or not words.isdisjoint(_RUNS_NONE):
        return False
    if programs and programs <= _PYTEST:
        return not _PASSED.search(output)
    if programs and programs <= _UNITTEST:
        ran = sum(map(int, _RAN.findall(output)))
        return ran <= sum(map(int, _SKIPPED.findall(output)))
    return False
