"""What a run uses, and what it may: tokens and money. A request that would go over a limit is not made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.agent.config import LoopConfig
from headway.agent.models import price
from headway.core.errors import HeadwayError
from headway.core.run_events import Usage
from headway.planner.run import LimitReached

if TYPE_CHECKING:
    from pydantic_ai.models import Model
    from pydantic_ai.usage import RequestUsage

_LEAST_REPLY = 16
"""A request that leaves no room for an answer is not worth its price."""


class Spending:
    def __init__(self, model: Model, config: LoopConfig) -> None:
        self._model = model
        self._config = config
        self.input_tokens = self.output_tokens = self.cache_read_tokens = 0
        self.cost: float | None = 0.0

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def reply_room(self, asked: int) -> int | None:
        """Return how many tokens the answer to a request of so many may have; None if there is no limit.

        Raises `LimitReached` if the request may not be made.
        """
        return _smaller(self._tokens_left(asked), self._affordable_tokens(asked))

    def _tokens_left(self, asked: int) -> int | None:
        most = self._config.max_tokens
        if most is None:
            return None
        left = most - self.tokens - asked
        if left < _LEAST_REPLY:
            raise LimitReached(
                "max_tokens",
                f"The run has used {self.tokens:,} of its {most:,} tokens, and the next request would need about "
                f"{asked:,} more; continue it with a higher max_tokens.",
            )
        return left

    def _affordable_tokens(self, asked: int) -> int | None:
        most = self._config.max_cost
        if most is None:
            return None
        first, more = self._estimate_price(asked, 0), self._estimate_price(asked, 1_000)
        if first is None or more is None or self.cost is None:
            raise HeadwayError(
                f"The price of '{self._model.model_name}' is not known, so a limit of ${most:g} cannot be "
                "enforced; set max_tokens instead of max_cost."
            )
        left = most - self.cost - first
        each = (more - first) / 1_000
        room = None if each <= 0 else int(left / each)
        if left <= 0 or (room is not None and room < _LEAST_REPLY):
            raise LimitReached(
                "max_cost",
                f"The run has cost ${self.cost:.4f} of its limit of ${most:g}, and the next request would cost "
                f"about ${first:.4f} more; continue it with a higher max_cost.",
            )
        return room

    def _estimate_price(self, asked: int, answered: int) -> float | None:
        from pydantic_ai.usage import RequestUsage

        return price(self._model, RequestUsage(input_tokens=asked, output_tokens=answered))

    def add(self, usage: RequestUsage, round: int) -> Usage:
        """Count a request; return what is recorded of it."""
        self.input_tokens += usage.input_tokens
        self.output_tokens += usage.output_tokens
        self.cache_read_tokens += usage.cache_read_tokens
        paid = price(self._model, usage)
        self.cost = None if paid is None or self.cost is None else self.cost + paid
        return Usage(
            round=round,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cache_read_tokens=usage.cache_read_tokens,
            cache_write_tokens=usage.cache_write_tokens,
            total_tokens=self.tokens,
            total_cost=self.cost,
        )


def _smaller(one: int | None, other: int | None) -> int | None:
    found = [value for value in (one, other) if value is not None]
    return min(found, default=None)
