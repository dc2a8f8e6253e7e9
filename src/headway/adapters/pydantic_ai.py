"""Headway for an agent of pydantic-ai: a capability with the todo tools, the list in each request, and the record.

agent = Agent("openai:gpt-…", capabilities=[HeadwayCapability(session)])
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ApprovalRequired, CallDeferred, ToolFailed
from pydantic_ai.messages import CachePoint, ModelRequest, ModelResponse, ToolCallPart, UserPromptPart
from pydantic_ai.tools import RunContext, Tool, ToolDefinition
from pydantic_ai.toolsets import FunctionToolset
from pydantic_graph import End

from headway.adapters.framework_run import (
    USAGE,
    Effects,
    FrameworkRun,
    PlannerSource,
    SessionSource,
    check_effects,
    to_text,
)

if TYPE_CHECKING:
    from pydantic_ai.models import ModelRequestContext
    from pydantic_ai.settings import ModelSettings

    from headway.planner import ToolSpec

_CACHE_SETTINGS = ("anthropic_cache", "anthropic_cache_messages", "bedrock_cache_messages")
"""Settings that would have the provider cache up to the end of a request, where the list is."""
_RETRIES = 20
"""How often in a row the arguments of a todo call may be no JSON."""


class HeadwayCapability(AbstractCapability[Any]):
    """Gives an agent the session's list; each run of the agent is a run in the session's log."""

    def __init__(self, session: SessionSource, *, effects: Effects | None = None, **options: Any) -> None:
        """`session` may be a function of the run's context, for an agent that serves many conversations; `effects` says
        what the agent's own tools do, which else is guessed by their names; `options` are the planner's."""
        self.id = self.description = None
        self.defer_loading = False
        self._effects = check_effects(effects)
        self._planners = PlannerSource(session, options)
        self._run: FrameworkRun | None = None
        self._answer = ""
        """The model's last words."""

    async def for_run(self, ctx: RunContext[Any]) -> HeadwayCapability:
        """Return the capability of one run, with the same planner."""
        own = copy(self)
        own._run = None
        return own

    def get_instructions(self) -> str:
        return self._planners.first.instructions

    def get_toolset(self) -> FunctionToolset[Any]:
        return FunctionToolset([self._make_tool(spec) for spec in self._planners.first.tools], max_retries=_RETRIES)

    def _make_tool(self, spec: ToolSpec) -> Tool[Any]:
        async def call(**arguments: Any) -> str:
            answer = self._active_run.call(spec.name, arguments)
            if not answer.ok:
                raise ToolFailed(answer.text)
            return answer.text

        return Tool.from_schema(call, spec.name, spec.description, spec.parameters)

    @property
    def _active_run(self) -> FrameworkRun:
        assert self._run is not None
        return self._run

    async def wrap_run(self, ctx: RunContext[Any], *, handler: Callable[[], Awaitable[Any]]) -> Any:
        self._run = FrameworkRun(self._planners.find(ctx), to_text(ctx.prompt), ctx.model.model_id, self._effects)
        try:
            result = await handler()
        except BaseException as error:
            self._run.end(error)
            raise
        self._run.end()
        return result

    async def prepare_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Add the list to the request, behind the history, which stays as it is."""
        tail = self._active_run.render_tail(len(request_context.messages))
        if not tail:
            return request_context
        settings, mark = _move_cache_mark(request_context.model_settings)
        part = UserPromptPart([mark, tail] if mark is not None else tail)
        messages = [*request_context.messages, ModelRequest(parts=[part])]
        return replace(request_context, messages=messages, model_settings=settings)

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        usage = response.usage
        self._answer = response.text or ""
        self._active_run.note_answer(**{name: getattr(usage, name) for name in USAGE})
        return response

    async def after_node_run(self, ctx: RunContext[Any], *, node: Any, result: Any) -> Any:
        """Have an agent go on that would end with open todos."""
        if isinstance(result, End) and (line := self._active_run.render_nudge(self._answer)):
            ctx.enqueue(line, priority="when_idle")
        return cast("Any", result)

    async def wrap_tool_execute(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: Callable[[dict[str, Any]], Awaitable[Any]],
    ) -> Any:
        run = self._active_run
        run.start_tool(call.tool_call_id, call.tool_name, args)
        result: Any = None
        ok = False
        try:
            result = await handler(args)
            ok = True
        except (CallDeferred, ApprovalRequired):
            ok = True  # it has not failed: someone else runs it, or is asked about it, and then it comes again
            raise
        finally:
            run.finish_tool(call.tool_call_id, call.tool_name, args, result, ok=ok)
        return result

    async def on_tool_validate_error(
        self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: ToolDefinition, args: Any, error: Any
    ) -> Any:
        run = self._active_run
        run.start_tool(call.tool_call_id, call.tool_name, args)
        run.finish_tool(call.tool_call_id, call.tool_name, args, None, ok=False)
        raise error


def _move_cache_mark(settings: ModelSettings | None) -> tuple[ModelSettings | None, CachePoint | None]:
    """Return the settings without what caches up to the end of a request, and a mark in its place, if they had it."""
    values = cast("dict[str, Any]", dict(settings or {}))
    chosen = next((value for name in _CACHE_SETTINGS if (value := values.pop(name, None))), None)
    cache: Any = values.get("cache")
    config = cast("dict[str, Any]", cache) if isinstance(cache, dict) else {} if cache is True else {"retention": cache}
    if cache and config.get("messages") is not False:
        chosen = chosen or config.get("retention", True)
        values["cache"] = {**config, "messages": False}
    if not chosen:
        return settings, None
    return cast("ModelSettings", values), CachePoint(ttl="1h" if chosen == "1h" else "5m")
