"""How a tool call ended, for a line on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.core.text import sanitize_for_display

if TYPE_CHECKING:
    from headway.core.run_events import RunError, ToolFinished


def format_call_outcome(call: ToolFinished, what: str) -> tuple[str, str, str]:
    """(mark, what was done, why it did not work)."""
    if call.denied:
        return "⊘", what, "denied"
    if call.cancelled:
        return "⊘", what, "cancelled"
    if call.succeeded:
        return "✓", f"{what} ({call.seconds:.1f} s)" if call.seconds >= 1 else what, ""
    if call.exit_code:
        return "✗", what, f"exit code {call.exit_code}"
    lines = [line for line in call.text.splitlines() if line.strip()] or [""]
    # A line before a list only announces what is wrong; before anything else, such as lines of a file, it says it.
    why = lines[1] if lines[0].rstrip().endswith(":") and lines[1:2] and lines[1].startswith("- ") else lines[0]
    return "✗", what, sanitize_for_display(why.strip().removeprefix("- "), 120)


def format_retry(error: RunError) -> str:
    """Return what failed, without the advice that follows, and when the request is sent again."""
    failed = (error.message.rpartition("; ")[0] or error.message).rstrip(".")
    return f"{sanitize_for_display(failed, 450)}." + (f" Retrying in {error.retry_in:.0f} s." if error.retry_in else "")
