"""A session in which everything there is has happened: items in every state, a plan, a run with questions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

from tests.support.processes import Form

import headway
from headway.core import execution_events as batch
from headway.core import run_events as facts
from headway.core.clock import now
from headway.core.commands import Command
from headway.core.events import RunData
from headway.core.evidence import Evidence, EvidenceLevel
from headway.core.execution_commands import FinishAttempt, StartAttempt
from headway.core.log import run_lease_key
from headway.core.model import EXECUTOR, LOOP, MAIN_AGENT, MODEL
from headway.core.open_questions import hash_of, new_key, write_question
from headway.core.run_commands import EndRun, FinishTool, RecordEvents, StartRun
from headway.core.tracking import Policy

Word = Callable[[str], str]
"""The text for a place: `word("notes")`."""
LONG_LEASE = 600.0
DIFF = "--- a/x.py\n+++ b/x.py\n@@ -1 +1,2 @@\n same\n-old\n+new {}\n"
_numbers = count(1)


class Run:
    """A run of an agent, which lasts until a test ends it."""

    def __init__(self, session: headway.Session, word: Word) -> None:
        self._session = session
        self.agent = session.agent_id
        self.id = f"told-{next(_numbers)}"
        assert session.store.hold_lease(session.name, run_lease_key(self.agent), self.id, LONG_LEASE) is None
        start = facts.RunStarted(run_id=self.id, task=word("task"), model=word("model"), max_rounds=50, holder=self.id)
        self.change(StartRun(self.agent, LOOP, now(), start))

    def change(self, change: Command) -> None:
        self._session.log.execute(lambda state: change)

    def record(self, *what: RunData) -> None:
        self.change(RecordEvents(self.agent, LOOP, now(), self.id, what))

    def ask(self, *questions: facts.ApprovalAsked) -> None:
        """Ask, such that whoever sees the questions can allow what they are about."""
        asked: list[facts.ApprovalAsked] = []
        for question in questions:
            key = new_key()
            text, lease = write_question(question, key), run_lease_key(self.agent)
            self._session.store.keep_question(self._session.name, question.question_id, lease, text)
            asked.append(replace(question, key_hash=hash_of(key)))
        self.record(*asked)

    def call(self, call: facts.ToolFinished) -> None:
        self.record(
            facts.ToolStarted(
                round=1,
                call_id=call.call_id,
                tool=call.tool,
                summary=f"{call.tool} {call.command or ''}",
                effect=call.effect,
            )
        )
        self.change(FinishTool(self.agent, LOOP, now(), self.id, call, Policy()))

    def end(self, reason: str = "finished", error: str | None = None) -> None:
        self.change(EndRun(self.agent, LOOP, now(), self.id, reason, error))
        self._session.store.release_lease(self._session.name, run_lease_key(self.agent), self.id)


class Story:
    """What has happened; each text is made by `word`, for the place that it is for."""

    def __init__(self, session: headway.Session, word: Word = str) -> None:
        self.session = session
        self.word = word
        self.ids = {name: word(f"id-{name}") for name in ("done", "said", "now", "stuck", "next", "off", "mine")}
        session.write([*self._items()], title=word("title"), actor=word("actor")[:200])
        session.set_plan(self._plan(), actor=MODEL)
        self.main = Run(session, word)
        self.main.record(batch.ExecutionStarted(mode="default", parallel=2, total=3, retries=1, note=word("note")))
        self._stuck()
        self._now()

    def _items(self) -> list[Form]:
        word, ids = self.word, self.ids
        evidence = {"level": "verified", "command": word("evidence"), "exit_code": 0, "files": [word("file")]}
        evidence |= {"seconds": 1.5, "output": word("check output"), "note": word("evidence note")}
        texts = {name: word(name) for name in ("notes", "module", "estimated_time")}
        return [
            {
                "id": ids["done"],
                "content": word("content"),
                "status": "completed",
                "verify": word("check"),
                "evidence": evidence,
                **texts,
            },
            {"id": ids["said"], "content": word("content said"), "status": "completed", "priority": "low"},
            {"id": ids["now"], "content": word("content now"), "active_form": word("active"), "priority": "high"},
            {"id": ids["stuck"], "content": word("content stuck"), "risks": [word("risk"), word("other risk")]},
            {"id": ids["next"], "content": word("content next"), "depends_on": [ids["done"], ids["now"]], **texts},
            {"id": ids["off"], "content": word("content off"), "status": "cancelled"},
            {"id": ids["mine"], "content": word("content mine"), "status": "in_progress", "owner": word("owner")},
        ]

    def _plan(self) -> Form:
        word, ids = self.word, self.ids
        step = {"id": ids["done"], "description": word("step"), "module": word("step module")}
        more = {
            "dependencies": [ids["done"]],
            "risks": [word("step risk")],
            "estimatedTime": word("step time"),
            "verify": word("step check"),
        }
        return {
            "title": word("plan title"),
            "overview": word("overview"),
            "steps": [step, {"id": word("id-step"), "description": word("other step"), **more}],
            "risks": [word("plan risk")],
            "testingStrategy": word("testing"),
            "estimatedDuration": word("duration"),
        }

    def _begin(self, name: str, number: int) -> Run:
        own = self.session.agent(self.word(f"agent {name}")[:200])
        content = self.session.todo_list.items[self.ids[name]].content
        started = batch.AttemptStarted(
            item_id=self.ids[name], content=content, agent=own.agent_id, attempt=1, index=number, total=3
        )
        self.main.change(StartAttempt(MAIN_AGENT, EXECUTOR, now(), self.main.id, started))
        return Run(own, self.word)

    def _call(self, tool: str, **about: Any) -> facts.ToolFinished:
        given: dict[str, Any] = {"effect": "execute", "exit_code": 0, "seconds": 1.5, **about}
        return facts.ToolFinished(
            round=1, call_id=f"call-{next(_numbers)}", tool=self.word(tool), ok=True, text=self.word("output"), **given
        )

    def _stuck(self) -> None:
        """An item that failed, with its calls and what was said."""
        word = self.word
        work = self._begin("stuck", 1)
        work.record(facts.RoundStarted(run_id=work.id, round=1, max_rounds=50))
        work.call(self._call("tool", command=word("command"), exit_code=1))
        work.call(self._call("editor", effect="write", diff=DIFF.format(word("diff")), files=(word("changed file"),)))
        work.record(
            facts.MessageAdded(message={"kind": "response", "parts": [{"part_kind": "text", "content": word("said")}]})
        )
        work.record(
            facts.RunError(message=word("error"), retry_in=1.0),
            facts.Usage(
                round=1,
                input_tokens=100,
                output_tokens=20,
                cache_read_tokens=0,
                cache_write_tokens=0,
                total_tokens=120,
                total_cost=None,
            ),
        )
        work.end("error", word("run error"))
        finished = batch.AttemptFinished(
            item_id=self.ids["stuck"],
            agent=work.agent,
            attempt=1,
            outcome="blocked",
            reason=word("reason"),
            text=word("last words"),
            worktree=".headway/worktrees/1",
            files=(word("its file"),),
            tool_calls=2,
            failed_calls=1,
            seconds=61.0,
        )
        shown = Evidence(EvidenceLevel.REPORTED)
        self.main.change(FinishAttempt(MAIN_AGENT, EXECUTOR, now(), self.main.id, finished, shown))

    def _now(self) -> None:
        """An item that is being executed, and asks."""
        word = self.word
        self.work = self._begin("now", 2)
        self.work.record(facts.RoundStarted(run_id=self.work.id, round=1, max_rounds=50))
        question = facts.ApprovalAsked(
            question_id="q1",
            tool=word("asking tool"),
            effect="execute",
            line=word("line"),
            command=word("asked command"),
        )
        other = facts.ApprovalAsked(
            question_id="q2",
            tool=word("writer"),
            effect=word("effect"),
            line=word("other line"),
            path=word("path"),
            host=word("host"),
            diff=DIFF.format(word("asked diff")),
        )
        self.work.ask(question, other)

    def end(self) -> None:
        """The run is over, and nothing is asked any more."""
        self.work.end("cancelled")
        self.main.end("error", self.word("main error"))
