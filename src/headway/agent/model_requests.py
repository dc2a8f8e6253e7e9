"""Requests to the model: within the run's limits, heard while the answer comes, made again where that makes sense."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
)
from pydantic_ai.settings import ModelSettings

from headway.agent.answer_endings import CutOff, Ending, find_ending
from headway.agent.budget import Budget
from headway.agent.cache_points import CACHED_AHEAD
from headway.agent.conversation import answer_text, estimate_size
from headway.agent.failures import (
    broken_stream_error,
    cut_answer_error,
    empty_answer_error,
    explain,
    failed_answer_error,
    refused_answer_error,
)
from headway.agent.model_settings import caller_reply_limit, max_reply_tokens, run_settings
from headway.agent.models import price
from headway.agent.request_builder import ModelRequestData, estimate_parameters_size
from headway.agent.streaming_client import StreamingClient
from headway.core.errors import HeadwayError, ModelBusy, ModelError
from headway.core.run_events import RunError, Usage
from headway.planner.run import LimitReached

if TYPE_CHECKING:
    from pydantic_ai.models import Model, ModelRequestParameters

    from headway.agent.config import LoopConfig
    from headway.planner.run import PlannerRun

_FIRST_WAIT = 1.0
_LEAST_REPLY = 16
"""A request that leaves no room for an answer is not worth its price."""
_LONGEST_WAIT = 120.0
"""Seconds; a provider that asks for more is not waited for."""


class ModelRequests:
    def __init__(
        self,
        model: Model,
        client: StreamingClient,
        run: PlannerRun,
        budget: Budget,
        config: LoopConfig,
        *,
        retries_off: bool,
    ) -> None:
        """`retries_off`: the provider's library does not ask again by itself."""
        self._model = model
        self._retries_off = retries_off
        self._client = client
        self._run = run
        self._config = config
        self.budget = budget
        self._retries = config.retries
        self._retry_wait = config.retry_wait
        self._settings = run_settings(model, config, run.session)
        """What goes along with every request of the run."""
        self._reply_limit = config.reply_tokens
        """Tokens that an answer may have; None: as many as the model itself allows."""
        self._sent_limit: int | None = None
        """The limit that the last request had."""
        self._heard_any = False
        self._has_answered = False
        """Whether any request of the run was answered, so that its settings are right."""

    async def request_with_retries(
        self, request: ModelRequestData, renewed: Callable[[], ModelRequestData]
    ) -> ModelResponse:
        """Return the model's answer, which may be cut off. Raises `ModelError` or `LimitReached`.

        A request that is made again is `renewed` first: the list may have changed while it was waited.
        """
        failed, empty = 0, False
        while True:
            room = self._reply_room(self.budget.estimate_tokens(request.size))
            try:
                answer = await self._request_once(request, room)
                ending = self._check_ending(answer, request.size)
            except ModelBusy as error:
                wait = self._retry_delay(error, failed)
                if failed == self._retries or (self._retry_wait is None and wait > _LONGEST_WAIT):
                    raise
                failed += 1
                self._run.record(RunError(message=str(error), retry_in=wait))
                await asyncio.sleep(wait)
                request = renewed()
                continue
            self._has_answered = True
            self.budget.calibrate(request.size, answer.usage.input_tokens)
            if ending is not Ending.EMPTY:
                return answer
            self._run.record(self.record_usage(answer, request.size))
            if empty:
                raise empty_answer_error(self._model)
            empty = True  # some models send nothing now and then; asked again, they answer
            request = renewed()

    def _check_ending(self, answer: ModelResponse, size: int) -> Ending:
        """Return how the answer ended. Raises `ModelBusy` if it may end well the next time, `ModelError` if not."""
        match ending := self.find_ending(answer):
            case Ending.BROKEN_OFF:
                raise broken_stream_error(self._model)
            case Ending.FAILED:
                self._run.record(self.record_usage(answer, size))
                raise failed_answer_error(answer, self._model)
            case Ending.REFUSED:
                self._run.record(self.record_usage(answer, size))
                raise refused_answer_error(answer, self._model)
            case _:
                return ending

    def find_ending(self, answer: ModelResponse) -> Ending:
        return find_ending(answer, is_remote=self._model.base_url is not None)

    async def _request_once(self, request: ModelRequestData, room: int | None) -> ModelResponse:
        self._heard_any = False
        self._sent_limit = self._reply_limit_for(room)
        settings: dict[str, Any] = {**self._settings, **request.settings}
        if self._sent_limit is not None:
            settings["max_tokens"] = self._sent_limit
        try:
            answer = await self._client.ask(
                request.messages, self._turn_off_retries(settings), request.parameters, self._publish_stream_event
            )
        except Exception as error:
            raise explain(error, self._model, has_answered=self._has_answered) from error
        if not self._heard_any and (text := answer_text(answer)):
            self._run.publish_live(text, "text")
        return answer

    def _reply_limit_for(self, room: int | None) -> int | None:
        """Return how many tokens the answer may have; None where the model's own limit holds."""
        limit = None if self._reply_limit is None else min(self._reply_limit, self.budget.reply)
        own = caller_reply_limit(self._model)
        if limit is not None and own is not None:
            limit = min(limit, own)
        if room is None:
            return limit
        return min(room, limit or own or max_reply_tokens(self._model) or self.budget.reply)

    def find_cut(self, answer: ModelResponse) -> CutOff | None:
        """Return where this answer, the last one, was cut off, if it was."""
        if self.find_ending(answer) is not Ending.CUT_OFF:
            return None
        return CutOff(self._sent_limit or caller_reply_limit(self._model) or answer.usage.output_tokens or None)

    def cut_answer_error(self, cut: CutOff) -> ModelError:
        return cut_answer_error(self._model, cut.limit)

    def raise_reply_limit(self) -> None:
        """Let answers be as long as the model's own maximum, where that is known; a caller's settings still hold."""
        most = max_reply_tokens(self._model)
        if most is not None and self._reply_limit is not None:
            self._reply_limit = max(most, self._reply_limit)
            self.budget.keep_room_for(self._reply_limit)

    async def side_request(
        self, messages: list[ModelMessage], parameters: ModelRequestParameters, most_tokens: int
    ) -> ModelResponse:
        """Ask a short question beside the conversation, once and without streaming."""
        size = estimate_parameters_size(parameters) + sum(map(estimate_size, messages))
        room = self._reply_room(self.budget.estimate_tokens(size))
        most_tokens = min(most_tokens, self.budget.reply)
        settings: dict[str, Any] = {"max_tokens": most_tokens if room is None else min(room, most_tokens)}
        if self._model.system == "anthropic" and len(messages) > 1:  # a summary, of what is cached
            settings |= CACHED_AHEAD | {"anthropic_cache_messages": True}
        try:
            answer = await self._client.ask(messages, self._turn_off_retries(settings), parameters, streamed=False)
            if self.find_ending(answer) is Ending.BROKEN_OFF:
                raise broken_stream_error(self._model)
        except Exception as error:
            raise explain(error, self._model, has_answered=self._has_answered) from error
        self._run.record(self.record_usage(answer, size))
        return answer

    def record_usage(self, answer: ModelResponse, size: int) -> Usage:
        """Count a request; where the provider did not say what it took, as it was estimated."""
        usage = answer.usage
        if not usage.input_tokens and not usage.output_tokens:
            usage = replace(
                usage,
                input_tokens=self.budget.estimate_tokens(size),
                output_tokens=self.budget.estimate_tokens(estimate_size(answer)),
            )
        return self._run.count_usage(
            usage.input_tokens,
            usage.output_tokens,
            usage.cache_read_tokens,
            usage.cache_write_tokens,
            price(self._model, usage),
        )

    def _reply_room(self, asked: int) -> int | None:
        """Return how many tokens the answer to a request of so many may have; None if there is no limit.

        Raises `LimitReached` if the request may not be made.
        """
        return _smaller(self._tokens_left(asked), self._affordable_tokens(asked))

    def _tokens_left(self, asked: int) -> int | None:
        most = self._config.max_tokens
        if most is None:
            return None
        left = most - self._run.tokens - asked
        if left < _LEAST_REPLY:
            raise LimitReached(
                "max_tokens",
                f"The run has used {self._run.tokens:,} of its {most:,} tokens, and the next request would need about "
                f"{asked:,} more; continue it with a higher max_tokens.",
            )
        return left

    def _affordable_tokens(self, asked: int) -> int | None:
        most = self._config.max_cost
        if most is None:
            return None
        first, more = self._estimate_price(asked, 0), self._estimate_price(asked, 1_000)
        if first is None or more is None or self._run.cost is None:
            raise HeadwayError(
                f"The price of '{self._model.model_name}' is not known, so a limit of ${most:g} cannot be "
                "enforced; set max_tokens instead of max_cost."
            )
        left = most - self._run.cost - first
        each = (more - first) / 1_000
        room = None if each <= 0 else int(left / each)
        if left <= 0 or (room is not None and room < _LEAST_REPLY):
            raise LimitReached(
                "max_cost",
                f"The run has cost ${self._run.cost:.4f} of its limit of ${most:g}, and the next request would cost "
                f"about ${first:.4f} more; continue it with a higher max_cost.",
            )
        return room

    def _estimate_price(self, asked: int, answered: int) -> float | None:
        from pydantic_ai.usage import RequestUsage

        return price(self._model, RequestUsage(input_tokens=asked, output_tokens=answered))

    def _turn_off_retries(self, settings: dict[str, Any]) -> ModelSettings:
        """The settings of a request that is the loop's to make again, and to tell of it."""
        if self._model.base_url is not None and not self._retries_off:
            settings["max_retries"] = 0
        return cast("ModelSettings", settings)

    def _retry_delay(self, error: ModelBusy, failed: int) -> float:
        if self._retry_wait is not None:
            return self._retry_wait
        if error.retry_after is not None:
            return error.retry_after
        return _FIRST_WAIT * 2**failed * random.uniform(0.5, 1)

    def _publish_stream_event(self, event: ModelResponseStreamEvent) -> None:
        if not self._run.has_listeners:
            return
        piece = event.part if isinstance(event, PartStartEvent) else None
        piece = event.delta if isinstance(event, PartDeltaEvent) else piece
        if isinstance(piece, TextPart):
            self._publish_text(piece.content, "text")
        elif isinstance(piece, TextPartDelta):
            self._publish_text(piece.content_delta, "text")
        elif isinstance(piece, ThinkingPart):
            self._publish_text(piece.content, "reasoning")
        elif isinstance(piece, ThinkingPartDelta):
            self._publish_text(piece.content_delta or "", "reasoning")

    def _publish_text(self, text: str, kind: str) -> None:
        if text:
            self._heard_any = self._heard_any or kind == "text"
            self._run.publish_live(text, kind)


def _smaller(one: int | None, other: int | None) -> int | None:
    found = [value for value in (one, other) if value is not None]
    return min(found, default=None)
