"""How a run is to go, and what it came to."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Literal, TypeAlias

from headway.core.errors import HeadwayError
from headway.core.text import sanitize_for_display
from headway.planner.config import PlannerConfig
from headway.settings.model import Inject, Settings, Thinking


class Reason(StrEnum):
    """Why a run ended."""

    FINISHED = "finished"
    """The model had nothing more to do."""
    ALL_DONE = "all_done"
    """Every item is completed or cancelled, by the model or a person, and the model has answered."""
    MAX_ROUNDS = "max_rounds"
    MAX_TOKENS = "max_tokens"
    MAX_COST = "max_cost"
    CANCELLED = "cancelled"
    ERROR = "error"


InjectName: TypeAlias = Literal["tail", "tool", "system"]
ThinkingName: TypeAlias = Literal["off", "on", "minimal", "low", "medium", "high", "xhigh", "max"]


@dataclass(frozen=True)
class LoopConfig(PlannerConfig):
    inject: Inject | InjectName = Inject.TAIL
    instructions: str | None = None
    """What the model is told at the beginning; None: Headway's own prompt with the project's notes. Plan mode adds its
    own part."""
    context_window: int | None = None
    """Tokens that fit into a request and its answer; None: what is known of the model, else what its server says."""
    reply_tokens: int | None = None
    """Tokens that an answer may have, and for which room is kept; None: as many as the model allows. When a call is cut
    off, raised to the model's own maximum, where that is known."""
    temperature: float | None = None
    """How freely the model chooses its words; None: as it does by itself."""
    thinking: Thinking | ThinkingName | None = None
    """How much the model thinks, its reasoning effort; None: as it does by itself."""
    retries: int = 4
    """How often a request that may work later is made again."""
    retry_wait: float | None = None
    """Seconds before each time; None: as long as the provider asks for, else longer each time."""
    verify_tries: int = 2
    """How often the model is sent the output of a check that failed when it completes an item, before the completion
    is taken as only reported."""

    CHOICES: ClassVar = {"inject": Inject, **PlannerConfig.CHOICES, "thinking": Thinking}
    LEAST: ClassVar = {
        **PlannerConfig.LEAST,
        "retries": 0,
        "verify_tries": 0,
        "context_window": 1_000,
        "reply_tokens": 16,
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.retry_wait is not None and not 0 <= self.retry_wait <= 3_600:
            raise HeadwayError(
                f"`retry_wait` must be a number from 0 to 3600, not {sanitize_for_display(self.retry_wait)}."
            )
        if self.temperature is not None and not 0 <= self.temperature <= 2:
            raise HeadwayError(
                f"`temperature` must be a number from 0 to 2, not {sanitize_for_display(self.temperature)}."
            )


def to_loop_config(settings: Settings, *, require_evidence: bool | str = False) -> LoopConfig:
    """A run as a person has set it."""
    return LoopConfig(
        max_rounds=settings.max_rounds,
        max_tokens=settings.max_tokens,
        max_cost=settings.max_cost,
        tracking=settings.tracking,
        todo_tools=settings.todo_tools,
        dialect=settings.dialect,
        require_evidence=require_evidence,
        verify_tries=settings.verify_tries,
        context_window=settings.context_window,
        reply_tokens=settings.reply_tokens,
        temperature=settings.temperature,
        thinking=settings.thinking,
        inject=settings.inject,
        remind_after=settings.remind_after,
        max_nudges=settings.max_nudges,
        retries=settings.retries,
    )


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run came to."""

    run_id: str
    reason: Reason
    rounds: int
    text: str = ""
    """The model's last answer."""
    error: str | None = None
    """What went wrong, in a sentence that says what to do."""
    failure: HeadwayError | None = None
    """The error that says so, with its code, if one ended the run."""
    tool_calls: int = 0
    files: tuple[str, ...] = ()
    """Files that its tools changed, relative to the project."""
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    """Of the input, what the provider had cached."""
    cost: float | None = None
    """US dollars; None where the price is not known."""

    @property
    def ok(self) -> bool:
        return self.reason in (Reason.FINISHED, Reason.ALL_DONE)
