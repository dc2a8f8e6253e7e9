"""What the log holds of the execution of items: what was to be executed, each item as it began and ended, the end.

Part of `run_events`, loaded only where items were executed. An execution is a run of the agent whose list it is; each
item is worked on in a run of a sub-agent, with a conversation and a list of its own.
"""

from __future__ import annotations

from dataclasses import field

from headway.core.events import ExecutionData, event_class


@event_class
class ExecutionStarted(ExecutionData):
    """Todos are about to be executed."""

    wire_name = "BatchStarted"
    is_progress = False

    mode: str
    """How much is asked: default, auto_edit, sandboxed, yolo."""
    parallel: int
    total: int
    """Items that are to be executed, as far as is known at the beginning."""
    retries: int = 1
    keep_going: bool = False
    require_evidence: bool = False
    only: str | None = None
    """The one item that is to be executed; None: all that can be."""
    checkpoints: bool = True
    """Whether files are saved before each item."""
    worktrees: bool = False
    """Whether each item works in a folder of its own."""
    note: str = ""
    """Why something is not as it could be."""
    in_place: bool = False
    """Whether that was wanted."""
    saving_seconds: float = 0.0
    """What saving the project's files took before anything could begin."""


@event_class
class AttemptStarted(ExecutionData):
    """A todo is tried."""

    wire_name = "ItemStarted"

    item_id: str
    content: str
    agent: str
    """The sub-agent whose run works on it."""
    attempt: int
    """Counted from 1."""
    index: int
    """Counted from 1: which of the items of this execution it is."""
    total: int
    checkpoint: str | None = None
    """The files as they were before."""
    in_place: bool = True
    """Whether it works on the project's own files, and not in a folder of its own."""
    alone: bool = False
    """Whether it is run again because its changes were in conflict with another's."""
    estimated_time: str | None = None
    restored: tuple[str, ...] = ()
    """Files that were brought back to where an interrupted attempt had begun; only in older logs."""
    worktree: str | None = None
    """The folder of its own in which it works, from the project."""


@event_class
class MergeStarted(ExecutionData):
    """The project's files are about to change: what an item did comes into them, or is reversed.

    If its process is killed in the middle, the change is reversed when the files are next needed.
    """

    wire_name = "ItemMerging"

    item_id: str
    before: str
    """The project's files as they are, and as they are to be; the same: nothing is about to change any more."""
    after: str
    reverses: bool = False
    """Whether it is part of a rollback or an undo, so that it comes about only together with a change of the list."""
    files: tuple[str, ...] = ()
    """What changed back in the project's files, where a change that was cut off was reversed."""


@event_class
class AttemptFinished(ExecutionData):
    """What came of trying a todo."""

    wire_name = "ItemFinished"

    item_id: str
    agent: str
    attempt: int
    outcome: str
    """completed, blocked or cancelled, as the item then is; conflict or interrupted."""
    reason: str = ""
    """Why it is not completed."""
    again: bool = False
    """Whether it is tried again."""
    text: str = ""
    """What the model said last."""
    rounds: int = 0
    tool_calls: int = 0
    failed_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost: float | None = None
    seconds: float = 0.0
    before: str | None = None
    """The project's files before what it changed came into them, and after."""
    after: str | None = None
    files: tuple[str, ...] = ()
    """What it changed in the project's files."""
    kept: str | None = None
    """What it changed in a folder of its own and that did not come into the project."""
    removed: tuple[str, ...] = ()
    """Those of `files` that are no longer in the project."""
    not_merged: tuple[str, ...] = ()
    """Files that it changed and that do not come into the project: copies, and folders that it shares with it."""
    by_others: tuple[str, ...] = ()
    """In the project's own files: what changed meanwhile, and not, or not only, by its file tools."""
    committed: bool = False
    """Whether it made commits, which came back as files."""
    worktree: str | None = None
    """Where its files are kept until the next attempt, relative to the project."""
    saving_seconds: float = 0.0
    """How much of `seconds` it took to save files, to make its worktree and to merge."""
    taken_away: str = ""
    """completed, cancelled or dropped, if someone did that to the item while it ran, so that its work was stopped."""


@event_class
class ExecutionFinished(ExecutionData):
    """An execution is over."""

    wire_name = "BatchFinished"
    is_progress = False
    affects_state = False

    outcome: str
    """complete, failed, waiting (items are left that cannot run) or interrupted."""
    completed: int
    failed: int
    total: int
    seconds: float
    failed_items: tuple[str, ...] = ()
    saving_seconds: float = 0.0
    """What saving, worktrees and merging took of it, the sum of what went on at the same time."""


@event_class
class TodosRolledBack(ExecutionData):
    """What the execution of a todo changed in the files was reversed."""

    wire_name = "ItemRolledBack"
    is_progress = False

    item_id: str
    files: tuple[str, ...]
    """What is now as it was before the item."""
    forced: bool = False
    saved: str | None = None
    """The files as they were before they were rolled back."""
    after: str | None = None
    """The files as they were then."""
    removed: tuple[str, ...] = ()
    """Those of `files` that are no longer in the project."""
    with_later: tuple[str, ...] = ()
    """Items that were rolled back together with it, since they were in its way."""
    step: int = 0
    """Version of the change of the list that goes with it; 0 if there is none."""
    previous: int | None = None
    """Where undo continues once it is undone; None in old logs, where it could not be."""


@event_class
class FilesReverted(ExecutionData):
    """An undo or redo of something that had changed the project's files, and that changed them again."""

    wire_name = "FilesReverted"
    is_progress = False

    cause: str
    """undo or redo."""
    files: tuple[str, ...]
    """What changed in the project's files."""
    saved: str
    """The files as they were before that, and after it."""
    after: str
    removed: tuple[str, ...] = ()
    """Those of `files` that are no longer in the project."""
    gone: tuple[int, ...] = ()
    """Versions of the `AttemptFinished` events of which the changes are no longer in the project's files."""
    back: tuple[int, ...] = ()
    """Of those of which they are again."""
    executed: dict[str, list[list[int | str]]] = field(default_factory=dict[str, "list[list[int | str]]"])
    """Item → what was known of its last execution, and what now is."""
    step: int = 0
    """Version of the change of the list that goes with it; 0 if there is none."""
    previous: int = 0
    """As in `ListDelta`."""
    other: int = 0
    of: int = 0


@event_class
class ModeChanged(ExecutionData):
    """A person changed how much is asked while the execution goes on."""

    wire_name = "ModeChanged"
    is_progress = False

    mode: str
