"""Commands about an execution. Values only; `executions` decides."""

from __future__ import annotations

from headway.core.commands import RunCommand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from headway.core.evidence import Evidence
    from headway.core.execution_events import AttemptFinished, AttemptStarted, MergeStarted, TodosRolledBack


class ExecutionCommand(RunCommand):
    """Something about items that are executed. `run_id`: the run that executes them; None for what needs none."""

    def __init__(self, agent: str, actor: str, at: str, run_id: str | None) -> None:
        super().__init__(agent, actor, at)
        self.run_id = run_id


class StartAttempt(ExecutionCommand):
    """An item is to be executed now. Refused if it cannot be, as the list then is."""

    def __init__(self, agent: str, actor: str, at: str, run_id: str, started: AttemptStarted) -> None:
        super().__init__(agent, actor, at, run_id)
        self.started = started


class FinishAttempt(ExecutionCommand):
    """The execution of an item is over."""

    def __init__(
        self, agent: str, actor: str, at: str, run_id: str, finished: AttemptFinished, evidence: Evidence | None
    ) -> None:
        super().__init__(agent, actor, at, run_id)
        self.finished = finished
        self.evidence = evidence


class MergeFiles(ExecutionCommand):
    """The project's files are about to change outside of an execution, or have changed."""

    def __init__(self, agent: str, actor: str, at: str, fact: MergeStarted | AttemptFinished) -> None:
        super().__init__(agent, actor, at, None)
        self.fact = fact


class RollBackTodos(ExecutionCommand):
    """What items changed is reversed in the project's files; they are to be done again."""

    def __init__(self, agent: str, actor: str, at: str, rolled: TodosRolledBack) -> None:
        super().__init__(agent, actor, at, None)
        self.rolled = rolled
