"""Commands about a run, of the loop that runs it and of people. Values only; `runs` decides."""

from __future__ import annotations

from headway.core.commands import RunCommand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from headway.core.events import RunData
    from headway.core.run_events import RunStarted, ToolFinished
    from headway.core.tracking import Policy


class StartRun(RunCommand):
    """A run begins, with the first messages of it."""

    def __init__(self, agent: str, actor: str, at: str, start: RunStarted, first: Sequence[RunData] = ()) -> None:
        super().__init__(agent, actor, at)
        self.start = start
        self.first = first


class RecordEvents(RunCommand):
    """Facts of a run, in their order. With a policy, a call that begins may activate an item."""

    def __init__(
        self, agent: str, actor: str, at: str, run_id: str, facts: Sequence[RunData], policy: Policy | None = None
    ) -> None:
        super().__init__(agent, actor, at)
        self.run_id = run_id
        self.facts = facts
        self.policy = policy


class FinishTool(RunCommand):
    """A call is over; what that means for the list is for tracking to say."""

    def __init__(self, agent: str, actor: str, at: str, run_id: str, call: ToolFinished, policy: Policy) -> None:
        super().__init__(agent, actor, at)
        self.run_id = run_id
        self.call = call
        self.policy = policy


class EndRun(RunCommand):
    """A run is over; what it left in progress is pending again."""

    def __init__(self, agent: str, actor: str, at: str, run_id: str, reason: str, error: str | None = None) -> None:
        super().__init__(agent, actor, at)
        self.run_id = run_id
        self.reason = reason
        self.error = error


class ControlRun(RunCommand):
    """Stop, pause or resume."""

    def __init__(self, agent: str, actor: str, at: str, request: str) -> None:
        super().__init__(agent, actor, at)
        self.request = request


class AnswerQuestion(RunCommand):
    def __init__(
        self, agent: str, actor: str, at: str, question_id: str, reply: str, reason: str, key: str | None = None
    ) -> None:
        super().__init__(agent, actor, at)
        self.question_id = question_id
        self.reply = reply
        self.reason = reason
        self.key = key
