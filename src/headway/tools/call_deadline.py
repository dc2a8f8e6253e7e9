"""One call of a tool, run in a task of its own: it ends in time, and whatever it does comes to a result.

A task of its own, so that a tool which ignores being stopped is left behind instead of holding up everything else.
"""

from __future__ import annotations

import asyncio
from traceback import format_exception
from typing import Any

from headway.core.errors import HeadwayError
from headway.core.logs import logger
from headway.core.secrets import redact
from headway.core.text import sanitize_for_display
from headway.tools.base import Context, Tool, ToolFault, ToolResult

_GRACE = 2.0
"""Seconds that a stopped tool gets for tidying up."""
_left_behind: set[asyncio.Task[ToolResult]] = set()
"""Kept from being collected while they still run."""


async def run_with_deadline(tool: Tool[Any], call: Any, context: Context) -> ToolResult:
    """The result of a call, or a `ToolFault` when its time is over. Being cancelled stops the tool and goes through."""
    task = asyncio.create_task(_run(tool, call, context), name=f"tool {tool.name}")
    try:
        await asyncio.wait({task}, timeout=tool.limits.seconds)
        if not task.done():
            await _cancel(task)
            raise ToolFault(_explain_overdue(tool, task))
    except asyncio.CancelledError:
        await _cancel(task)
        raise
    if task.cancelled() or isinstance(task.exception(), GeneratorExit):
        raise ToolFault(f"{tool.name} failed: it cancelled itself.")
    return task.result()


async def _cancel(task: asyncio.Task[ToolResult]) -> None:
    task.cancel()
    _left_behind.add(task)
    task.add_done_callback(_left_behind.discard)
    await asyncio.wait({task}, timeout=_GRACE)


async def _run(tool: Tool[Any], call: Any, context: Context) -> ToolResult:
    try:
        result: object = await tool.run(call, context)
    except HeadwayError as error:
        return ToolResult(error_text(error), ok=False)
    except (asyncio.CancelledError, KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:  # SystemExit, and what extension modules raise, would end the program
        return ToolResult(explain_unexpected(tool, error), ok=False)
    if isinstance(result, ToolResult) and isinstance(result.text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        return result
    kind = type(result).__name__
    return ToolResult(
        f"{tool.name} failed: it returned {sanitize_for_display(kind)} instead of a ToolResult with text.", ok=False
    )


def explain_unexpected(tool: Tool[Any], error: BaseException) -> str:
    """What a model is told of an error that nobody expected; the rest is for the log."""
    trace = "".join(format_exception(error))
    logger().error("The tool %s failed:\n%s", tool.name, redact(trace))
    return f"{tool.name} failed: {type(error).__name__}: {sanitize_for_display(error_text(error), 500)}"


def error_text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # an error may fail even at this
        return "(without words)"


def _explain_overdue(tool: Tool[Any], task: asyncio.Task[ToolResult]) -> str:
    ended = task.done() and tool.can_be_stopped
    stopped = "was stopped" if ended else "could not be stopped; it may still be running"
    return f"{tool.name} took longer than {tool.limits.seconds:g} s and {stopped}."
