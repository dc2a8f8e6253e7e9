"""Headway for an agent of LangChain or deepagents: a middleware with the todo tools, the list in each request, and the
record. It takes the place of `TodoListMiddleware`; list it last, so that nothing comes behind the list.

    agent = create_agent("openai:gpt-…", tools, middleware=[HeadwayMiddleware(session)])
"""

# pyright: basic, reportMissingImports=false

from __future__ import annotations

import re
import threading
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any
from uuid import UUID

from langchain.agents.middleware import AgentMiddleware, hook_config
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from langchain_core.tracers.context import register_configure_hook
from langgraph.config import get_config
from langgraph.errors import GraphBubbleUp
from langgraph.types import Command

from headway.adapters.framework_run import USAGE, Effects, FrameworkRun, PlannerSource, SessionSource, check_effects

if TYPE_CHECKING:
    from langchain.agents.middleware import ModelRequest
    from langchain.agents.middleware.types import ToolCallRequest

    from headway.planner import ToolSpec

_ANTHROPIC = "anthropic-chat"
_SAFE_ID = re.compile(r"[a-zA-Z0-9_-]+")
"""An id of a call that Anthropic takes as it is."""


class HeadwayMiddleware(AgentMiddleware[Any, Any, Any]):
    """Gives an agent the session's list; each run of the agent is a run in the session's log."""

    def __init__(self, session: SessionSource, *, effects: Effects | None = None, **options: Any) -> None:
        """`session` may be a function of the run's config, for an agent that serves many conversations; `effects` says
        what the agent's own tools do, which else is guessed by their names; `options` are the planner's."""
        super().__init__()
        self._planners = PlannerSource(session, options)
        self._effects = check_effects(effects)
        self.tools: Sequence[BaseTool] = [_make_tool(spec) for spec in self._planners.first.tools]
        self._names = frozenset(tool.name for tool in self.tools)

    def _find_run(self, messages: Sequence[AnyMessage], model: object = None) -> FrameworkRun:
        """Return the run of the graph that calls this; it begins with the first call, also of a resumed graph."""
        config = get_config()

        def begin() -> FrameworkRun:
            task = next((message.text for message in reversed(messages) if isinstance(message, HumanMessage)), "")
            name = getattr(model, "model_name", None) or getattr(model, "model", None) or ""
            return FrameworkRun(self._planners.find(config), str(task), str(name), self._effects)

        return _GRAPHS.find_run(config["callbacks"].parent_run_id, self, begin)

    def wrap_model_call(self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Any]) -> Any:
        run = self._find_run(request.messages, request.model)
        response = handler(self._add_list(request, run))
        run.note_answer(**_read_usage(response))
        return response

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[Any]]
    ) -> Any:
        run = self._find_run(request.messages, request.model)
        response = await handler(self._add_list(request, run))
        run.note_answer(**_read_usage(response))
        return response

    def _add_list(self, request: ModelRequest[Any], run: FrameworkRun) -> ModelRequest[Any]:
        """Return the request with the rules in the system message, and the list behind the history."""
        system = _add_text(request.system_message, self._planners.first.instructions)
        messages, settings = list(request.messages), request.model_settings
        tail = run.render_tail(len(messages))
        if getattr(request.model, "_llm_type", "") == _ANTHROPIC:
            messages = [_to_blocks(message) for message in messages]
            if tail and (marker := settings.get("cache_control")):  # else it stands behind the list
                settings = {name: value for name, value in settings.items() if name != "cache_control"}
                messages[-1:] = [_mark_for_cache(message, marker) for message in messages[-1:]]
        if tail:
            messages.append(HumanMessage(tail))
        return request.override(system_message=system, messages=messages, model_settings=settings)

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Any:
        run = self._find_run(request.state["messages"])
        if (answer := self._answer(run, request)) is not None:
            return answer
        with _Call(run, request) as call:
            call.result = handler(request)
        return call.result

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Any]]
    ) -> Any:
        run = self._find_run(request.state["messages"])
        if (answer := self._answer(run, request)) is not None:
            return answer
        with _Call(run, request) as call:
            call.result = await handler(request)
        return call.result

    def _answer(self, run: FrameworkRun, request: ToolCallRequest) -> ToolMessage | None:
        """Return what a todo tool answers; None for another tool."""
        call = request.tool_call
        if call["name"] not in self._names:
            return None
        answer = run.call(call["name"], call["args"], call["id"])
        status = "success" if answer.ok else "error"
        return ToolMessage(answer.text, tool_call_id=call["id"] or "", name=call["name"], status=status)

    @hook_config(can_jump_to=["model"])
    def after_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Have an agent go on that would end with open todos."""
        messages = state["messages"]
        line = self._find_run(messages).render_nudge(str(messages[-1].text) if messages else "")
        return {"messages": [HumanMessage(line)], "jump_to": "model"} if line else None


class _Call:
    """A call of one of the agent's own tools, recorded from its start to its end."""

    def __init__(self, run: FrameworkRun, request: ToolCallRequest) -> None:
        call = request.tool_call
        self._run = run
        self._call = (call["id"] or "", call["name"], call["args"])
        self.result: Any = None

    def __enter__(self) -> _Call:
        self._run.start_tool(*self._call)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        result, ok = _read_result(self.result)
        waits = isinstance(error, GraphBubbleUp)  # for a person: the call has not failed, and comes again
        self._run.finish_tool(*self._call, result, ok=waits or (error is None and ok))


class _Graphs(BaseCallbackHandler):
    """Which runs belong to which graph that is running, so that they end with it, however it ends."""

    run_inline = True

    def __init__(self) -> None:
        self._parents: dict[UUID, UUID | None] = {}
        self._runs: dict[UUID | None, dict[int, FrameworkRun]] = {}
        self._lock = threading.RLock()
        """Held while a run begins, as the calls of a resumed graph come in several threads."""

    def find_run(self, node: UUID, owner: object, begin: Callable[[], FrameworkRun]) -> FrameworkRun:
        """Return the owner's run in the graph that a node is part of."""
        with self._lock:
            runs = self._runs.setdefault(self._parents.get(node), {})
            found = runs.get(id(owner))
            if found is None:
                found = runs[id(owner)] = begin()
            return found

    def on_chain_start(self, *args: Any, run_id: UUID, parent_run_id: UUID | None = None, **more: Any) -> None:
        self._parents[run_id] = parent_run_id

    def on_chain_end(self, *args: Any, run_id: UUID, **more: Any) -> None:
        self._end(run_id, None)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **more: Any) -> None:
        self._end(run_id, error)

    def _end(self, run_id: UUID, error: BaseException | None) -> None:
        self._parents.pop(run_id, None)
        for run in self._runs.pop(run_id, {}).values():
            run.end(error)


_GRAPHS = _Graphs()
register_configure_hook(ContextVar("headway_graphs", default=_GRAPHS), inheritable=True)


def _make_tool(spec: ToolSpec) -> BaseTool:
    def call(**arguments: Any) -> str:
        raise AssertionError(f"The middleware answers calls of {spec.name}.")

    return StructuredTool(name=spec.name, description=spec.description, args_schema=dict(spec.parameters), func=call)


def _add_text(system: SystemMessage | None, text: str) -> SystemMessage:
    """Return the system message with a text behind it; a mark for the provider's cache moves to its new end."""
    if system is None or isinstance(system.content, str):
        return SystemMessage(f"{system.content}\n\n{text}" if system is not None and system.content else text)
    blocks: list[Any] = list(system.content)
    block: dict[str, Any] = {"type": "text", "text": text}
    if blocks and isinstance(blocks[-1], dict) and "cache_control" in blocks[-1]:
        block["cache_control"] = blocks[-1]["cache_control"]
        blocks[-1] = {name: value for name, value in blocks[-1].items() if name != "cache_control"}
    return SystemMessage([*blocks, block])


def _to_blocks(message: AnyMessage) -> AnyMessage:
    """Return a user's message in the form that it has when another follows, which is sent as one with it."""
    if not isinstance(message, HumanMessage) or not isinstance(message.content, str):
        return message
    return message.model_copy(update={"content": [{"type": "text", "text": message.content}]})


def _mark_for_cache(message: AnyMessage, marker: object) -> AnyMessage:
    """Return the message with a mark that lets Anthropic cache up to here; its text keeps the form that it has."""
    content: Any = message.content
    if isinstance(message, ToolMessage) and isinstance(content, str) and _SAFE_ID.fullmatch(message.tool_call_id):
        result = {"type": "tool_result", "content": content, "tool_use_id": message.tool_call_id}
        content = [{**result, "is_error": message.status == "error"}]
    elif isinstance(content, str):
        content = [{"type": "text", "text": content}]
    if not content or not isinstance(content[-1], dict):
        return message
    return message.model_copy(update={"content": [*content[:-1], {**content[-1], "cache_control": marker}]})


def _read_usage(response: Any) -> dict[str, int]:
    messages = getattr(getattr(response, "model_response", response), "result", None) or [response]
    answer = next((message for message in messages if isinstance(message, AIMessage)), None)
    usage: Any = answer.usage_metadata if answer is not None else None
    if not usage:
        return {}
    details = usage.get("input_token_details") or {}
    cache = (details.get("cache_read") or 0, details.get("cache_creation") or 0)
    return dict(zip(USAGE, (usage["input_tokens"], usage["output_tokens"], *cache), strict=True))


def _read_result(result: Any) -> tuple[object, bool]:
    """Return what a tool answered, its artifact if that has an exit code, and whether it succeeded."""
    if isinstance(result, Command):
        update: Any = result.update
        messages = update.get("messages") if isinstance(update, dict) else None
        result = next((message for message in messages or () if isinstance(message, ToolMessage)), None)
    if not isinstance(result, ToolMessage):
        return result, True
    return result.artifact if result.artifact is not None else result.text, result.status != "error"
