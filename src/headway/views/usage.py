"""What the runs of a session have used, from its log. Pure; several agents' runs may go on at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headway.core.events import ListDelta
from headway.core.run_events import RoundStarted, RunFinished, RunStarted, ToolFinished, Usage
from headway.core.runs import CUT_OFF
from headway.core.tracking import TODO_EFFECT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headway.core.events import Event, EventData


@dataclass(slots=True)
class RunUsage:
    """What one run has used so far."""

    run_id: str
    agent: str
    task: str
    model: str
    started_at: str
    reason: str | None = None
    """Why it ended; None while it goes on."""
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = 0.0
    """US dollars; None where the price is not known."""
    ended_at: str | None = None
    rounds: int = 0
    tool_calls: int = 0
    error: str | None = None
    last_at: str = ""
    """When something was last heard of it."""


class UsageCounter:
    """Counts what each run uses, event by event, however the runs of several agents are mixed."""

    def __init__(self) -> None:
        self.runs: list[RunUsage] = []
        """In the order in which they began."""
        self._last: dict[str, RunUsage] = {}

    def usage_of(self, agent: str) -> RunUsage | None:
        """The agent's run that goes on, or its last."""
        return self._last.get(agent)

    def count(self, event: Event) -> None:
        data = event.data
        if isinstance(data, RunStarted):
            run = RunUsage(data.run_id, event.agent, data.task, data.model, event.at, last_at=event.at)
            self._last[event.agent] = run
            self.runs.append(run)
            return
        run = self._last.get(event.agent)
        if run is None:
            return
        if isinstance(data, RunFinished):
            run.reason, run.error = data.reason, data.error
            run.ended_at = event.at if is_made_by_run(data) else run.last_at
            run.rounds, run.tool_calls = data.rounds, data.tool_calls
            return
        if is_made_by_run(data):
            run.last_at = event.at
        if isinstance(data, Usage):
            run.input_tokens += data.input_tokens
            run.cached_tokens += data.cache_read_tokens
            run.output_tokens += data.output_tokens
            run.cost = data.total_cost
        elif isinstance(data, RoundStarted):
            run.rounds = data.round
        elif isinstance(data, ToolFinished) and data.effect != TODO_EFFECT and not data.cancelled:
            run.tool_calls += 1


def is_made_by_run(data: EventData) -> bool:
    """Whether the run was there when it happened: not what anyone does to the list, nor the end that is found later."""
    return not isinstance(data, ListDelta) and not (isinstance(data, RunFinished) and data.error == CUT_OFF)


def sum_costs(costs: Iterable[float | None]) -> float | None:
    """The sum; None if one of them is not known."""
    total = 0.0
    for cost in costs:
        if cost is None:
            return None
        total += cost
    return total
