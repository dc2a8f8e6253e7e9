"""The one place where calls of a model are run: checked, refused or approved by their effect, timed, and cut to size.

One executor per run. `call` always answers with a result, whatever the model sent and whatever a tool does; only being
cancelled goes through. Nothing else in Headway runs a tool.
"""

from __future__ import annotations

import asyncio
import difflib
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from traceback import format_exc, format_exception
from typing import TYPE_CHECKING, Any

from headway.core.errors import HeadwayError
from headway.core.logs import logger
from headway.core.secrets import redact
from headway.core.text import sanitize_for_display, to_storable
from headway.tools.approvals import Approvals, Ask, Denied
from headway.tools.base import Context, Tool, ToolFault, ToolResult
from headway.tools.effects import IN_PLAN_MODE, Effect, check_effect
from headway.tools.files.known_files import KnownFiles
from headway.tools.functions import Function, as_tools
from headway.tools.limits import Limits
from headway.tools.outputs import OutputFiles

if TYPE_CHECKING:
    from headway.session import Session

# One call of a tool, run in a task of its own: it ends in time, and whatever it does comes to a result.

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


_LOOK_EVERY = 0.05
"""Seconds between looks whether plan mode is off again."""
_ALWAYS_THE_SAME = Tool[Any].effect_of


@dataclass(frozen=True, slots=True)
class PreparedCall:
    """A call whose arguments were checked."""

    tool: Tool[Any] | None
    input: Any = None
    effect: Effect | None = None
    """What it would do; None if it cannot be run."""
    fault: ToolResult | None = None
    """What the model is told then."""


class Executor:
    """Runs the calls of one run.

    Long answers are kept in `.headway` of `project`, which is the folder that the tools work in unless it is named.
    """

    def __init__(
        self,
        tools: Iterable[Tool[Any] | Function],
        session: Session | None = None,
        *,
        project: str | os.PathLike[str] | None = None,
        approvals: Approvals | None = None,
        limits: Limits | None = None,
        on_output: Callable[[str | None, str], None] = lambda call_id, text: None,
        ask: Ask | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        """`ask` puts the questions of this run, in place of the one that the approvals have.

        `variables` are set in the environment of commands.
        """
        self.tools: list[Tool[Any]] = as_tools(tools)
        if callable(approvals):
            raise HeadwayError(
                "`approvals` must be an Approvals object; wrap the function that asks in one: Approvals(ask)."
            )
        self.approvals: Approvals = approvals or Approvals()
        self._names = {name: tool for tool in self.tools for name in (tool.name, *tool.aliases)}
        self._session = session
        folders = (tool.folder for tool in self.tools if tool.folder is not None)
        self._project = os.path.abspath(next(folders, ".") if project is None else project)
        self._limits = limits or Limits()
        self._seen = KnownFiles()
        self._outputs = OutputFiles(
            self._project, kept_bytes=self._limits.kept_bytes, total_bytes=self._limits.outputs_bytes
        )
        self._on_output = on_output
        self._ask = ask
        self._variables = dict(variables or {})

    def list_offered(self, *, planning: bool | None = None) -> list[Tool[Any]]:
        """The tools a model is told of, always in the same order: now, or in plan mode or not.

        In plan mode those that may run then; else all but those that make plans, since each costs tokens.
        """
        if self._is_planning() if planning is None else planning:
            return [tool for tool in self.tools if check_effect(tool.effect) in IN_PLAN_MODE]
        return [tool for tool in self.tools if check_effect(tool.effect) is not Effect.PLAN]

    def is_read_only(self, name: str) -> bool:
        """Whether calls of this tool may run side by side: not if what they do differs from call to call."""
        tool = self._names.get(name)
        if tool is None or type(tool).effect_of is not _ALWAYS_THE_SAME:
            return False
        return tool.effect in (Effect.READ, Effect.NETWORK)

    def prepare(self, name: str, arguments: object) -> PreparedCall:
        """Check a call's arguments, an object or its JSON; what is wrong with them is the call's answer."""
        tool = self._names.get(str(name))
        if tool is None:
            return PreparedCall(None, fault=ToolResult(self._explain_unknown(str(name)), ok=False))
        try:
            call = tool.parse_input(arguments)
            return PreparedCall(tool, call, check_effect(tool.effect_of(call)))
        except HeadwayError as error:
            return PreparedCall(tool, fault=ToolResult(error_text(error), ok=False))
        except (Exception, SystemExit) as error:
            return PreparedCall(tool, fault=ToolResult(explain_unexpected(tool, error), ok=False))

    async def call(self, name: str, arguments: object, call_id: str | None = None) -> ToolResult:
        """Prepare one call and run it."""
        return await self.run(self.prepare(name, arguments), call_id)

    async def run(self, prepared: PreparedCall, call_id: str | None = None) -> ToolResult:
        tool, effect = prepared.tool, prepared.effect
        if tool is None:
            assert prepared.fault is not None
            return prepared.fault
        if effect is None:
            assert prepared.fault is not None
            return await self._shorten_result(tool, prepared.fault)
        ran: Effect | None = None
        try:
            await self._await_plan_mode(tool, effect)
            context = self._make_context(call_id)
            has_network = await self.approvals.require(tool, prepared.input, effect, context, call_id, ask=self._ask)
            await self._await_plan_mode(tool, effect)
            ran = effect
            result = await run_with_deadline(tool, prepared.input, replace(context, network=has_network))
        except HeadwayError as error:
            result = ToolResult(error_text(error), ok=False, denied=isinstance(error, Denied))
        except (Exception, SystemExit) as error:
            result = ToolResult(explain_unexpected(tool, error), ok=False)
        return await self._shorten_result(tool, result.with_effect(ran))

    def _make_context(self, call_id: str | None) -> Context:
        return Context(
            project=self._project,
            session=self._session,
            limits=self._limits,
            seen=self._seen,
            outputs=self._outputs,
            report=lambda text: self._publish_output(call_id, text),
            variables=self._variables,
        )

    def _publish_output(self, call_id: str | None, text: str) -> None:
        try:
            self._on_output(call_id, text)
        except Exception:  # whoever watches must not make the tool fail
            logger().error("Showing output failed:\n%s", redact(format_exc()))

    def _is_planning(self) -> bool:
        return self._session is not None and self._session.is_planning

    async def _await_plan_mode(self, tool: Tool[Any], effect: Effect) -> None:
        """Refuse what plan mode forbids; a call of an execution, which plan mode pauses, waits until it is off."""
        if effect in IN_PLAN_MODE:
            return
        while (session := self._session) is not None and session.plan_mode and not session.is_planning:
            await asyncio.sleep(_LOOK_EVERY)
        if self._is_planning():
            raise Denied(
                f"{tool.name} was not run: plan mode changes nothing and runs no commands. Explore with the "
                f"read-only tools, then {self._explain_end_of_planning()}."
            )

    def _explain_end_of_planning(self) -> str:
        return "finish the plan with create_plan" if "create_plan" in self._names else "describe what you would do"

    async def _shorten_result(self, tool: Tool[Any], result: ToolResult) -> ToolResult:
        text = to_storable(result.text)
        limit = tool.limits.output_chars or self._limits.output_chars
        if len(text) <= limit:
            return result if text == result.text else replace(result, text=text)
        text, kept = await asyncio.to_thread(self._outputs.shorten, tool.name, text, limit)
        return replace(result, text=text, kept=kept or result.kept)

    def _explain_unknown(self, name: str) -> str:
        near = difflib.get_close_matches(name[:100], self._names, n=1, cutoff=0.75)
        hint = f"did you mean {near[0]}?" if near else f"available tools: {', '.join(self._names) or 'none'}."
        return f"There is no tool named '{sanitize_for_display(name)}'; {hint}"
