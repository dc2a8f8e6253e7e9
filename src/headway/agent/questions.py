"""A run's questions, put on the log: whoever is asked here or sees them elsewhere may answer; the first one counts."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from headway.agent.calls import diff_for_people
from headway.core.model import PERSON
from headway.core.run_events import ApprovalAnswered, ApprovalAsked
from headway.core.runs import Run
from headway.tools.approvals import Answer, Ask, Question, Reply

if TYPE_CHECKING:
    from headway.agent.recorder import Recorder


class Questions:
    """Stands in for the function that asks, as long as a run goes on."""

    def __init__(self, recorder: Recorder, ask: Ask) -> None:
        self._recorder = recorder
        self._ask = ask

    async def __call__(self, question: Question) -> Answer:
        self._recorder.record(_asked(question, self._recorder.redacted))
        began = time.monotonic()
        here = asyncio.create_task(self._asked_here(question))
        elsewhere = asyncio.create_task(self._recorder.until(lambda run: _answer(run, question.id) is not None))
        try:
            await asyncio.wait({here, elsewhere}, return_when=asyncio.FIRST_COMPLETED)
            counts = here.result() if here.done() else _answer(elsewhere.result(), question.id)
            assert counts is not None
            return Answer(Reply(counts.reply), counts.reason)
        finally:
            for task in (here, elsewhere):
                task.cancel()
            waited = self._recorder.waited
            waited[question.call_id] = waited.get(question.call_id, 0.0) + time.monotonic() - began

    async def _asked_here(self, question: Question) -> ApprovalAnswered:
        try:
            answer = await self._ask(question)
            reply, reason = Reply(answer.reply), str(answer.reason or "")
        except Exception:
            self._said(question.id, Reply.NO, "the question could not be asked")
            raise
        return self._said(question.id, reply, reason)

    def _said(self, question_id: str, reply: Reply, reason: str) -> ApprovalAnswered:
        return self._recorder.session.answer(question_id, reply, self._recorder.redacted(reason), actor=PERSON)


def _answer(run: Run, question_id: str) -> ApprovalAnswered | None:
    found = run.questions.get(question_id)
    return found and found[1]


def _asked(question: Question, redacted: Callable[[str], str]) -> ApprovalAsked:
    preview = question.preview
    return ApprovalAsked(
        question.id,
        question.tool,
        question.effect,
        redacted(preview.line),
        question.call_id,
        command=preview.command and redacted(preview.command),
        path=preview.path,
        diff=preview.diff and diff_for_people(preview.diff, redacted),
        host=preview.host,
    )
