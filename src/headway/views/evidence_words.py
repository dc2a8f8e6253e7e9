"""How sure it is that something is done, in marks and words: only what is verified has a plain ✓."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.core.evidence import EvidenceLevel

if TYPE_CHECKING:
    from collections.abc import Mapping

VERIFIED = "✓"
NOT_VERIFIED = "✓?"


def evidence_mark(level: str | None) -> str:
    return VERIFIED if level == EvidenceLevel.VERIFIED else NOT_VERIFIED


def evidence_word(level: str | None) -> str:
    """`command ok`; of what carries no evidence, `reported`."""
    return str(level or EvidenceLevel.REPORTED).replace("_", " ")


def explain_note(note: str) -> str:
    """A note of evidence, with what it means where that is not plain."""
    if note.startswith("check changed: "):
        return f"{note} (the item changed a file that its check depends on)"
    return note


def count_levels(counts: Mapping[str, int]) -> str:
    """`1 verified, 2 reported`: how many of each level, verified also where there is none."""
    levels = [level for level in reversed(EvidenceLevel) if counts.get(level) or level is EvidenceLevel.VERIFIED]
    return ", ".join(f"{counts.get(level, 0):,} {evidence_word(level)}" for level in levels)
