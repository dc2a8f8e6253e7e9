"""How items are to be executed, and what that came to."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from headway.core.errors import HeadwayError
from headway.core.evidence import EvidenceLevel
from headway.core.text import sanitize_for_display

MOST_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class ExecutionOptions:
    only: str | None = None
    """The one todo to execute; None: all that are pending, or that an execution left blocked."""
    mode: str | None = None
    """How much is asked: default, auto_edit, sandboxed, yolo; None: as it is set."""
    parallel: int | None = 1
    """How many are executed at once; None: as it is set."""
    retries: int = 1
    """How often an item that failed is tried again."""
    keep_going: bool = False
    """Whether what does not depend on a failed item still runs."""
    require_evidence: bool | str = False
    """The least evidence with which a completion is accepted at once: True means command_ok."""
    in_place: bool = False
    """Whether items work one at a time in the project's own files, not each in a worktree."""
    model: str | None = None
    """As `provider:name`; None: as it is set."""

    def __post_init__(self) -> None:
        for name, least, most in (("parallel", 1, MOST_AT_ONCE), ("retries", 0, 100)):
            value: object = getattr(self, name)
            if value is None and name == "parallel":
                continue
            if type(value) is not int or not least <= value <= most:
                raise HeadwayError(
                    f"`{name}` must be a whole number from {least} to {most}, not {sanitize_for_display(value)}."
                )
        required_level(self.require_evidence)
        if self.in_place and (self.parallel or 1) > 1:
            raise HeadwayError("Items that work in the project's own files run one at a time; omit `parallel`.")


def required_level(evidence: bool | str) -> EvidenceLevel | None:
    """Return the level that `require_evidence` asks for; None if it asks for nothing."""
    if evidence is False:
        return None
    levels = (EvidenceLevel.COMMAND_OK, EvidenceLevel.VERIFIED)
    found = levels[0] if evidence is True else next((level for level in levels if level.value == evidence), None)
    if found is None:
        raise HeadwayError(f"`require_evidence` can be {' or '.join(levels)}, not {sanitize_for_display(evidence)}.")
    return found


class ExecutionEnding(StrEnum):
    COMPLETE = "complete"
    FAILED = "failed"
    WAITING = "waiting"
    """Items are left, and none of them can run."""
    INTERRUPTED = "interrupted"
    NOTHING = "nothing"
    """There was no item to execute."""


@dataclass(frozen=True, slots=True)
class ExecutionResult:
    """What executing items came to."""

    outcome: ExecutionEnding
    completed: tuple[str, ...] = ()
    """Ids, in the order in which they were completed."""
    failed: tuple[str, ...] = ()
    total: int = 0
    seconds: float = 0.0
    error: str | None = None
    """What went wrong, in a sentence that says what to do."""

    @property
    def ok(self) -> bool:
        return self.outcome in (ExecutionEnding.COMPLETE, ExecutionEnding.NOTHING)
