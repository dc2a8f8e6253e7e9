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
    ToolCallPart,
)
from pydantic_ai.settings import ModelSettings

from headway.agent.asking import Asker
from headway.agent.budget import Budget
from headway.agent.conversation import size_of, text_of
from headway.agent.failures import explain
from headway.agent.frame import Request, size_of_parameters
from headway.agent.spending import Spending
from headway.core.errors import ModelBusy
from headway.core.run_events import RunError, Usage

if TYPE_CHECKING:
    from pydantic_ai.models import Model, ModelRequestParameters

    from headway.agent.config import LoopConfig
    from headway.agent.recorder import Recorder

_FIRST_WAIT = 1.0
_LONGEST_WAIT = 120.0
"""Seconds; a provider that asks for more is not waited for."""


class Requests:
    def __init__(
        self,
        model: Model,
        asker: Asker,
        recorder: Recorder,
        spending: Spending,
        budget: Budget,
        config: LoopConfig,
        *,
        retries_off: bool,
    ) -> None:
        """`retries_off`: the provider's library does not ask again by itself."""
        self._model = model
        self._retries_off = retries_off
        self._asker = asker
        self._recorder = recorder
        self._spending = spending
        self._budget = budget
        self._retries = config.retries
        self._heard_any = False

    async def answered(self, request: Request, round: int, renewed: Callable[[], Request]) -> ModelResponse:
        """The model's answer. Raises `ModelError` or `LimitReached`.

        A request that is made again is `renewed` first: the list may have changed while it was waited.
        """
        failed, empty = 0, False
        while True:
            room = self._spending.room(self._budget.tokens(request.size))
            try:
                answer = await self._asked(request, room)
            except ModelBusy as error:
                wait = self._wait(error, failed)
                if failed == self._retries or wait > _LONGEST_WAIT:
                    raise
                failed += 1
                self._recorder.record(RunError(str(error), retry_in=wait))
                await asyncio.sleep(wait)
                request = renewed()
                continue
            self._budget.measured(request.size, answer.usage.input_tokens)
            if empty or _says_something(answer):
                return answer
            empty = True  # some models send nothing now and then; asked again, they answer
            self._recorder.record(self.paid(answer, request.size, round))
            request = renewed()

    async def _asked(self, request: Request, room: int | None) -> ModelResponse:
        self._heard_any = False
        settings = self._settings(room, marked=request.marked)
        try:
            answer = await self._asker.ask(request.messages, settings, request.parameters, self._heard)
        except Exception as error:
            raise explain(error, self._model) from error
        if not self._heard_any and (text := text_of(answer)):
            self._recorder.live(text, "text")
        return answer

    async def apart(
        self, messages: list[ModelMessage], parameters: ModelRequestParameters, most_tokens: int
    ) -> ModelResponse:
        """A short question beside the conversation, asked once and not heard."""
        size = size_of_parameters(parameters) + sum(map(size_of, messages))
        room = self._spending.room(self._budget.tokens(size))
        settings = self._settings(most_tokens if room is None else min(room, most_tokens), marked=len(messages) == 1)
        try:
            answer = await self._asker.ask(messages, settings, parameters, streamed=False)
        except Exception as error:
            raise explain(error, self._model) from error
        self._recorder.record(self.paid(answer, size, self._recorder.now.round))
        return answer

    def paid(self, answer: ModelResponse, size: int, round: int) -> Usage:
        """Counts a request; where the provider did not say what it took, as it was estimated."""
        usage = answer.usage
        if not usage.input_tokens and not usage.output_tokens:
            usage = replace(
                usage, input_tokens=self._budget.tokens(size), output_tokens=self._budget.tokens(size_of(answer))
            )
        return self._spending.add(usage, round)

    def _settings(self, room: int | None, *, marked: bool) -> ModelSettings:
        settings: dict[str, Any] = {}
        if self._model.base_url is not None and not self._retries_off:
            settings["max_retries"] = 0  # it is for the loop to ask again, and to tell of it
        if room is not None:
            settings["max_tokens"] = min(room, self._budget.reply)
        elif self._model.system == "anthropic":
            settings["max_tokens"] = self._budget.reply  # it wants a number, and its library's own is small
        if self._model.system == "anthropic" and not marked:
            settings["anthropic_cache_messages"] = True  # it caches only what it is told to
        return cast("ModelSettings", settings)

    @staticmethod
    def _wait(error: ModelBusy, failed: int) -> float:
        if error.retry_after is not None:
            return error.retry_after
        return _FIRST_WAIT * 2**failed * random.uniform(0.5, 1)

    def _heard(self, event: ModelResponseStreamEvent) -> None:
        if not self._recorder.is_heard:
            return
        piece = event.part if isinstance(event, PartStartEvent) else None
        piece = event.delta if isinstance(event, PartDeltaEvent) else piece
        if isinstance(piece, TextPart):
            self._live(piece.content, "text")
        elif isinstance(piece, TextPartDelta):
            self._live(piece.content_delta, "text")
        elif isinstance(piece, ThinkingPart):
            self._live(piece.content, "reasoning")
        elif isinstance(piece, ThinkingPartDelta):
            self._live(piece.content_delta or "", "reasoning")

    def _live(self, text: str, kind: str) -> None:
        if text:
            self._heard_any = self._heard_any or kind == "text"
            self._recorder.live(text, kind)


def _says_something(answer: ModelResponse) -> bool:
    return any(isinstance(part, ToolCallPart) for part in answer.parts) or bool(text_of(answer))
