"""What people ask of a run, from any process: to stop, to pause, to go on, and their answers to its questions."""

from __future__ import annotations

from headway.core.model import PERSON
from headway.core.text import to_storable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from headway.core.log import Log
    from headway.core.run_events import ApprovalAnswered, ApprovalAsked
    from headway.core.runs import Run


class RunControl:
    """Each is a change in the log, which the process that runs it watches for."""

    _log: Log
    _agent: str
    _clock: Callable[[], str]

    @property
    def run(self) -> Run | None:
        """The run that goes on, or the last one there was."""
        return self._log.state().runs.get(self._agent)

    def stop_run(self, *, actor: str = PERSON) -> None:
        """End the run within a second; what it had in progress is pending again. Raises `NoRun` if there is none."""
        self._control("stop", actor)

    def pause_run(self, *, actor: str = PERSON) -> None:
        """Let the run finish its round and wait. Raises `NoRun` if there is none."""
        self._control("pause", actor)

    def resume_run(self, *, actor: str = PERSON) -> None:
        """Let a paused run go on. Raises `NoRun` if there is none."""
        self._control("resume", actor)

    def answer(self, question_id: str, reply: str, reason: str = "", *, actor: str = PERSON) -> ApprovalAnswered:
        """Answer a question of the run: `once`, `always`, `offline` or `no`. Return the answer that counts, the first.

        What would run is in `exact_question`; the log has it without keys. Raises `QuestionNotKept` for an answer that
        allows what cannot be shown here.
        """
        from headway.core.open_questions import NO

        kept = self._kept_question(question_id) if reply != NO else None
        return self.answer_with_key(question_id, reply, reason, kept and kept[1], actor=actor)

    def exact_question(self, question_id: str) -> ApprovalAsked | None:
        """Return an open question with the exact texts of what would run; None if they are not to be had here."""
        kept = self._kept_question(question_id)
        return kept and kept[0]

    def _kept_question(self, question_id: str) -> tuple[ApprovalAsked, str] | None:
        from headway.core.open_questions import read_question

        text = self._log.store.question(self._log.name, question_id)
        return read_question(text) if text is not None else None

    def answer_with_key(
        self, question_id: str, reply: str, reason: str, key: str | None, *, actor: str = PERSON
    ) -> ApprovalAnswered:
        """Answer for someone who has the question's key: whoever asks, or was given the exact text."""
        from headway.core.run_commands import AnswerQuestion

        _, state = self._log.execute(
            lambda state: AnswerQuestion(
                self._agent, actor, self._clock(), question_id, reply, to_storable(reason), key
            )
        )
        answer = state.runs[self._agent].questions[question_id][1]
        assert answer is not None
        return answer

    def _control(self, request: str, actor: str) -> None:
        from headway.core.run_commands import ControlRun

        self._log.execute(lambda state: ControlRun(self._agent, actor, self._clock(), request))
