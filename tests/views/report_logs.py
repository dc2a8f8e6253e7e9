"""Sessions whose logs tell of runs and executions, made step by step through the core, by a clock that tests move."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from headway.core import execution_events as facts
from headway.core.clock import add_seconds
from headway.core.events import RunData
from headway.core.evidence import Evidence
from headway.core.execution_commands import FinishAttempt, RollBackTodos, StartAttempt
from headway.core.log import run_lease_key
from headway.core.model import EXECUTOR, LOOP, MAIN_AGENT
from headway.core.run_commands import EndRun, FinishTool, RecordEvents, StartRun
from headway.core.run_events import RoundStarted, RunStarted, ToolFinished, Usage
from headway.core.tracking import Policy
from headway.store.memory import MemoryStore
from headway.views.report.build import build_report
from headway.views.report.model import Report, to_record

BEGAN = "2026-01-02T03:04:05.000Z"


class Story:
    """A session and what happens in it. `at` is the time, moved by `wait`."""

    def __init__(self, *items: str | dict[str, Any], session: str = "story") -> None:
        self.at = BEGAN
        self.session = MemoryStore().session(session, clock=lambda: self.at)
        if items:
            todos = [{"content": item, "status": "pending"} if isinstance(item, str) else item for item in items]
            self.session.write(todos, replace=True)
        self.runs: dict[str, str] = {}
        self.begun: dict[str, tuple[str, int, float, str]] = {}
        self._number = 0
        self._attempts: dict[str, int] = {}
        self._seconds = 0.0

    def wait(self, seconds: float) -> Story:
        self.at = add_seconds(self.at, seconds)
        self._seconds += seconds
        return self

    # runs

    def run(self, task: str = "Do it", *first: RunData, agent: str = MAIN_AGENT, model: str = "scripted:x") -> Story:
        self._number += 1
        run_id = self.runs[agent] = f"run-{self._number}"
        assert self.session.store.hold_lease(self.session.name, run_lease_key(agent), run_id, 86_400) is None
        start = RunStarted(run_id=run_id, task=task, model=model, max_rounds=50, holder=run_id)
        self.session.log.execute(lambda state: StartRun(agent, LOOP, self.at, start, tuple(first)))
        return self

    def log(self, *what: RunData, agent: str = MAIN_AGENT) -> Story:
        self.session.log.execute(lambda state: RecordEvents(agent, LOOP, self.at, self.runs[agent], what))
        return self

    def round(
        self, number: int, read: int = 0, written: int = 0, cost: float | None = 0.0, agent: str = MAIN_AGENT
    ) -> Story:
        """A round, and the request that it made."""
        used = Usage(
            round=number,
            input_tokens=read,
            output_tokens=written,
            cache_read_tokens=read // 2,
            cache_write_tokens=0,
            total_tokens=read + written,
            total_cost=cost,
        )
        return self.log(RoundStarted(run_id=self.runs[agent], round=number, max_rounds=50), used, agent=agent)

    def call(self, number: int = 1, ok: bool = True, files: Iterable[str] = (), agent: str = MAIN_AGENT) -> Story:
        call = ToolFinished(
            round=number, call_id="c", tool="bash", ok=ok, text="said", effect="execute", files=tuple(files)
        )
        self.session.log.execute(
            lambda state: FinishTool(agent, LOOP, self.at, self.runs[agent], call, Policy(tracking="manual"))
        )
        return self

    def end(self, reason: str = "finished", error: str | None = None, agent: str = MAIN_AGENT) -> Story:
        run_id = self.runs[agent]
        self.session.log.execute(lambda state: EndRun(agent, LOOP, self.at, run_id, reason, error))
        self.let_go(agent)
        return self

    def let_go(self, agent: str = MAIN_AGENT) -> None:
        """What is left of a run whose process is gone."""
        self.session.store.release_lease(self.session.name, run_lease_key(agent), self.runs[agent])

    # executions

    def execution(self, parallel: int = 3, total: int = 0, **more: Any) -> Story:
        self._attempts = {}
        total = total or len(self.session.todos)
        return self.run("Execute all", facts.ExecutionStarted(mode="auto_edit", parallel=parallel, total=total, **more))

    def start(self, item_id: str, *, alone: bool = False, restored: tuple[str, ...] = (), again: bool = False) -> Story:
        number = self._attempts.get(item_id, 0) + (not again)
        self._attempts[item_id] = number
        self._number += 1
        agent = f"{item_id} #{self._number}"
        content = self.session.todo_list.items[item_id].content
        started = facts.AttemptStarted(
            item_id=item_id,
            content=content,
            agent=agent,
            attempt=number,
            index=len(self._attempts),
            total=len(self.session.todos),
            alone=alone,
            restored=restored,
        )
        self.session.log.execute(
            lambda state: StartAttempt(MAIN_AGENT, EXECUTOR, self.at, self.runs[MAIN_AGENT], started)
        )
        self.begun[item_id] = (agent, number, self._seconds, self.at)
        return self.run(content, agent=agent)

    def agent_of(self, item_id: str) -> str:
        return self.begun[item_id][0]

    def finish(self, item_id: str, outcome: str = "completed", evidence: Evidence | None = None, **more: Any) -> Story:
        agent, number, since, _ = self.begun.pop(item_id)
        if more.get("input_tokens"):
            read, written = more["input_tokens"], more.get("output_tokens", 0)
            used = Usage(
                round=1,
                input_tokens=read,
                output_tokens=written,
                cache_read_tokens=more.get("cached_tokens", 0),
                cache_write_tokens=0,
                total_tokens=read + written,
                total_cost=more.get("cost"),
            )
            self.log(used, agent=agent)
        self.end("error" if outcome == "interrupted" else "finished", agent=agent)
        more = {"seconds": round(self._seconds - since, 3), **more}
        finished = facts.AttemptFinished(item_id=item_id, agent=agent, attempt=number, outcome=outcome, **more)
        change = FinishAttempt(MAIN_AGENT, EXECUTOR, self.at, self.runs[MAIN_AGENT], finished, evidence)
        self.session.log.execute(lambda state: change)
        return self

    def finish_all(self, outcome: str, completed: int, failed: int, seconds: float, *failed_items: str) -> Story:
        total = len(self.session.todos)
        self.log(
            facts.ExecutionFinished(
                outcome=outcome,
                completed=completed,
                failed=failed,
                total=total,
                seconds=seconds,
                failed_items=failed_items,
            )
        )
        return self.end("all_done" if outcome == "complete" else "error")

    def roll_back(self, item_id: str, *files: str) -> Story:
        rolled = facts.TodosRolledBack(item_id=item_id, files=files)
        self.session.log.execute(lambda state: RollBackTodos(MAIN_AGENT, EXECUTOR, self.at, rolled))
        return self

    # the report

    def report(self, agent: str = MAIN_AGENT, **more: Any) -> Report:
        session = self.session.agent(agent)
        todos = session.todos
        return build_report(session.events(), todos, session=session.name, agent=agent, generated_at=self.at, **more)

    def record(self, agent: str = MAIN_AGENT, **more: Any) -> dict[str, Any]:
        """The report as JSON."""
        return json.loads(json.dumps(to_record(self.report(agent, **more))))


def item(todo_id: str, content: str, *needs: str, **more: Any) -> dict[str, Any]:
    return {"id": todo_id, "content": content, "depends_on": list(needs), "status": "pending", **more}
