"""A run's questions, put on the log: whoever is asked here or sees them elsewhere may answer; the first one counts.

The log has them without keys and tokens. What would really run is kept beside it as long as the question is open.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from headway.agent.tool_runner import shorten_diff
from headway.core.errors import HeadwayError
from headway.core.log import run_lease_key
from headway.core.logs import logger
from headway.core.model import PERSON
from headway.core.open_questions import hash_of, new_key, write_question
from headway.core.run_events import ApprovalAnswered, ApprovalAsked
from headway.core.runs import Run
from headway.core.text import truncate
from headway.tools.approvals import NOT_ASKED, Answer, Ask, Question, Reply

if TYPE_CHECKING:
    from headway.planner.recorder import Recorder


_LONGEST_LINE = 4_000
"""Characters of a question's line in the log."""


class LoggedQuestions:
    """Stands in for the function that asks, as long as a run goes on."""

    def __init__(self, recorder: Recorder, ask: Ask) -> None:
        self._recorder = recorder
        self._ask = ask

    async def __call__(self, question: Question) -> Answer:
        key = new_key()
        exact = _exact(question)
        self._keep(exact, key)
        began = time.monotonic()
        try:
            return await self._wait_for_answer(question, _without_keys(exact, key, self._recorder.redact), key)
        finally:
            self._recorder.session.store.drop_question(self._recorder.session.name, question.id)
            waited = self._recorder.seconds_waited
            waited[question.call_id] = waited.get(question.call_id, 0.0) + time.monotonic() - began

    def _keep(self, exact: ApprovalAsked, key: str) -> None:
        """Keep what others need to allow it; where that fails, it can be allowed here alone."""
        session = self._recorder.session
        try:
            text = write_question(exact, key)
            session.store.keep_question(session.name, exact.question_id, run_lease_key(session.agent_id), text)
        except HeadwayError as error:
            logger().error("A question cannot be shown elsewhere: %s", error)

    async def _wait_for_answer(self, question: Question, asked: ApprovalAsked, key: str) -> Answer:
        self._recorder.record(asked)

        def answer_in(run: Run) -> ApprovalAnswered | None:
            return _find_answer(run, asked, key)

        here = asyncio.create_task(self._ask_here(question, key))
        elsewhere = asyncio.create_task(self._recorder.wait_until(lambda run: answer_in(run) is not None))
        try:
            await asyncio.wait({here, elsewhere}, return_when=asyncio.FIRST_COMPLETED)
            counts = here.result() if here.done() else answer_in(elsewhere.result())
            assert counts is not None
            return Answer(Reply(counts.reply), counts.reason)
        finally:
            for task in (here, elsewhere):
                task.cancel()

    async def _ask_here(self, question: Question, key: str) -> ApprovalAnswered:
        try:
            answer = await self._ask(question)
            reply, reason = Reply(answer.reply), str(answer.reason or "")
        except Exception:
            self._record(question.id, Reply.NO, NOT_ASKED, key)
            raise
        return self._record(question.id, reply, reason, key)

    def _record(self, question_id: str, reply: Reply, reason: str, key: str) -> ApprovalAnswered:
        session, reason = self._recorder.session, self._recorder.redact(reason)
        first = session.answer_with_key(question_id, reply, reason, key, actor=PERSON)
        return first if _counts(first, key) else ApprovalAnswered(question_id=question_id, reply=reply, reason=reason)


def _find_answer(run: Run, asked: ApprovalAsked, key: str) -> ApprovalAnswered | None:
    """Return the answer to the very question that was asked here, if there is one that counts."""
    found, answer = run.questions.get(asked.question_id, (None, None))
    return (
        answer
        if found is not None and found.key_hash == asked.key_hash and answer is not None and _counts(answer, key)
        else None
    )


def _counts(answer: ApprovalAnswered, key: str) -> bool:
    return answer.reply == Reply.NO or answer.key == key


def _exact(question: Question) -> ApprovalAsked:
    preview = question.preview
    return ApprovalAsked(
        question_id=question.id,
        tool=question.tool,
        effect=question.effect,
        line=preview.line,
        call_id=question.call_id,
        command=preview.command,
        path=preview.path,
        diff=preview.diff,
        host=preview.host,
    )


def _without_keys(exact: ApprovalAsked, key: str, redacted: Callable[[str], str]) -> ApprovalAsked:
    """Return the question as the log has it."""
    return replace(
        exact,
        line=truncate(redacted(exact.line), _LONGEST_LINE),
        command=exact.command and redacted(exact.command),
        diff=exact.diff and shorten_diff(exact.diff, redacted),
        key_hash=hash_of(key),
    )
