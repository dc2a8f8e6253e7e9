"""What the runs of a session changed in files with their tools, from its log. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headway.core.execution_events import AttemptFinished, AttemptStarted
from headway.core.file_history import FileHistory
from headway.core.model import MAIN_AGENT
from headway.core.run_events import RunStarted, ToolFinished

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headway.core.events import Event


@dataclass(slots=True)
class RunChanges:
    """What one run changed."""

    run_id: str
    task: str
    changes: list[ToolFinished] = field(default_factory=list[ToolFinished])
    """Calls of which it is known what they changed."""
    commands: int = 0
    """Calls that may have changed anything."""
    other_files: list[str] = field(default_factory=list[str])
    """Files that were changed in a way that is not known."""
    left_out: list[str] = field(default_factory=list[str])
    """Todos of which changes are not in the project's files: not merged, rolled back or undone."""


@dataclass(slots=True)
class _Attempt:
    todo_id: str
    in_project: bool
    """Whether it works in the project's own files."""
    history: FileHistory
    end: int = 0
    """Version of the event with which it ended."""

    @property
    def is_in_project(self) -> bool:
        if not self.end:
            return self.in_project
        saved = self.history.ends[self.end][1].before is not None
        return self.end in self.history.live or not saved


def list_changes_by_run(events: Iterable[Event], agent: str | None = None) -> list[RunChanges]:
    """Return what each run changed, in the order in which they began; what sub-agents did meanwhile is part of it.

    With an agent, only what that one did.
    """
    found: list[tuple[RunChanges, list[tuple[str, ToolFinished]]]] = []
    attempts: dict[str, _Attempt] = {}
    histories: dict[str, FileHistory] = {}
    for event in events:
        data = event.data
        history = histories.setdefault(event.agent, FileHistory())
        history.take(event)
        if isinstance(data, AttemptStarted):
            attempts[data.agent] = _Attempt(data.item_id, data.in_place, history)
        elif isinstance(data, AttemptFinished) and data.agent in attempts:
            attempts[data.agent].end = event.version
        if agent not in (None, event.agent):
            continue
        if isinstance(data, RunStarted) and (event.agent == (agent or MAIN_AGENT) or not found):
            found.append((RunChanges(data.run_id, data.task), []))
        elif isinstance(data, ToolFinished) and data.effect is not None and found:
            found[-1][1].append((event.agent, data))
    for run, calls in found:
        for of, call in calls:
            attempt = attempts.get(of)
            if attempt is None or attempt.is_in_project:
                _add(run, call)
            elif call.files and attempt.todo_id not in run.left_out:
                run.left_out.append(attempt.todo_id)
        seen = {file for call in run.changes for file in call.files}
        run.other_files = [file for file in dict.fromkeys(run.other_files) if file not in seen]
    return [run for run, _ in found]


def _add(run: RunChanges, call: ToolFinished) -> None:
    if call.effect == "execute":
        run.commands += 1
    if call.diff is not None:
        run.changes.append(call)
    else:
        run.other_files += call.files
