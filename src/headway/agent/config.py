"""How a run is to go, and what it came to."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Literal, TypeAlias

from headway.core.errors import HeadwayError
from headway.core.text import sanitize_for_display
from headway.core.tracking import Policy
from headway.settings.model import Inject, Settings, Thinking, Tracking
from headway.tools.todo_kinds import TodoTools, TodoToolsName


class Reason(StrEnum):
    """Why a run ended."""

    FINISHED = "finished"
    """The model had nothing more to do."""
    ALL_DONE = "all_done"
    """Every item is completed or cancelled, by the model or a person, and the model has answered."""
    MAX_ROUNDS = "max_rounds"
    CANCELLED = "cancelled"
    ERROR = "error"


InjectName: TypeAlias = Literal["tail", "tool", "system"]
ThinkingName: TypeAlias = Literal["off", "on", "minimal", "low", "medium", "high", "xhigh", "max"]
TrackingName: TypeAlias = Literal["manual", "auto", "judge"]
_AT_LEAST = {
    "max_rounds": 1,
    "complete_after": 1,
    "block_after": 1,
    "remind_after": 1,
    "max_nudges": 0,
    "retries": 0,
    "verify_tries": 0,
    "max_tokens": 1,
    "context_window": 1_000,
    "reply_tokens": 16,
}


@dataclass(frozen=True, slots=True)
class LoopConfig:
    max_rounds: int = 50
    max_tokens: int | None = None
    """Tokens that the run may use, in and out."""
    max_cost: float | None = None
    """US dollars that it may cost."""
    inject: Inject | InjectName = Inject.TAIL
    recap: bool = False
    """Show the list as one line of at most 200 characters."""
    tracking: Tracking | TrackingName | None = None
    """Who says that an item is done, on a list that the loop keeps; None: the model (`manual`) where it has a todo
    tool, else tracking (`auto`)."""
    complete_after: int = 3
    """Successful calls of a matching kind that complete the active item."""
    block_after: int = 2
    """Failed calls in a row that block it."""
    todo_tools: TodoTools | TodoToolsName = TodoTools.LIGHT
    """With which tools the model writes the list."""
    remind_after: int = 8
    """Rounds of work without a change of the list after which the model is reminded of it; once more after twice as
    many."""
    max_nudges: int = 2
    """How often a model that stops while items are open is told to go on."""
    stop_when_done: bool = True
    """When every item is done, the model gets one last round to answer."""
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
    require_evidence: bool | str = False
    """A model that calls an item completed, though no command has shown it since the last edit, is told so: once per
    item, so that it can always go on. `"verified"`: though its check has not verified it."""

    verify_tries: int = 2
    """How often the model is sent the output of a check that failed when it completes an item, before the completion
    is taken as only reported."""

    def __post_init__(self) -> None:
        kinds = (("inject", Inject), ("tracking", Tracking), ("todo_tools", TodoTools), ("thinking", Thinking))
        for name, kind in kinds:
            value: object = getattr(self, name)
            if value not in set(kind) and not (value is None and name in _OPTIONAL):
                raise HeadwayError(
                    f"`{name}` cannot be '{sanitize_for_display(value)}'; choose from: {', '.join(kind)}."
                )
        for name, least in _AT_LEAST.items():
            value = getattr(self, name)
            if value is None and name in _OPTIONAL:
                continue
            if type(value) is not int or value < least:
                raise HeadwayError(
                    f"`{name}` must be a whole number of at least {least}, not {sanitize_for_display(value)}."
                )
        if self.require_evidence not in (True, False, "command_ok", "verified"):
            level = sanitize_for_display(self.require_evidence)
            raise HeadwayError(f"`require_evidence` must be True, command_ok or verified, not {level}.")
        if self.max_cost is not None and not 0 < self.max_cost < float("inf"):
            raise HeadwayError(f"`max_cost` must be more than 0 US dollars, not {sanitize_for_display(self.max_cost)}.")

        if self.temperature is not None and not 0 <= self.temperature <= 2:
            raise HeadwayError(
                f"`temperature` must be a number from 0 to 2, not {sanitize_for_display(self.temperature)}."
            )

    @property
    def tracking_in_force(self) -> Tracking:
        """Who says that an item is done, where nothing is set too."""
        return Tracking(self.tracking or (Tracking.AUTO if self.todo_tools == TodoTools.OFF else Tracking.MANUAL))

    @property
    def policy(self) -> Policy:
        return Policy(str(self.tracking_in_force), self.complete_after, self.block_after)


def to_loop_config(settings: Settings, *, require_evidence: bool | str = False) -> LoopConfig:
    """A run as a person has set it."""
    return LoopConfig(
        max_rounds=settings.max_rounds,
        max_tokens=settings.max_tokens,
        max_cost=settings.max_cost,
        tracking=settings.tracking,
        todo_tools=settings.todo_tools,
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


_OPTIONAL = frozenset(field.name for field in fields(LoopConfig) if field.default is None)


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
