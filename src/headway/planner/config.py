"""How an agent is helped with its list: which tools it has for it, who keeps it, what it is shown and told."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from headway.core.errors import HeadwayError
from headway.core.text import sanitize_for_display
from headway.core.tracking import Policy

if TYPE_CHECKING:
    from headway.contracts.dialects import Dialect
    from headway.contracts.todo_tools import TodoTool


class TodoTools(StrEnum):
    """How much of the list a model is given to keep itself; each tool costs tokens in every request."""

    FULL = "full"
    """TodoWrite, create_todo_list and update_todo_item."""
    LIGHT = "light"
    """create_todo_list and todo: a call for each step, not for each list."""
    PLAN = "plan"
    """write_todos: the whole list with dependencies, risks and times."""
    OFF = "off"
    """None: the list is kept for the model, by tracking alone."""


class Tracking(StrEnum):
    """Who decides that an item is done."""

    MANUAL = "manual"
    """The model, through its todo tools."""
    AUTO = "auto"
    """Headway too, from the outcome of tool calls."""
    JUDGE = "judge"
    """As auto, but a model decides whether an item is done."""


class Block(StrEnum):
    """How much of the list a request shows."""

    AUTO = "auto"
    """The whole list where it is new to the model, and a short one always; else what matters now."""
    FULL = "full"
    """The whole list in every request."""
    RECAP = "recap"
    """One line of at most 200 characters."""


TodoToolsName: TypeAlias = Literal["full", "light", "plan", "off"]
TrackingName: TypeAlias = Literal["manual", "auto", "judge"]
BlockName: TypeAlias = Literal["auto", "full", "recap"]


@dataclass(frozen=True)
class PlannerConfig:
    max_rounds: int = 50
    """Requests that a run may make, as the model is told."""
    max_tokens: int | None = None
    """Tokens that the run may use, in and out."""
    max_cost: float | None = None
    """US dollars that it may cost."""
    block: Block | BlockName = Block.AUTO
    """How much of the list a request shows."""
    tracking: Tracking | TrackingName | None = None
    """Who says that an item is done, on a list that the loop keeps; None: the model (`manual`) where it has a todo
    tool, else tracking (`auto`)."""
    complete_after: int = 3
    """Successful calls of a matching kind that complete the active item."""
    block_after: int = 2
    """Failed calls in a row that block it."""
    todo_tools: TodoTools | TodoToolsName = TodoTools.LIGHT
    """With which tools the model writes the list."""
    dialect: str | None = None
    """The todo tool of another agent that takes their place, such as `claude`: see `headway.contracts.dialects`."""
    remind_after: int = 8
    """Rounds of work without a change of the list after which the model is reminded of it; once more after twice as
    many."""
    max_nudges: int = 2
    """How often a model that stops while items are open is told to go on."""
    stop_when_done: bool = True
    """When every item is done, the model gets one last round to answer."""
    require_evidence: bool | str = False
    """A model that calls an item completed, though no command has shown it since the last edit, is told so: once per
    item, so that it can always go on. `"verified"`: though its check has not verified it."""

    CHOICES: ClassVar[dict[str, type[StrEnum]]] = {"block": Block, "tracking": Tracking, "todo_tools": TodoTools}
    LEAST: ClassVar[dict[str, int]] = {
        "max_rounds": 1,
        "complete_after": 1,
        "block_after": 1,
        "remind_after": 1,
        "max_nudges": 0,
        "max_tokens": 1,
    }

    def __post_init__(self) -> None:
        optional = {field.name for field in fields(self) if field.default is None}
        for name, kind in self.CHOICES.items():
            value: object = getattr(self, name)
            if value not in set(kind) and not (value is None and name in optional):
                raise HeadwayError(
                    f"`{name}` cannot be '{sanitize_for_display(value)}'; choose from: {', '.join(kind)}."
                )
        for name, least in self.LEAST.items():
            value = getattr(self, name)
            if value is None and name in optional:
                continue
            if type(value) is not int or value < least:
                raise HeadwayError(
                    f"`{name}` must be a whole number of at least {least}, not {sanitize_for_display(value)}."
                )
        if self.dialect is not None:
            if self.todo_tools != TodoTools.LIGHT:
                raise HeadwayError("A dialect takes the place of the todo tools; leave `todo_tools` out.")
            self._find_dialect(self.dialect)
        if self.require_evidence not in (True, False, "command_ok", "verified"):
            level = sanitize_for_display(self.require_evidence)
            raise HeadwayError(f"`require_evidence` must be True, command_ok or verified, not {level}.")
        if self.max_cost is not None and not 0 < self.max_cost < float("inf"):
            raise HeadwayError(f"`max_cost` must be more than 0 US dollars, not {sanitize_for_display(self.max_cost)}.")

    @staticmethod
    def _find_dialect(name: str) -> Dialect:
        from headway.contracts.dialects import find_dialect

        return find_dialect(name)

    @property
    def dialect_tools(self) -> tuple[TodoTool, ...]:
        """The tools of the dialect; none without one."""
        return () if self.dialect is None else self._find_dialect(self.dialect).tools

    @property
    def writers(self) -> str:
        """The names of the dialect's tools that change the list, for a sentence."""
        return " or ".join(tool.name for tool in self.dialect_tools if not tool.reads_only)

    @property
    def tracking_in_force(self) -> Tracking:
        """Who says that an item is done, where nothing is set too."""
        return Tracking(self.tracking or (Tracking.AUTO if self.todo_tools == TodoTools.OFF else Tracking.MANUAL))

    @property
    def policy(self) -> Policy:
        return Policy(str(self.tracking_in_force), self.complete_after, self.block_after)


def make_config(kind: type[PlannerConfig], config: PlannerConfig | None, options: dict[str, Any]) -> PlannerConfig:
    """Return the config, or one with these options; raise a sentence for both, or for an option that there is not."""
    if config is not None and options:
        raise HeadwayError("Pass either `config` or options, not both.")
    known = [field.name for field in fields(kind)]
    if unknown := [name for name in options if name not in known]:
        raise HeadwayError(
            f"There is no option '{sanitize_for_display(unknown[0])}'; the options are: {', '.join(known)}."
        )
    return kind(**options) if config is None else config
