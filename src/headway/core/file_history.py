"""What executions changed in the project's files, and what of that was reversed since, as the log tells it. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from headway.core.execution_events import AttemptFinished, FilesReverted, TodosRolledBack
from headway.core.executions import LastAttempt
from headway.core.run_events import RunStarted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from headway.core.events import Event


@dataclass(frozen=True, slots=True)
class FileChange:
    """What one attempt changed in the project's files."""

    todo_id: str
    version: int
    """Of the event that says so."""
    before: str
    after: str
    by_others: tuple[str, ...] = ()


@dataclass(slots=True)
class FileHistory:
    """Of one agent's list; changes by the version of the `AttemptFinished` event that tells of each."""

    ends: dict[int, tuple[str, AttemptFinished]] = field(default_factory=dict[int, "tuple[str, AttemptFinished]"])
    """The run in which each attempt ended, and how."""
    changes: dict[int, FileChange] = field(default_factory=dict[int, FileChange])
    live: set[int] = field(default_factory=set[int])
    """Those that are in the project's files, not reversed."""
    rolled_back: dict[int, tuple[int, ...]] = field(default_factory=dict[int, "tuple[int, ...]"])
    """Version of an `TodosRolledBack` event → the changes that it reversed."""
    _run_id: str = ""

    def take(self, event: Event) -> None:
        """Take in the next event of the agent."""
        match event.data:
            case RunStarted() as started:
                self._run_id = started.run_id
            case AttemptFinished() as end:
                self.ends[event.version] = (self._run_id, end)
                if end.before is not None and end.after is not None and end.before != end.after:
                    change = FileChange(end.item_id, event.version, end.before, end.after, end.by_others)
                    self.changes[event.version] = change
                    self.live.add(event.version)
            case TodosRolledBack() as rolled:
                todo_ids = {rolled.item_id, *rolled.with_later}
                gone = tuple(change.version for change in self.list_unreversed() if change.todo_id in todo_ids)
                self.rolled_back[event.version] = gone
                self.live.difference_update(gone)
            case FilesReverted() as reverted:
                self.live.difference_update(reverted.gone)
                self.live.update(reverted.back)
            case _:
                pass

    def list_unreversed(self) -> list[FileChange]:
        return [self.changes[version] for version in sorted(self.live)]

    def last_execution(self, todo_id: str, before: int) -> LastAttempt:
        """Return what was known of a todo's last execution before a version, if its changes are still there."""
        ends = [version for version, (_, end) in self.ends.items() if version < before and end.item_id == todo_id]
        if not ends or (ends[-1] in self.changes and ends[-1] not in self.live):
            return LastAttempt(0)
        run_id, end = self.ends[ends[-1]]
        return LastAttempt(ends[-1], end.outcome == "blocked" and not end.again, run_id=run_id)


def read_file_history(events: Iterable[Event], agent: str) -> FileHistory:
    history = FileHistory()
    for event in events:
        if event.agent == agent:
            history.take(event)
    return history
