"""An execution of items that a test takes step by step, as the executor would."""

from __future__ import annotations

from itertools import count
from typing import Any

from headway import Event
from headway.core.evidence import Evidence, EvidenceLevel
from headway.core.execution_commands import FinishAttempt, RollBackTodos, StartAttempt
from headway.core.execution_events import AttemptFinished, AttemptStarted, ExecutionStarted, TodosRolledBack
from headway.core.model import EXECUTOR, PERSON

from .running import Running

SHOWN = Evidence(EvidenceLevel.VERIFIED, "make test", 0, ("a.py",))


class Executing(Running):
    """An execution of items that a test takes step by step."""

    def begin(self, *, rounds: int = 0, lease: float = 600) -> Executing:
        super().begin(rounds=rounds, lease=lease)
        self.numbers = count(1)
        self.record(ExecutionStarted(mode="yolo", parallel=2, total=len(self.session.todos)))
        return self

    def start(self, todo_id: str, **more: Any) -> str:
        """The sub-agent that works on the item from now on."""
        agent = f"{todo_id} #{next(self.numbers)}"
        facts: dict[str, Any] = {"attempt": 1, "index": 1, "total": 2, "checkpoint": "c0", **more}
        started = AttemptStarted(item_id=todo_id, content="Do it", agent=agent, **facts)
        self.session.log.execute(lambda state: StartAttempt(self.agent, EXECUTOR, self.clock(), self.id, started))
        return agent

    def finish_item(
        self, todo_id: str, outcome: str = "completed", *, by: str = "", evidence: Evidence | None = None, **more: Any
    ) -> list[Event]:
        batch = self.run.execution
        assert batch is not None
        who = by or batch.executing.get(todo_id, "nobody")
        finished = AttemptFinished(item_id=todo_id, agent=who, attempt=1, outcome=outcome, **more)
        change = FinishAttempt(self.agent, EXECUTOR, self.clock(), self.id, finished, evidence)
        return self.session.log.execute(lambda state: change)[0]

    def roll_back(self, todo_id: str, *, changed_files: bool = True) -> None:
        rolled = (
            TodosRolledBack(item_id=todo_id, files=("a.py",), forced=False, saved="c1")
            if changed_files
            else TodosRolledBack(item_id=todo_id, files=())
        )
        self.session.log.execute(lambda state: RollBackTodos(self.agent, PERSON, self.clock(), rolled))
