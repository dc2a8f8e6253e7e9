"""What the runs of a session changed in files with their tools, from its log. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from headway.core.model import MAIN_AGENT
from headway.core.run_events import RunStarted, ToolFinished

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from headway.core.events import Event


@dataclass(slots=True)
class Changed:
    """What one run changed."""

    run_id: str
    task: str
    changes: list[ToolFinished] = field(default_factory=list[ToolFinished])
    """Calls of which it is known what they changed."""
    commands: int = 0
    """Calls that may have changed anything."""
    other_files: list[str] = field(default_factory=list[str])
    """Files that were changed in a way that is not known."""


def changed_by_run(events: Iterable[Event], agent: str = MAIN_AGENT) -> list[Changed]:
    """What each run of the agent changed, in the order in which they began; what others did meanwhile is part of it."""
    found: list[Changed] = []
    for event in events:
        data = event.data
        if isinstance(data, RunStarted) and (event.agent == agent or not found):
            found.append(Changed(data.run_id, data.task))
        elif isinstance(data, ToolFinished) and data.effect is not None and found:
            _add(found[-1], data)
    for run in found:
        seen = {file for call in run.changes for file in call.files}
        run.other_files = [file for file in dict.fromkeys(run.other_files) if file not in seen]
    return found


def _add(run: Changed, call: ToolFinished) -> None:
    if call.effect == "execute":
        run.commands += 1
    if call.diff is not None:
        run.changes.append(call)
    else:
        run.other_files += call.files
