"""The work that each agent is given: a list of 20 items, and 1,000 rounds with a change to the list in every fifth."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from itertools import pairwise

ITEMS = (
    "Read the failing test of the date parser",
    "Reproduce the failure with the smallest possible input",
    "Find where the time zone offset is lost",
    "Fix the parser so that offsets are kept",
    "Add a regression test for negative zone offsets",
    "Run the parser tests and read every warning",
    "Move the format table into its own module",
    "Replace the three copies of the month lookup",
    "Write type hints for all public parser functions",
    "Check the public functions with the type checker",
    "Update the command line to accept several formats",
    "Show a clear error when no format matches",
    "Test the command line with an unreadable file",
    "Measure parsing of one million lines before caching",
    "Cache compiled patterns between calls of the parser",
    "Measure again and note both figures for review",
    "Describe the new option in the user guide",
    "Correct the outdated example in the project readme",
    "Run the whole test suite on both platforms",
    "Write the changelog entry and prepare the release",
)
ROUNDS = 1_000
CHANGE_EVERY = 5


def position(round_number: int) -> int | None:
    """The item that the model comes to in this round (from 0); none in rounds that leave the list alone."""
    step, rest = divmod(round_number, CHANGE_EVERY)
    return None if rest else step % len(ITEMS)


def figures(asked_at: Sequence[float]) -> dict[str, float]:
    """Seconds per round, from the times at which the model was asked: around round 100, and over the last 100."""
    assert len(asked_at) == ROUNDS + 1, f"The model was asked {len(asked_at)} times, not {ROUNDS + 1}."
    taken = [after - before for before, after in pairwise(asked_at)]
    return {"early": statistics.median(taken[50:150]), "late": statistics.median(taken[-100:])}
