"""Headway for an agent of the OpenAI Agents SDK: a runner that takes the place of `Runner`.

    result = await HeadwayRunner(session).run(agent, "Fix the tests")

The SDK has no hook for errors, for a cancelled run, nor for an agent that stops too early: so this wraps the run.
"""

# pyright: basic, reportMissingImports=false

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agents import Agent, FunctionTool, RunConfig, RunHooks, Runner
from agents.run_config import CallModelData, ModelInputData, ToolErrorFormatterArgs

from headway.adapters.framework_run import (
    USAGE,
    Effects,
    FrameworkRun,
    PlannerSource,
    SessionSource,
    check_effects,
    to_text,
)
from headway.core.errors import HeadwayError

if TYPE_CHECKING:
    from agents import RunResult, RunResultStreaming

    from headway.planner import ToolSpec

_KEPT_BY_SERVER = ("conversation_id", "previous_response_id", "auto_previous_response_id")


class HeadwayRunner:
    """Runs agents with the session's list; each run is one in the session's log."""

    def __init__(self, session: SessionSource, *, effects: Effects | None = None, **options: Any) -> None:
        """`session` may be a function of the run's `context`, for an agent that serves many conversations; `effects`
        says what the agent's own tools do, which else is guessed by their names; `options` are the planner's."""
        self._planners = PlannerSource(session, options)
        self._effects = check_effects(effects)
        self._run: ContextVar[FrameworkRun] = ContextVar("headway_run")
        self._default_config = RunConfig()
        self.tools: list[Any] = [self._make_tool(spec) for spec in self._planners.first.tools]
        """The todo tools: for an agent that this one hands over to and that shares its list."""

    async def run(self, agent: Agent[Any], input: Any, **options: Any) -> RunResult:
        """Run the agent as `Runner.run` does, and go on while it stops with open todos."""
        run, agent, options = self._prepare(agent, input, options)
        token = self._run.set(run)
        try:
            result = await Runner.run(agent, input, **options)
            while not result.interruptions and (line := run.render_nudge(str(result.final_output))):
                result = await Runner.run(result.last_agent, _continue(result, line, options), **options)
        except BaseException as error:
            run.end(error)
            raise
        finally:
            self._run.reset(token)
        run.end()
        return result

    def run_sync(self, agent: Agent[Any], input: Any, **options: Any) -> RunResult:
        """Run the agent where no event loop runs."""
        return asyncio.run(self.run(agent, input, **options))

    def run_streamed(self, agent: Agent[Any], input: Any, **options: Any) -> RunResultStreaming:
        """Run the agent as `Runner.run_streamed` does. It ends where the agent stops, open todos or not."""
        run, agent, options = self._prepare(agent, input, options)
        token = self._run.set(run)
        try:
            result = Runner.run_streamed(agent, input, **options)
        except BaseException as error:
            run.end(error)
            raise
        finally:
            self._run.reset(token)
        if result.run_loop_task is None:
            run.end()
        else:
            result.run_loop_task.add_done_callback(lambda task: run.end(_find_error(task)))
        return result

    def _prepare(
        self, agent: Agent[Any], input: Any, options: dict[str, Any]
    ) -> tuple[FrameworkRun, Agent[Any], dict[str, Any]]:
        """Return a run that has begun, the agent with the todo tools, and what the SDK is to run it with."""
        if not any(tool in self.tools for tool in agent.tools):
            agent = agent.clone(tools=[*agent.tools, *self.tools])
        given = options.get("run_config") or self._default_config
        config = RunConfig(**given) if isinstance(given, dict) else given
        model = config.model or agent.model or ""
        name = model if isinstance(model, str) else str(getattr(model, "model", ""))
        run = FrameworkRun(self._planners.find(options.get("context")), _find_task(input), name, self._effects)
        failed: set[str] = set()
        config = replace(
            config,
            call_model_input_filter=self._make_filter(
                run, config.call_model_input_filter, kept=any(options.get(name) for name in _KEPT_BY_SERVER)
            ),
            tool_error_formatter=_make_formatter(failed, config.tool_error_formatter),
        )
        hooks = HeadwayHooks(run, failed, options.get("hooks"))
        return run, agent, {**options, "run_config": config, "hooks": hooks}

    def _make_tool(self, spec: ToolSpec) -> FunctionTool:
        async def call(context: Any, arguments: str) -> str:
            run = self._run.get(None)
            if run is None:
                raise HeadwayError(f"{spec.name} works only in a run of Headway's; run the agent with HeadwayRunner.")
            return run.call(spec.name, arguments, context.tool_call_id).text

        return FunctionTool(spec.name, spec.description, dict(spec.parameters), call, strict_json_schema=False)

    def _make_filter(self, run: FrameworkRun, users: Callable[[Any], Any] | None, *, kept: bool) -> Any:
        """Return what adds rules and list to each request, after the user's own filter."""
        rules = self._planners.first.instructions

        async def add_list(data: CallModelData[Any]) -> ModelInputData:
            if users is not None:
                answer = users(data)
                model_data: ModelInputData = await answer if inspect.isawaitable(answer) else answer
            else:
                model_data = data.model_data
            if not any(tool in self.tools for tool in data.agent.tools):
                return model_data  # a sub-agent, or one that was handed over to
            items = model_data.input
            tail = run.render_tail(None if kept else len(items))
            told = f"{model_data.instructions}\n\n{rules}" if model_data.instructions else rules
            added: list[Any] = [{"role": "user", "content": tail}] if tail else []
            return ModelInputData(input=[*items, *added], instructions=told)

        return add_list


class HeadwayHooks(RunHooks[Any]):
    """Records the calls of a run, and calls the user's own hooks."""

    def __init__(self, run: FrameworkRun, failed: set[str], users: RunHooks[Any] | None) -> None:
        self._run = run
        self._failed = failed
        self._users: RunHooks[Any] = users or RunHooks()

    async def on_llm_start(self, *args: Any, **more: Any) -> None:
        await self._users.on_llm_start(*args, **more)

    async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:
        usage = response.usage
        cached = getattr(usage.input_tokens_details, "cached_tokens", 0) or 0
        self._run.note_answer(**dict(zip(USAGE, (usage.input_tokens, usage.output_tokens, cached, 0), strict=True)))
        await self._users.on_llm_end(context, agent, response)

    async def on_agent_start(self, *args: Any, **more: Any) -> None:
        await self._users.on_agent_start(*args, **more)

    async def on_agent_end(self, *args: Any, **more: Any) -> None:
        await self._users.on_agent_end(*args, **more)

    async def on_handoff(self, *args: Any, **more: Any) -> None:
        await self._users.on_handoff(*args, **more)

    async def on_tool_start(self, context: Any, agent: Any, tool: Any) -> None:
        self._run.start_tool(*_read_call(context, tool))
        await self._users.on_tool_start(context, agent, tool)

    async def on_tool_end(self, context: Any, agent: Any, tool: Any, result: Any) -> None:
        call = _read_call(context, tool)
        self._run.finish_tool(*call, result, ok=call[0] not in self._failed)
        await self._users.on_tool_end(context, agent, tool, result)


def _read_call(context: Any, tool: Any) -> tuple[str, str, object]:
    call_id = getattr(context, "tool_call_id", None) or f"{tool.name}-{id(context)}"
    return call_id, tool.name, getattr(context, "tool_arguments", "")


def _make_formatter(failed: set[str], users: Callable[[Any], Any] | None) -> Any:
    """Return what notes which calls failed, and words that as the user's own formatter does, or the SDK."""

    def note(args: ToolErrorFormatterArgs[Any]) -> str | Awaitable[str | None] | None:
        failed.add(args.call_id)
        return users(args) if users is not None else None

    return note


def _continue(result: RunResult, line: str, options: dict[str, Any]) -> Any:
    """Return the input with which a run goes on that stopped: the line alone where its history is kept elsewhere."""
    message: Any = {"role": "user", "content": line}
    if options.get("session") is not None or options.get("conversation_id"):
        return [message]
    if any(options.get(name) for name in _KEPT_BY_SERVER):
        options["previous_response_id"] = result.last_response_id
        return [message]
    return [*result.to_input_list(), message]


def _find_error(task: asyncio.Task[Any]) -> BaseException | None:
    return asyncio.CancelledError() if task.cancelled() else task.exception()


def _find_task(input: object) -> str:
    """Return the user's last words."""
    if isinstance(input, str):
        return input
    items: Any = input if isinstance(input, list) else []
    last = next((item for item in reversed(items) if isinstance(item, dict) and item.get("role") == "user"), {})
    return to_text(last.get("content"))
