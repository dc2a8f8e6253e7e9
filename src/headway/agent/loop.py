"""The agent's loop: every round prepares what fits, shows the list, asks the model, runs its calls and tracks them.

`Loop.run` reads like the round it describes; each step is a few lines here and a module beside it. The session is the
only source of truth: no copy of the list is kept, so nothing that others change meanwhile is overwritten.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart

from headway.agent.compaction import SUMMARY_TOKENS, compact, to_headway_message
from headway.agent.config import LoopConfig, Reason
from headway.agent.conversation import Conversation, answer_text, join_answer_text, to_stored_message
from headway.agent.judge import Judge
from headway.agent.repair import repair_answer
from headway.core.clock import now
from headway.core.errors import ContextTooLong, UserAfterToolRefused
from headway.core.execution_events import ModeChanged
from headway.core.run_events import (
    ConversationCompacted,
    MessageAdded,
    RoundStarted,
    RunError,
    RunPaused,
    TodoListCompleted,
)
from headway.core.tracking import JUDGED, is_done, is_settled
from headway.planner.list_injector import ListInjector
from headway.planner.repeated_calls import RepeatedCalls
from headway.settings.model import Inject

if TYPE_CHECKING:
    from headway.agent.answer_endings import CutOff
    from headway.agent.budget import Budget
    from headway.agent.model_requests import ModelRequests
    from headway.agent.request_builder import ModelRequestData, RequestBuilder
    from headway.agent.tool_runner import RoundOutcome, ToolRunner
    from headway.core.events import Event
    from headway.core.model import State, TodoList
    from headway.core.runs import Run
    from headway.planner.recorder import Recorder

_SHORTENED = 5
"""How often the history is shortened because the provider finds a request too long."""


class Loop:
    """One run, from its first round to its last."""

    def __init__(
        self,
        config: LoopConfig,
        recorder: Recorder,
        conversation: Conversation,
        builder: RequestBuilder,
        budget: Budget,
        requests: ModelRequests,
        calls: ToolRunner,
    ) -> None:
        self._config = config
        self._recorder = recorder
        self._session = recorder.session
        self._agent = recorder.session.agent_id
        self._conversation = conversation
        self._builder = builder
        self._budget = budget
        self._requests = requests
        self._calls = calls
        self._policy = config.policy
        self._judge = (
            Judge(recorder, self._policy, requests.side_request) if config.tracking_in_force == JUDGED else None
        )
        todos = recorder.session.todo_list
        # The last message is what this run begins with; with the one before, the model last heard of the list.
        since = conversation.versions[-2] if len(conversation.versions) > 1 else recorder.session.version
        self._injector = ListInjector(config, todos, budget.block_room, self._read_events, since)
        self._repeated = RepeatedCalls(recorder.redact)
        self._block_size = min(sum(len(todo.content) * 2 for todo in todos.items.values()), budget.block_room)
        """About how many bytes of a request the list takes."""
        self._done = _todo_ids(todos) if is_done(todos) else None
        """The items of the list that was finished when it was last looked at."""
        self._settled = self._done if is_settled(todos) else None
        """The same, if not only tracking says of any that it is completed."""
        self._all_done = False
        """Whether the list was settled in this run."""
        self._used_ids = _list_call_ids(conversation.messages)
        self._done_in = 0
        """The round in which it was."""
        self._planning = recorder.session.is_planning
        self._cut: CutOff | None = None
        """Where the last answer was cut off, if it was."""
        self._text_before_cut = self._answer = ""
        """What the model has said of an answer that it completes now; and with the last answer."""
        self.round = 0
        self.text = ""
        """The model's last words."""

    async def run(self) -> Reason:
        """Go round until there is a reason to end."""
        while True:
            if not await self._begin_round():
                return Reason.ALL_DONE if self._all_done and self._done_in == self.round else Reason.MAX_ROUNDS
            fitted = await self._compact_if_needed()  # 1. budget
            block = self._inject(waited=fitted)  # 2. the list, as it is now
            calls, faults = await self._ask_model(block)  # 3. the model
            outcome = await self._run_tools(calls, faults)  # 4. tools, 5. tracked and 6. told of one by one
            if reason := await self._find_end(outcome):  # 7. end; 8. there is nothing to sync
                return reason

    async def _begin_round(self) -> bool:
        """Go on to the next round when no one wants the run to pause; return False if there is none left."""
        self._record_mode(await self._recorder.wait_until(lambda run: not self._is_held(run)))
        if self.round == self._config.max_rounds:
            return False
        self.round += 1
        self._recorder.record_deferred(RoundStarted(self._recorder.run_id, self.round, self._config.max_rounds))
        return True

    def _is_held(self, run: Run) -> bool:
        """Return whether someone wants the run to pause; the log has it when it does."""
        if self._recorder.is_paused and not run.waiting:
            self._recorder.record(RunPaused(self.round))
        return self._recorder.is_paused

    def _record_mode(self, run: Run) -> None:
        """Record the approval mode if a person changed it; for an attempt, its execution does."""
        mode, state = self._calls.mode, self._recorder.state
        if mode != run.mode and not (state is not None and state.is_executing(self._agent)):
            self._recorder.record(ModeChanged(mode))

    # 1. budget

    async def _compact_if_needed(self) -> bool:
        """When the history does not fit, its older part gives way to a summary. Whether it did."""
        fixed = self._builder.fixed_size(planning=self._planning)
        if self._budget.fits(fixed + self._conversation.size + self._block_size):
            return False
        await self._compact(by_model=True)
        return True

    async def _compact(self, *, by_model: bool) -> None:
        fixed = self._builder.fixed_size(planning=self._planning) + self._block_size

        async def ask(messages: list[ModelMessage]) -> str:
            parameters = self._builder.parameters(planning=self._planning)
            messages = self._builder.reorder(messages)
            return answer_text(await self._requests.side_request(messages, parameters, SUMMARY_TOKENS))

        shorter = await compact(
            self._conversation,
            self._budget.history_room(fixed),
            ask if by_model else None,
            fits=lambda size: self._budget.fits(fixed + size),
            redacted=self._recorder.redact,
        )
        if shorter is not None:
            versions = self._conversation.versions[shorter.first :]
            kept_from = versions[0] if versions else self._session.version + 1
            message = to_stored_message(shorter.summary, self._recorder.redact)
            state = self._recorder.record(ConversationCompacted(message, kept_from))
            self._conversation = shorter.conversation
            self._conversation.versions[0] = state.version
        if not self._budget.fits(fixed + self._conversation.size) and not self._budget.is_assumed:
            raise ContextTooLong(
                "The next request alone does not fit into the model's context window: ask for less at once, use "
                "fewer tools, or choose a model with a larger window with --model."
            )

    # 2. inject

    def _inject(self, *, waited: bool = True) -> str:
        """Return the list as it is at this moment, to go along with the history; made anew if the request fails.

        If nothing was waited for since the round began, that is what was looked at then.
        """
        state = (not waited and self._recorder.state) or self._session.state
        self._planning = state.is_planning(self._agent)
        warning = self._repeated.render_warning(self.round)
        answering = self._all_done and self._config.inject == Inject.TAIL
        block, fact = self._injector.render(state, self._agent, self.round, warning, answering=answering)
        self._block_size = len(block.encode(errors="replace"))
        if fact is not None:
            self._recorder.record_deferred(fact)
        return block

    def _read_events(self, after: int, last: int) -> list[Event]:
        return self._session.store.events(self._session.name, after, last - after)

    def _build_request(self, block: str) -> ModelRequestData:
        messages, size = self._conversation.messages, self._conversation.size
        return self._builder.build(messages, size, block, planning=self._planning)

    # 3. model

    async def _ask_model(self, block: str) -> tuple[list[ToolCallPart[Any]], dict[str, str]]:
        """Return the calls of the model's answer to the history and the block, and what is wrong with some of them."""
        for attempt in range(_SHORTENED + 2):  # one more, for the order of the messages
            request = self._build_request(block)
            try:
                answer = await self._requests.request_with_retries(
                    request, self.round, renewed=lambda: self._build_request(self._inject())
                )
                return self._keep_answer(answer, request.size)
            except UserAfterToolRefused as error:
                if not self._builder.keep_strict_order():
                    raise
                self._recorder.record(RunError(str(error), retry_in=0.0))
            except ContextTooLong as error:
                if attempt == _SHORTENED:
                    raise
                self._budget.note_refused(request.size)
                self._recorder.record(RunError(str(error), retry_in=0.0))
                await self._compact(by_model=False)
                block = self._inject()
        raise AssertionError("it was answered, or failed")

    def _keep_answer(self, answer: ModelResponse, size: int) -> tuple[list[ToolCallPart[Any]], dict[str, str]]:
        """Add the answer to the conversation and to the log, with the calls that begin now."""
        self._cut = self._requests.find_cut(answer)
        self._answer = self._text_before_cut + join_answer_text(answer)
        self.text = self._answer.strip() or self.text
        answer, faults = repair_answer(answer, self._used_ids, self._cut)
        if faults and self._cut:
            self._requests.raise_reply_limit()
        calls = [part for part in answer.parts if isinstance(part, ToolCallPart)]
        self._used_ids.update(call.tool_call_id for call in calls)
        more = [
            self._requests.record_usage(answer, size, self.round),
            *self._calls.describe_first_calls(calls, self.round),
        ]
        version = self._recorder.add_message(self._to_record(answer), *more, policy=self._policy)
        self._conversation.add(answer, version)
        return calls, faults

    # 4. tools, 5. track

    async def _run_tools(self, calls: list[ToolCallPart[Any]], faults: dict[str, str]) -> RoundOutcome | None:
        if not calls:
            return None
        outcome = await self._calls.run(calls, faults, self.round)
        self._conversation.add(outcome.results, self._conversation.versions[-1] + 1)
        for call, done in zip(calls, outcome.finished, strict=True):
            self._repeated.add(call.args, done)
        if self._judge is not None:
            self._judge.note_calls(outcome.finished)
            await self._judge.evaluate(self._session.state, self._agent, self.round)
        return outcome

    # 7. end

    async def _find_end(self, outcome: RoundOutcome | None) -> Reason | None:
        """Return why the run is over; None if it goes on."""
        # After calls, the state is known from recording them.
        state = (outcome and self._recorder.state) or self._session.state
        self._check_whether_done(state)
        if outcome is not None:
            todos = state.list_of(self._agent)
            self._injector.end_round(todos, worked=outcome.worked, succeeded=outcome.succeeded)
            self._text_before_cut = ""
            self._repeated.check()
            return None
        if self._cut is not None:
            self._continue_cut_answer(self._cut)
            return None
        self._text_before_cut = ""
        if self._all_done:
            return Reason.ALL_DONE
        line = self._injector.render_nudge(state, self._agent, self._last_words())
        if line is None or self.round == self._config.max_rounds:
            return Reason.FINISHED
        self._add_headway_message(line)
        return None

    def _last_words(self) -> str:
        """Return the text of the answer that the model has just given."""
        answer = self._conversation.messages[-1]
        assert isinstance(answer, ModelResponse)
        return answer_text(answer)

    def _check_whether_done(self, state: State) -> None:
        """Record once that the list was finished in this round."""
        todos, run = state.list_of(self._agent), state.runs[self._agent]
        before, self._done = self._done, _todo_ids(todos) if is_done(todos) else None
        settled, self._settled = self._settled, self._done if is_settled(todos) else None
        if self._settled is None:
            self._all_done = False
        elif self._settled != settled:
            self._done_in = self.round
            self._all_done = self._config.stop_when_done
        if self._done is not None and self._done != before:
            self._recorder.record(TodoListCompleted(now(), self.round, run.tool_calls))

    def _continue_cut_answer(self, cut: CutOff) -> None:
        """Have the model complete an answer that was cut off, once."""
        if self._text_before_cut or self.round == self._config.max_rounds:
            raise self._requests.cut_answer_error(cut)
        self._text_before_cut = self._answer or " "
        self._add_headway_message(cut.line if self._answer.strip() else cut.line_before_text)

    def _to_record(self, message: ModelMessage) -> MessageAdded:
        return MessageAdded(to_stored_message(message, self._recorder.redact))

    def _add_headway_message(self, line: str) -> None:
        message = to_headway_message(line)
        self._conversation.add(message, self._recorder.add_message(self._to_record(message)))


def _todo_ids(todos: TodoList) -> frozenset[str]:
    return frozenset(todos.items)


def _list_call_ids(messages: list[ModelMessage]) -> set[str]:
    return {part.tool_call_id for message in messages for part in message.parts if isinstance(part, ToolCallPart)}
