"""One run of any loop: what its requests show of the list, and what its calls mean for it.

Above the recorder, which puts everything into the log; below whoever runs the loop, Headway's own included.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal
from uuid import uuid4

from headway.contracts.todo_tools import CLAIM_LEASE, ToolAnswer
from headway.core.clock import now
from headway.core.errors import HeadwayError
from headway.core.model import State, Status, TodoList
from headway.core.run_events import (
    RoundStarted,
    RunError,
    RunPaused,
    TodoListCompleted,
    ToolFinished,
    ToolStarted,
    Usage,
)
from headway.core.text import sanitize_for_display
from headway.core.tracking import NO_CALLS, TODO_EFFECT, is_done, is_settled
from headway.planner.call_summary import find_command_kind, format_command, parse_or_keep, summarize_call
from headway.planner.list_injector import ListInjector
from headway.planner.recorder import Recorder
from headway.planner.repeated_calls import RepeatedCalls

if TYPE_CHECKING:
    from types import TracebackType

    from headway.core.events import Event
    from headway.planner.planner import Planner

EFFECTS = ("read", "write", "execute", "network")
"""What a call may do to the world."""
_ROOM = 64_000
"""Bytes that the list may take in a request."""


class RunStopped(HeadwayError):
    """A person stopped the run."""

    code = "run_stopped"


class LimitReached(HeadwayError):
    """The run has used what it may."""

    code = "limit_reached"

    def __init__(self, limit: Literal["max_tokens", "max_cost"], message: str) -> None:
        self.limit = limit
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class _Call:
    """A call that has begun and is not over."""

    tool: str
    arguments: object
    effect: str
    at: float


class PlannerRun(Recorder):
    """One run, from `with planner.run(…)` to the end of that block. Its methods may be called from any thread."""

    def __init__(self, planner: Planner, task: str, model: str, since: int | None = None) -> None:
        super().__init__(planner.run_session, now)
        self._planner = planner
        self._config = planner.config
        self._task, self._model = task, model
        self._since = since
        self._lock = threading.RLock()
        self._agent = planner.run_session.agent_id
        self._list_agent = planner.session.agent_id
        self._track = NO_CALLS
        """The calls of a worker's run since its todo was claimed."""
        self._claimed_at = 0.0
        self._injector: ListInjector | None = None
        self.repeated: RepeatedCalls = RepeatedCalls(self.redact)
        self._calls: dict[str, _Call] = {}
        self._failed = False
        """Whether the last request failed, so that the next one is the same again."""
        self._is_round_open = self._has_ended = False
        self._worked = self._succeeded = False
        """Whether a call of this round was work, and whether one succeeded."""
        self._done: frozenset[str] | None = None
        """The todos of the list that was finished when it was last looked at."""
        self._settled: frozenset[str] | None = None
        """The same, if not only tracking says of any that it is completed."""
        self.is_all_done: bool = False
        """Whether the list was settled in this run, so that it ends as `all_done` unless it is stopped or fails."""
        self.done_in: int = 0
        """The round in which it was."""
        self.round: int = 0
        self.input_tokens: int = 0
        self.output_tokens: int = 0
        self.cache_read_tokens: int = 0
        self.cost: float | None = 0.0
        """US dollars; None once the price of a request is not known."""

    def __repr__(self) -> str:
        return f"<headway.PlannerRun {self.run_id} round={self.round}>"

    def __enter__(self) -> PlannerRun:
        if self._injector is not None:
            raise HeadwayError("This run has begun already; begin another one with planner.run(…).")
        self.begin(self._task, self._model, self._config.max_rounds, require_evidence=self._config.require_evidence)
        try:
            self.start_injecting(_ROOM, self._since)
        except BaseException as error:
            self.end("error", _describe_error(error))
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            if self._has_ended:
                return
            reason, text = "finished", None
            if isinstance(error, RunStopped) or (error is not None and not isinstance(error, Exception)):
                reason = "cancelled"
            elif error is not None:
                reason = error.limit if isinstance(error, LimitReached) else "error"
                text = _describe_error(error)
            else:
                with suppress(HeadwayError):  # another process took over, or the store is busy: it ends all the same
                    self.close_round(self.look())
                stopping = self.state.runs[self._agent].stopping
                reason = "cancelled" if stopping else "all_done" if self.is_all_done else reason
            self._has_ended = True
            self.end(reason, text and self.redact(text))
            self._planner.note_end(self.state.version)

    def start_injecting(self, room: int, since: int | None) -> None:
        """From now on requests show the list, in at most `room` bytes.

        `since` is the version at which the model last knew it; None: only what is changed from now on is told of.
        """
        state = self.session.state
        todos = state.list_of(self._list_agent)
        since = state.version if since is None else since
        list_agent, worker = self._list_agent, self._planner.worker
        self._injector = ListInjector(self._config, todos, room, self._read_events, since, list_agent, worker)
        self._done = _todo_ids(todos) if is_done(todos) else None
        self._settled = self._done if is_settled(todos) else None

    def _read_events(self, after: int, last: int) -> list[Event]:
        return self.session.store.events(self.session.name, after, last - after)

    # requests

    def context(self) -> str:
        """Return what goes at the tail of the next request: the list, a person's edits, a reminder; "" for nothing.

        It begins a round. Raises `RunStopped` if a person stopped the run, `LimitReached` if it has used what it may,
        and another `HeadwayError` if the model makes the same call over and over.
        """
        with self._lock:
            state = self._check(goes_on=True)
            if not self._failed:
                if self._is_round_open:
                    self.close_round(state)
                self.repeated.check()
                self._check_limits()
                self.begin_round()
            self._failed = False
            self._claim_if_idle(self.state)
            return self.render_context(self.state, answering=self.is_all_done)

    @property
    def is_held(self) -> bool:
        """Whether someone wants the run to wait before its next request; the log has it when it does."""
        with self._lock:
            return self.is_held_in(self._check())

    def is_held_in(self, state: State) -> bool:
        held = state.is_paused(self._agent)
        if held and not state.runs[self._agent].waiting:
            self.record(RunPaused(round=self.round))
        return held

    def begin_round(self) -> None:
        self.round += 1
        self._is_round_open, self._worked, self._succeeded = True, False, False
        self.record_deferred(RoundStarted(run_id=self.run_id, round=self.round, max_rounds=self._config.max_rounds))

    def render_context(self, state: State, *, answering: bool) -> str:
        """Return what a request of this round is shown, and record that the list was; made anew if it failed."""
        warning = self.repeated.render_warning(self.round)
        text, fact = self._get_injector().render(
            state, state.runs[self._agent], self.round, warning, answering=answering
        )
        if fact is not None:
            self.record_deferred(fact)
        return text

    def render_nudge(self, answer: str) -> str | None:
        """Return the line for a model that stopped with this answer while items are open; None if it may stop."""
        return self._get_injector().render_nudge(self.state, self.state.runs[self._agent], answer)

    def request_failed(self, error: str = "") -> None:
        """Say that the last request was not answered: what `context` said is said again."""
        with self._lock:
            self._check()
            self._failed = self._is_round_open
            if error:
                self.record(RunError(message=self.redact(sanitize_for_display(error, 500)), retry_in=0.0))

    def usage(
        self,
        input_tokens: int = 0,
        output_tokens: int = 0,
        cache_read_tokens: int = 0,
        cache_write_tokens: int = 0,
        cost: float | None = None,
    ) -> None:
        """Record what one request took, for reports and limits; `cost` in US dollars, None if it is not known."""
        with self._lock:
            self._check()
            self.record(self.count_usage(input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, cost))

    def count_usage(self, sent: int, answered: int, cache_read: int, cache_write: int, cost: float | None) -> Usage:
        """Count a request; return what is recorded of it."""
        self.input_tokens += sent
        self.output_tokens += answered
        self.cache_read_tokens += cache_read
        self.cost = None if cost is None or self.cost is None else self.cost + cost
        return Usage(
            round=self.round,
            input_tokens=sent,
            output_tokens=answered,
            cache_read_tokens=cache_read,
            cache_write_tokens=cache_write,
            total_tokens=self.tokens,
            total_cost=self.cost,
        )

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def compacted(self) -> None:
        """Say that the history was replaced: the next request shows the whole list."""
        with self._lock:
            self._check()
            self.forget_shown()

    def forget_shown(self) -> None:
        self._get_injector().forget()

    def on_stop(self, answer: str = "") -> str | None:
        """Return the line with which to go on when the model stops, with this answer; None if it may stop."""
        with self._lock:
            state = self._check()
            if self._is_round_open:
                self.close_round(state)
            stopping = self.state.runs[self._agent].stopping
            return None if self.is_all_done or stopping else self.render_nudge(answer)

    # calls

    def call(self, name: str, arguments: object, call_id: str | None = None) -> ToolAnswer:
        """Run a todo tool with what the model sent, an object or its JSON, and return the answer to the model."""
        with self._lock:
            call_id, arguments = call_id or uuid4().hex, parse_or_keep(arguments)
            self._begin_call(call_id, name, arguments, TODO_EFFECT)
            claimed = self._find_claimed(self.state)
            answer = self._planner.run_tool(name, arguments)
            self._note_shared_progress(claimed)
            self._finish_call(call_id, ok=answer.ok, text=answer.text)
            return answer

    def tool_started(self, call_id: str, tool: str, arguments: object = None, *, effect: str = "execute") -> None:
        """Record that a call of another tool begins; `effect` is read, write, execute or network."""
        with self._lock:
            if effect not in EFFECTS:
                raise HeadwayError(
                    f"`effect` cannot be '{sanitize_for_display(effect)}'; choose from: {', '.join(EFFECTS)}."
                )
            if self._planner.has_tool(tool):
                raise HeadwayError(
                    f"'{sanitize_for_display(tool)}' is a tool of the planner; run and record it with run.call(…)."
                )
            self._begin_call(call_id, tool, parse_or_keep(arguments), effect)

    def tool_finished(
        self,
        call_id: str,
        *,
        ok: bool = True,
        exit_code: int | None = None,
        files: Iterable[str] = (),
        text: str = "",
        denied: bool = False,
    ) -> None:
        """Record what a call came to: whether it did what it should, the exit code of a command, the files that it
        changed, what the model is told, and whether a person did not allow it."""
        with self._lock:
            self._finish_call(call_id, ok=ok, exit_code=exit_code, files=tuple(files), text=text, denied=denied)

    def _begin_call(self, call_id: str, tool: str, arguments: object, effect: str) -> None:
        self._check(goes_on=True)
        if call_id in self._calls:
            raise HeadwayError(
                f"The call '{sanitize_for_display(call_id)}' has started already; give every call an id of its own."
            )
        if not self._is_round_open:
            self.begin_round()
        self._calls[call_id] = _Call(tool, arguments, effect, time.monotonic())
        self.record_starts([self.describe_start(call_id, tool, arguments, effect)])

    def _finish_call(self, call_id: str, **outcome: Any) -> None:
        self._check()
        call = self._calls.pop(call_id, None)
        if call is None:
            raise HeadwayError(
                f"No call '{sanitize_for_display(call_id)}' is under way; say run.tool_started(…) before it finishes."
            )
        seconds = time.monotonic() - call.at
        finished = self.describe_finish(
            call_id, call.tool, call.arguments, effect=call.effect, seconds=seconds, **outcome
        )
        self.repeated.add(call.arguments, self.finish(finished))

    def describe_start(self, call_id: str, tool: str, arguments: object, effect: str | None) -> ToolStarted:
        line = summarize_call(tool, arguments, self.redact)
        kind = find_command_kind(arguments) if effect == "execute" else None
        return ToolStarted(round=self.round, call_id=call_id, tool=tool, summary=line, effect=effect, command_kind=kind)

    def record_starts(self, starts: Sequence[ToolStarted]) -> None:
        """Record that calls begin, which may begin a todo."""
        self.record(*starts, policy=self._config.policy)

    def describe_finish(
        self, call_id: str, tool: str, arguments: object, *, effect: str | None, seconds: float, **outcome: Any
    ) -> ToolFinished:
        """Return what is recorded of a call that is over; `outcome` has the other fields of it."""
        if effect == "execute":
            outcome["command"] = format_command(tool, arguments, self.redact)
            outcome["command_kind"] = find_command_kind(arguments)
        return ToolFinished(
            round=self.round, call_id=call_id, tool=tool, effect=effect, seconds=round(seconds, 3), **outcome
        )

    def finish(self, call: ToolFinished) -> ToolFinished:
        """Record a call that is over, and what it means for the list; return it with the todo that it counts for."""
        # What the model is told keeps keys and tokens, since it may have to write them back; the log does not.
        text = self.redact(call.text)
        is_safe = text == call.text
        recorded = self.finish_tool(call if is_safe else replace(call, text=text), self._config.policy)
        call = recorded if is_safe else replace(recorded, text=call.text)
        if self._planner.worker is not None:
            self._track = self._track.add_evidence(call)
        self._worked = self._worked or call.effect != TODO_EFFECT
        self._succeeded = self._succeeded or call.succeeded
        return call

    # a list that workers share

    def _find_claimed(self, state: State) -> str | None:
        """Return the todo that is claimed for this run."""
        worker = self._planner.worker
        items = state.list_of(self._list_agent).items.values() if worker is not None else ()
        return next((todo.id for todo in items if todo.owner == worker and todo.status is Status.IN_PROGRESS), None)

    def _claim_if_idle(self, state: State) -> None:
        if (worker := self._planner.worker) is None or state.plan_mode or self._find_claimed(state) is not None:
            return
        if self._planner.session.claim(worker, CLAIM_LEASE) is not None:
            self._track, self._claimed_at = NO_CALLS, time.monotonic()
            self.look()

    def _note_shared_progress(self, before: str | None) -> None:
        """Keep what shows that the todo before is completed, and that another one is claimed now."""
        state = self.look()
        if before is None or (now_claimed := self._find_claimed(state)) == before:
            return
        todo = state.list_of(self._list_agent).items.get(before)
        if todo is not None and todo.status is Status.COMPLETED:
            self._planner.session.record_check(before, self._track.evidence, actor=str(self._planner.worker))
        self._track = NO_CALLS
        if now_claimed is not None:
            self._claimed_at = time.monotonic()

    def renew_claims(self) -> None:
        if self._planner.worker is None or time.monotonic() - self._claimed_at < CLAIM_LEASE / 3:
            return
        if (todo_id := self._find_claimed(self.session.state)) is not None:
            self._planner.session.renew(todo_id, self._planner.worker, CLAIM_LEASE)
            self._claimed_at = time.monotonic()

    # rounds

    def close_round(self, state: State) -> None:
        """Note what the calls of a round came to, and record once that the list was finished in it."""
        self._is_round_open = False
        todos, run = state.list_of(self._list_agent), state.runs[self._agent]
        self._get_injector().end_round(todos, worked=self._worked, succeeded=self._succeeded)
        before, self._done = self._done, _todo_ids(todos) if is_done(todos) else None
        settled, self._settled = self._settled, self._done if is_settled(todos) else None
        if self._settled is None:
            self.is_all_done = False
        elif self._settled != settled:
            self.done_in = self.round
            self.is_all_done = self._config.stop_when_done
        if self._done is not None and self._done != before and self._planner.worker is None:
            self.record(TodoListCompleted(completed_at=now(), total_rounds=self.round, total_tool_calls=run.tool_calls))

    def _check(self, *, goes_on: bool = False) -> State:
        """Return the state as it now is. Raises for a run that is not under way; if it `goes_on`, for one that a person
        stopped."""
        if self._injector is None:
            raise HeadwayError("This run has not begun; use it inside `with planner.run(…) as run:`.")
        if self._has_ended:
            raise HeadwayError("This run has ended; begin another one with planner.run(…).")
        state = self.look()
        if goes_on and state.runs[self._agent].stopping:
            raise RunStopped("A person stopped this run.")
        return state

    def _get_injector(self) -> ListInjector:
        assert self._injector is not None
        return self._injector

    def _check_limits(self) -> None:
        most, limit = self._config.max_tokens, self._config.max_cost
        if most is not None and self.tokens >= most:
            raise LimitReached(
                "max_tokens", f"The run has used {self.tokens:,} of its {most:,} tokens; raise the limit."
            )
        if limit is not None and self.cost is not None and self.cost >= limit:
            raise LimitReached(
                "max_cost", f"The run has cost ${self.cost:.4f} of its limit of ${limit:g}; raise the limit."
            )


def _todo_ids(todos: TodoList) -> frozenset[str]:
    return frozenset(todos.items)


def _describe_error(error: BaseException) -> str:
    text = sanitize_for_display(str(error), 500)
    return text if isinstance(error, HeadwayError) else f"{type(error).__name__}: {text}".rstrip(": ")
