"""What a model is told of its list at the beginning: how to keep it, and who says what is done."""

from __future__ import annotations

from pathlib import Path

from headway.planner.config import TodoTools, Tracking

_CONCLUDED = "`[x?]` marks an item that Headway only concluded to be completed"
_KEPT_BY_MODEL = "You keep the list: an item is completed or blocked only when you say so."
_STARTED = "Headway only starts the next item when you change or run something while none is in progress."
_KEPT_BY_BOTH = (
    "Headway keeps the list with you: from your calls it starts, completes and blocks items. "
    f"{_CONCLUDED}: confirm it, or correct it."
)
_YOURS_ALONE = "A list that you write with TodoWrite is yours alone."
_OTHERS_KEPT_TOO = f"A list made from a plan is kept by Headway too; {_CONCLUDED}: confirm it, or correct it."
_KEPT_BY_HEADWAY = f"Headway keeps it for you from what you do. {_CONCLUDED}: if it is not, say so in your answer."
_KEPT_BY_USER = "The user keeps it."


def todo_instructions(todo_tools: TodoTools, tracking: Tracking, *, shared: bool = False, writers: str = "") -> str:
    """Return the text for these tools, for a worker who shares the list with others, or for `writers` of a dialect."""
    todo_tools = TodoTools.FULL if writers else todo_tools
    name = "worker" if shared else todo_tools
    text = Path(__file__).with_name(f"todo_{name}.md").read_text(encoding="utf-8").strip()
    text = text.replace("{keeper}", _tracking_section(todo_tools, tracking))
    return text.replace("TodoWrite", writers) if writers else text


def _tracking_section(todo_tools: TodoTools, tracking: Tracking) -> str:
    """Who says what is done: the model, or Headway too."""
    by_hand = tracking is Tracking.MANUAL
    match todo_tools:
        case TodoTools.OFF:
            return _KEPT_BY_USER if by_hand else _KEPT_BY_HEADWAY
        case TodoTools.PLAN:
            return _KEPT_BY_MODEL if by_hand else f"{_KEPT_BY_MODEL} {_OTHERS_KEPT_TOO}"
        case _ if by_hand:
            return f"{_KEPT_BY_MODEL} {_STARTED}"
        case _:
            return _KEPT_BY_BOTH if todo_tools is TodoTools.LIGHT else f"{_KEPT_BY_BOTH} {_YOURS_ALONE}"
