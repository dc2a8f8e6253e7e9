"""What people ask of a run, from any process: to stop, to pause, to go on, and their answers to its questions."""

from __future__ import annotations

from headway.core.model import PERSON
from headway.core.text import storable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from headway.core.log import Log
    from headway.core.run_events import ApprovalAnswered
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
        """Ends the run within a second; what it had in progress is pending again. Raises `NoRun` if there is none."""
        self._ask("stop", actor)

    def pause_run(self, *, actor: str = PERSON) -> None:
        """Lets the run finish its round and wait. Raises `NoRun` if there is none."""
        self._ask("pause", actor)

    def resume_run(self, *, actor: str = PERSON) -> None:
        """Lets a paused run go on. Raises `NoRun` if there is none."""
        self._ask("resume", actor)

    def answer(self, question_id: str, reply: str, reason: str = "", *, actor: str = PERSON) -> ApprovalAnswered:
        """Answers a question of the run with `once`, `always` or `no`. Returns the answer that counts: the first."""
        from headway.core.run_changes import AnswerQuestion

        _, state = self._log.change(
            lambda state: AnswerQuestion(self._agent, actor, self._clock(), question_id, reply, storable(reason))
        )
        answer = state.runs[self._agent].questions[question_id][1]
        assert answer is not None
        return answer

    def _ask(self, request: str, actor: str) -> None:
        from headway.core.run_changes import AskRun

        self._log.change(lambda state: AskRun(self._agent, actor, self._clock(), request))
