"""Identical calls in a row: a model that goes in circles is told so once, and in the end is stopped."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

from headway.core.errors import HeadwayError
from headway.core.tracking import TODO_EFFECT
from headway.planner.call_summary import summarize_call
from headway.views.prompt_block import escape_for_prompt

if TYPE_CHECKING:
    from headway.core.run_events import ToolFinished

WARN_AFTER = 3
"""Identical calls in a row after which the model is told."""
END_AFTER = 6
"""Those that end the run."""


class RepeatedCalls:
    """The identical calls with which a run's last calls end: same tool, same arguments, same result."""

    def __init__(self, redacted: Callable[[str], str]) -> None:
        self._redacted = redacted
        self._last: tuple[str, str, str] | None = None
        self._number = 0
        self._tool = ""
        self._arguments: object = None
        self._warned_in = 0
        """The round in which the model was told of them."""

    def add(self, arguments: object, done: ToolFinished) -> None:
        this = (
            done.tool,
            json.dumps(arguments, sort_keys=True, ensure_ascii=False, default=str),
            _comparable_result(done),
        )
        if this == self._last:
            self._number += 1
            return
        self._last, self._number, self._warned_in = this, 1, 0
        self._tool, self._arguments = done.tool, arguments

    def _format_call(self) -> str:
        return escape_for_prompt(summarize_call(self._tool, self._arguments, self._redacted), 200)

    def render_warning(self, round: int) -> str:
        """Return the line that tells the model, in the request of one round."""
        if self._number < WARN_AFTER or self._warned_in not in (0, round):
            return ""
        self._warned_in = round
        return (
            f"(You made the same call {self._number} times in a row, with the same result: {self._format_call()}. "
            "Try another way, or tell the user what stops you.)"
        )

    def check(self) -> None:
        """Raise `HeadwayError` if the run has to end."""
        if self._number >= END_AFTER:
            raise HeadwayError(
                f"The model made the same call {self._number} times in a row with the same result "
                f"({self._format_call()}). Tell it how to continue differently, or choose another model."
            )


def _comparable_result(done: ToolFinished) -> str:
    """What came of the call. That of a todo tool does not count: adding the same todo again gives it another id."""
    if done.effect == TODO_EFFECT:
        return ""
    text = done.text.replace(done.kept, "") if done.kept else done.text
    return f"{done.ok} {done.exit_code} {text}"
