"""Evidence: what shows that an item is done, in four levels; how it is checked and how it is written down.

Loaded only where there is some; most commands never meet any.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from headway.core.model import Status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from headway.core.model import Todo


CHECK_FAILED = "the check failed"
"""The note of evidence that says only this."""


class EvidenceLevel(StrEnum):
    """How well it is shown that an item is done; ordered, the weakest first."""

    INFERRED = "inferred"
    """Only the tracker concluded it."""
    REPORTED = "reported"
    """The model or a person said so."""
    COMMAND_OK = "command_ok"
    """A command that could have failed succeeded on it after its last edit."""
    VERIFIED = "verified"
    """A declared check, run by Headway itself after the last edit, passed."""

    def __lt__(self, other: str) -> bool:
        return _rank(self) < _rank(other)

    def __le__(self, other: str) -> bool:
        return _rank(self) <= _rank(other)

    def __gt__(self, other: str) -> bool:
        return _rank(self) > _rank(other)

    def __ge__(self, other: str) -> bool:
        return _rank(self) >= _rank(other)


_RANKS = {level.value: rank for rank, level in enumerate(EvidenceLevel)}


def _rank(level: str) -> int:
    return _RANKS[str(level)]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What shows that an item is done."""

    level: EvidenceLevel
    command: str | None = None
    """The command that succeeded, or the check that ran."""
    exit_code: int | None = None
    files: tuple[str, ...] = ()
    """What was edited on the item."""
    seconds: float | None = None
    """How long the check took."""
    output: str | None = None
    """The last lines of the check."""
    note: str | None = None
    """Why the level is not higher: `check changed: FILE`, or why the check did not run."""
    check_files: str | None = None
    """What the check's own files were when it failed, to find out later whether they were changed."""


FIELDS = frozenset(Evidence.__dataclass_fields__)
_MARKER = "seconds"
"""A key of every record since `verified` means a declared check; before, it meant that a command succeeded."""


def evidence_level(todo: Todo) -> EvidenceLevel | None:
    """Return how well it is shown that the item is done; None for an item that is not completed."""
    if todo.status is not Status.COMPLETED:
        return None
    return todo.evidence.level if todo.evidence else EvidenceLevel.REPORTED


def is_verified(todo: Todo) -> bool:
    return evidence_level(todo) is EvidenceLevel.VERIFIED


def to_evidence_record(evidence: Evidence) -> dict[str, object]:
    return {
        "level": evidence.level,
        "command": evidence.command,
        "exit_code": evidence.exit_code,
        "files": list(evidence.files),
        "seconds": evidence.seconds,
        "output": evidence.output,
        "note": evidence.note,
        **({} if evidence.check_files is None else {"check_files": evidence.check_files}),
    }


def parse_evidence_record(record: dict[str, Any]) -> Evidence:
    return Evidence(
        read_level(record["level"], record),
        record["command"],
        record["exit_code"],
        tuple(record["files"]),
        record.get("seconds"),
        record.get("output"),
        record.get("note"),
        record.get("check_files"),
    )


def read_level(level: str, record: dict[str, Any]) -> EvidenceLevel:
    if level == EvidenceLevel.VERIFIED and _MARKER not in record:
        return EvidenceLevel.COMMAND_OK
    return EvidenceLevel(level)
