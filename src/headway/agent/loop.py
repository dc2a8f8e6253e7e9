"""The agent's loop: every round prepares what fits, shows the list, asks the model, runs its calls and tracks them.

`Loop.run` reads like the round it describes; each step is a few lines here and a module beside it. The session is the
only source of truth: no copy of the list is kept, so nothing that others change meanwhile is overwritten.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart

from headway.agent.compaction import SUMMARY_TOKENS, compact, to_headway_message
from headway.agent.config import LoopConfig, Reason
from headway.agent.conversation import Conversation, answer_text, join_answer_text, to_stored_message
from headway.agent.judge import Judge
from headway.agent.repair import repair_answer
from headway.core.errors import ContextTooLong, UserAfterToolRefused
from headway.core.execution_events import ModeChanged
from headway.core.run_events import (
    ConversationCompacted,
    MessageAdded,
    RunError,
)
from headway.core.tracking import JUDGED
from headway.settings.model import Inject

if TYPE_CHECKING:
    from headway.agent.answer_endings import CutOff
    from headway.agent.model_requests import ModelRequests
    from headway.agent.repair import SentCall
    from headway.agent.request_builder import ModelRequestData, RequestBuilder
    from headway.agent.tool_runner import RoundOutcome, ToolRunner
    from headway.core.runs import Run
    from headway.planner.run import PlannerRun

_SHORTENED = 5
"""How often the history is shortened because the provider finds a request too long."""


class Loop:
    """One run, from its first round to its last."""

    def __init__(
        self,
        config: LoopConfig,
        run: PlannerRun,
        conversation: Conversation,
        builder: RequestBuilder,
        requests: ModelRequests,
        calls: ToolRunner,
    ) -> None:
        self._config = config
        self._run = run
        self._session = run.session
        self._agent = run.session.agent_id
        self._conversation = conversation
        self._builder = builder
        self._budget = budget = requests.budget
        self._requests = requests
        self._calls = calls
        self._judge = Judge(run, config.policy, requests.side_request) if config.tracking_in_force == JUDGED else None
        # The last message is what this run begins with; with the one before, the model last heard of the list.
        run.start_injecting(budget.block_room, conversation.versions[-2] if len(conversation.versions) > 1 else None)
        todos = run.state.list_of(self._agent)
        self._block_size = min(sum(len(todo.content) * 2 for todo in todos.items.values()), budget.block_room)
        """About how many bytes of a request the list takes."""
        self._used_ids = _list_call_ids(conversation.messages)
        self._cut: CutOff | None = None
        """Where the last answer was cut off, if it was."""
        self._text_before_cut = self._answer = ""
        """What the model has said of an answer that it completes now; and with the last answer."""
        self.text = ""
        """The model's last words."""

    async def run(self) -> Reason:
        """Go round until there is a reason to end."""
        while True:
            if not await self._begin_round():
                return (
                    Reason.ALL_DONE
                    if self._run.is_all_done and self._run.done_in == self._run.round
                    else Reason.MAX_ROUNDS
                )
            fitted = await self._compact_if_needed()  # 1. budget
            block = self._inject(waited=fitted)  # 2. the list, as it is now
            calls = await self._ask_model(block)  # 3. the model
            outcome = await self._run_tools(calls)  # 4. tools, 5. tracked and 6. told of one by one
            if reason := await self._find_end(outcome):  # 7. end; 8. there is nothing to sync
                return reason

    @property
    def _is_planning(self) -> bool:
        return self._run.state.is_planning(self._agent)

    async def _begin_round(self) -> bool:
        """Go on to the next round when no one wants the run to pause; return False if there is none left."""
        self._record_mode(await self._run.wait_until(lambda run: not self._run.is_held_in(self._run.state)))
        if self._run.round == self._config.max_rounds:
            return False
        self._run.begin_round()
        return True

    def _record_mode(self, run: Run) -> None:
        """Record the approval mode if a person changed it; for an attempt, its execution does."""
        mode = self._calls.mode
        if mode != run.mode and not self._run.state.is_executing(self._agent):
            self._run.record(ModeChanged(mode=mode))

    # 1. budget

    async def _compact_if_needed(self) -> bool:
        """When the history does not fit, its older part gives way to a summary. Whether it did."""
        fixed = self._builder.fixed_size(planning=self._is_planning)
        if self._budget.fits(fixed + self._conversation.size + self._block_size):
            return False
        await self._compact(by_model=True)
        return True

    async def _compact(self, *, by_model: bool) -> None:
        fixed = self._builder.fixed_size(planning=self._is_planning) + self._block_size

        async def ask(messages: list[ModelMessage]) -> str:
            parameters = self._builder.parameters(planning=self._is_planning)
            messages = self._builder.reorder(messages)
            return answer_text(await self._requests.side_request(messages, parameters, SUMMARY_TOKENS))

        shorter = await compact(
            self._conversation,
            self._budget.history_room(fixed),
            ask if by_model else None,
            fits=lambda size: self._budget.fits(fixed + size),
            redacted=self._run.redact,
        )
        if shorter is not None:
            versions = self._conversation.versions[shorter.first :]
            kept_from = versions[0] if versions else self._session.version + 1
            message = to_stored_message(shorter.summary, self._run.redact)
            state = self._run.record(ConversationCompacted(message=message, kept_from=kept_from))
            self._conversation = shorter.conversation
            self._run.forget_shown()
            self._conversation.versions[0] = state.version
        if not self._budget.fits(fixed + self._conversation.size) and not self._budget.is_assumed:
            raise ContextTooLong(
                "The next request alone does not fit into the model's context window: ask for less at once, use "
                "fewer tools, or choose a model with a larger window."
            ).with_advice("choose_model")

    # 2. inject

    def _inject(self, *, waited: bool = True) -> str:
        """Return the list as it is at this moment, to go along with the history; made anew if the request fails.

        If nothing was waited for since the round began, that is what was looked at then.
        """
        state = self._run.look() if waited else self._run.state
        answering = self._run.is_all_done and self._config.inject == Inject.TAIL
        block = self._run.render_context(state, answering=answering)
        self._block_size = len(block.encode(errors="replace"))
        return block

    def _build_request(self, block: str) -> ModelRequestData:
        messages, size = self._conversation.messages, self._conversation.size
        return self._builder.build(messages, size, block, planning=self._is_planning)

    # 3. model

    async def _ask_model(self, block: str) -> list[SentCall]:
        """Return the calls of the model's answer to the history and the block."""
        for attempt in range(_SHORTENED + 2):  # one more, for the order of the messages
            request = self._build_request(block)
            try:
                answer = await self._requests.request_with_retries(
                    request, renewed=lambda: self._build_request(self._inject())
                )
                return self._keep_answer(answer, request.size)
            except UserAfterToolRefused as error:
                if not self._builder.keep_strict_order():
                    raise
                self._run.record(RunError(message=str(error), retry_in=0.0))
            except ContextTooLong as error:
                if attempt == _SHORTENED:
                    raise
                self._budget.note_refused(request.size)
                self._run.record(RunError(message=str(error), retry_in=0.0))
                await self._compact(by_model=False)
                block = self._inject()
        raise AssertionError("it was answered, or failed")

    def _keep_answer(self, answer: ModelResponse, size: int) -> list[SentCall]:
        """Add the answer to the conversation and to the log, with the calls that begin now."""
        self._cut = self._requests.find_cut(answer)
        self._answer = self._text_before_cut + join_answer_text(answer)
        self.text = self._answer.strip() or self.text
        answer, calls = repair_answer(answer, self._used_ids, self._cut)
        if self._cut and any(call.fault for call in calls):
            self._requests.raise_reply_limit()
        self._used_ids.update(call.id for call in calls)
        usage = self._requests.record_usage(answer, size)
        more = (usage, *self._calls.describe_first_calls(calls))
        version = self._run.add_message(self._to_record(answer), *more, policy=self._config.policy)
        self._conversation.add(answer, version)
        return calls

    # 4. tools, 5. track

    async def _run_tools(self, calls: list[SentCall]) -> RoundOutcome | None:
        if not calls:
            return None
        outcome = await self._calls.run(calls)
        self._conversation.add(outcome.results, self._conversation.versions[-1] + 1)
        if self._judge is not None:
            self._judge.note_calls(outcome.finished)
            await self._judge.evaluate(self._run.look(), self._agent, self._run.round)
        return outcome

    # 7. end

    async def _find_end(self, outcome: RoundOutcome | None) -> Reason | None:
        """Return why the run is over; None if it goes on."""
        # After calls, the state is known from recording them.
        self._run.close_round(self._run.look() if outcome is None else self._run.state)
        if outcome is None and self._cut is not None:
            self._continue_cut_answer(self._cut)
            return None
        self._text_before_cut = ""
        if outcome is not None:
            self._run.repeated.check()
            return None
        if self._run.is_all_done:
            return Reason.ALL_DONE
        line = self._run.render_nudge(self._last_words())
        if line is None or self._run.round == self._config.max_rounds:
            return Reason.FINISHED
        self._add_headway_message(line)
        return None

    def _last_words(self) -> str:
        """Return the text of the answer that the model has just given."""
        answer = self._conversation.messages[-1]
        assert isinstance(answer, ModelResponse)
        return answer_text(answer)

    def _continue_cut_answer(self, cut: CutOff) -> None:
        """Have the model complete an answer that was cut off, once."""
        if self._text_before_cut or self._run.round == self._config.max_rounds:
            raise self._requests.cut_answer_error(cut)
        self._text_before_cut = self._answer or " "
        self._add_headway_message(cut.line if self._answer.strip() else cut.line_before_text)

    def _to_record(self, message: ModelMessage) -> MessageAdded:
        return MessageAdded(message=to_stored_message(message, self._run.redact))

    def _add_headway_message(self, line: str) -> None:
        message = to_headway_message(line)
        self._conversation.add(message, self._run.add_message(self._to_record(message)))


def _list_call_ids(messages: list[ModelMessage]) -> set[str]:
    return {part.tool_call_id for message in messages for part in message.parts if isinstance(part, ToolCallPart)}
