"""What a check that was run says about a todo. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from headway.core.evidence import Evidence, EvidenceLevel
from headway.core.text import sanitize_for_display
from headway.tools.checks.run_check import CheckResult

_MOST_NAMED = 3
CANNOT_FAIL = "the check cannot fail"
NO_PASSED_TEST = "its output shows no test that passed"
PASSED_BEFORE = "no file was changed, and the check is not known to have failed before"


def judge_check(
    result: CheckResult, *, weakened: Sequence[str], changed: Sequence[str], failed_before: bool, can_fail: bool
) -> Evidence:
    """Return what a check that passed shows.

    `weakened`: its own files that the work changed; `changed`: all files that the work changed.
    """
    if not can_fail:
        level, note = EvidenceLevel.REPORTED, CANNOT_FAIL
    elif weakened:
        level, note = EvidenceLevel.COMMAND_OK, f"check changed: {join_file_names(weakened)}"
    elif result.shows_no_passed_test:
        level, note = EvidenceLevel.COMMAND_OK, NO_PASSED_TEST
    elif not changed and not failed_before:
        level, note = EvidenceLevel.COMMAND_OK, PASSED_BEFORE
    else:
        level, note = EvidenceLevel.VERIFIED, None
    output = result.output or None
    return Evidence(level, result.command, result.exit_code, tuple(changed), result.seconds, output, note)


def join_file_names(files: Sequence[str]) -> str:
    names = ", ".join(sanitize_for_display(file, 200) for file in files[:_MOST_NAMED])
    return f"{names} and {len(files) - _MOST_NAMED} more" if len(files) > _MOST_NAMED else names
