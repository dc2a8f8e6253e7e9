"""Headway for an agent of the Claude Agent SDK: options with the todo tools, and hooks that record what it does.

    async with ClaudeSDKClient(with_headway(ClaudeAgentOptions(), session)) as client: …

What a hook adds to a conversation stays in it, so the list is added only where it has changed. With `gateway=True` it
goes along with each request instead, and never into the history: the program then asks its provider through a server
on loopback.
"""

# pyright: basic, reportMissingImports=false

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from claude_agent_sdk import ClaudeAgentOptions, HookMatcher, SdkMcpTool, create_sdk_mcp_server

from headway.adapters.claude_gateway import DEFAULT_UPSTREAM, ClaudeGateway
from headway.adapters.framework_run import Effects, FrameworkRun, check_effects, to_arguments
from headway.core.errors import HeadwayError
from headway.planner import LimitReached, RunStopped

if TYPE_CHECKING:
    from headway.planner import Planner, ToolSpec
    from headway.session import Session

SERVER = "headway"
PREFIX = f"mcp__{SERVER}__"
_OWN_TODO_TOOLS = ("TodoWrite", "TaskCreate", "TaskGet", "TaskList", "TaskUpdate")
"""Claude Code's own, which would keep another list."""
_NOT_YOURS = "This list belongs to the main agent: do your task, and say in your answer what became of it."
_EFFECTS = {"Agent": "read", "NotebookEdit": "write", "Skill": "read", "ToolSearch": "read"}
"""Of Claude Code's own tools whose names do not say what they do."""
Answer = dict[str, Any]


def with_headway(
    options: ClaudeAgentOptions,
    session: Session,
    *,
    gateway: bool = False,
    effects: Effects | None = None,
    **planner_options: Any,
) -> ClaudeAgentOptions:
    """Return the options with the session's list; each prompt to the agent is a run in the session's log.

    `effects` says what tools do that are not Claude Code's own, which else is guessed by their names.
    """
    if not isinstance(options.mcp_servers, dict):
        raise HeadwayError(
            "`mcp_servers` is a file or text; pass the servers as a dict, so that Headway's can be added."
        )
    agent = _Agent(session.planner(**planner_options), effects, options.model or "", shows_list=not gateway)
    env = dict(options.env)
    if gateway:
        upstream = env.get("ANTHROPIC_BASE_URL") or os.environ.get("ANTHROPIC_BASE_URL") or DEFAULT_UPSTREAM
        env["ANTHROPIC_BASE_URL"] = ClaudeGateway(upstream, PREFIX, agent.render_tail, agent.note_answer).url
    server = create_sdk_mcp_server(SERVER, tools=[agent.make_tool(spec) for spec in agent.planner.tools])
    server["instance"].lifespan = agent.end_with_connection
    users = options.hooks or {}
    ours = agent.list_hooks()
    return replace(
        options,
        env=env,
        # The tool search of Claude Code would hide the tools.
        mcp_servers={**options.mcp_servers, SERVER: {**server, "alwaysLoad": True}},
        allowed_tools=[*options.allowed_tools, *(PREFIX + spec.name for spec in agent.planner.tools)],
        disallowed_tools=[*options.disallowed_tools, *_OWN_TODO_TOOLS],
        hooks={event: [*users.get(event, []), *ours.get(event, [])] for event in {**users, **ours}},
        **_add_rules(options, agent.planner.instructions),
    )


class _Agent:
    """The runs of one agent, one after the other, told of by the hooks of Claude Code."""

    def __init__(self, planner: Planner, effects: Effects | None, model: str, *, shows_list: bool) -> None:
        self.planner = planner
        self._effects = check_effects(effects)
        self._model = model
        self._shows_list = shows_list
        """Whether hooks add the list to the conversation."""
        self._run: FrameworkRun | None = None
        self._known = ""
        """What the conversation has of the list."""
        self._is_compacting = False

    def list_hooks(self) -> dict[Any, list[HookMatcher]]:
        hooks: dict[str, Callable[[Any], Answer]] = {
            "UserPromptSubmit": self._begin,
            "PreToolUse": self._start_tool,
            "PostToolUse": self._finish_tool,
            "PostToolUseFailure": self._fail_tool,
            "PostToolBatch": self._end_round,
            "PreCompact": self._begin_compaction,
            "PostCompact": self._end_compaction,
            "SessionStart": self._note_start,
            "Stop": self._stop,
            "StopFailure": self._end,
            "SessionEnd": self._end,
        }
        blocks: Any = "block"
        return {
            event: [HookMatcher(hooks=[_make_hook(hook)], on_failure=blocks if event == "PreToolUse" else None)]
            for event, hook in hooks.items()
        }

    def make_tool(self, spec: ToolSpec) -> SdkMcpTool[Any]:
        async def call(arguments: dict[str, Any]) -> Answer:
            answer = self._active_run.call(spec.name, arguments)
            return {"content": [{"type": "text", "text": answer.text}], "is_error": not answer.ok}

        return SdkMcpTool(spec.name, spec.description, dict(spec.parameters), call)

    @property
    def _active_run(self) -> FrameworkRun:
        if self._run is None or self._run.is_over:  # as after another hook that lets an agent go on
            self._run = FrameworkRun(self.planner, "", self._model, self._find_effect)
        return self._run

    def _find_effect(self, name: str) -> str | None:
        named = self._effects(name) if callable(self._effects) else (self._effects or {}).get(name)
        return named or _EFFECTS.get(name)

    @asynccontextmanager
    async def end_with_connection(self, server: object) -> AsyncGenerator[dict[str, Any]]:
        """End a run that no hook ended: the agent was cancelled, has reached a limit, or has crashed."""
        try:
            yield {}
        finally:
            if self._run is not None:
                self._run.end(asyncio.CancelledError())

    # what the gateway asks

    def render_tail(self) -> str:
        """Return what goes along with the next request."""
        return "" if self._is_compacting or self._run is None or self._run.is_over else self._run.render_tail(None)

    def note_answer(self, **usage: int) -> None:
        if self._run is not None and not self._run.is_over:
            self._run.note_answer(**usage)

    # what hooks say

    def _begin(self, said: Answer) -> Answer:
        self._end(said)  # one that was interrupted
        self._run = FrameworkRun(self.planner, said.get("prompt", ""), self._model, self._find_effect)
        return self._add_list(said, is_first=True)

    def _start_tool(self, said: Answer) -> Answer:
        if said["tool_name"].startswith(PREFIX):
            if not said.get("agent_id"):
                return {}
            decision = {"permissionDecision": "deny", "permissionDecisionReason": _NOT_YOURS}
            return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **decision}}
        self._active_run.start_tool(said["tool_use_id"], said["tool_name"], said["tool_input"])
        return {}

    def _finish_tool(self, said: Answer) -> Answer:
        result = said.get("tool_response")
        if said["tool_name"] == "Bash" and isinstance(result, dict):
            result = {**result, "exit_code": 0}  # any other is a failure
        self._note_result(said, result, ok=True)
        return {}

    def _fail_tool(self, said: Answer) -> Answer:
        self._note_result(said, said.get("error", ""), ok=False)
        return {}

    def _note_result(self, said: Answer, result: object, *, ok: bool, denied: bool = False) -> None:
        name, arguments = said["tool_name"], to_arguments(said.get("tool_input"))
        self._active_run.finish_tool(said["tool_use_id"], name, arguments, result, ok=ok, denied=denied)

    def _end_round(self, said: Answer) -> Answer:
        if said.get("agent_id"):
            return {}
        if self._run is not None and self._run.refusal is not None:
            return _stop(self._run.refusal)
        for call in said.get("tool_calls", ()):  # those that are still open were denied
            self._note_result(call, call.get("tool_response"), ok=False, denied=True)
        return self._add_list(said)

    def _add_list(self, said: Answer, *, is_first: bool = False) -> Answer:
        """Return an answer that adds the list to the conversation, if that has another one."""
        if not self._shows_list:
            return {}
        todos = repr([(todo.id, todo.content, todo.status) for todo in self.planner.session.todos])
        if todos == self._known and not is_first:
            return {}
        self._known = todos
        return _add_context(said, self._active_run.render_tail(None))

    def _begin_compaction(self, said: Answer) -> Answer:
        self._is_compacting = True
        return {}

    def _end_compaction(self, said: Answer) -> Answer:
        self._is_compacting = False
        if self._run is not None and not self._run.is_over:
            self._run.note_compaction()
        self._known = ""
        return {}

    def _note_start(self, said: Answer) -> Answer:
        return self._add_list(said) if said.get("source") == "compact" else {}

    def _stop(self, said: Answer) -> Answer:
        line = self._active_run.render_nudge(said.get("last_assistant_message") or "")
        if line:
            return _add_context(said, line)
        self._end(said)
        return {}

    def _end(self, said: Answer) -> Answer:
        if self._run is not None:
            failure = said.get("error") or said.get("error_details")
            self._run.end(HeadwayError(f"Claude Code stopped: {failure}.") if failure else None)
        return {}


def _make_hook(hook: Callable[[Any], Answer]) -> Callable[..., Awaitable[Any]]:
    async def run(said: Any, tool_use_id: str | None, context: Any) -> Answer:
        try:
            return hook(said)
        except (RunStopped, LimitReached) as error:
            return _stop(error)

    return run


def _stop(error: Exception) -> Answer:
    return {"continue_": False, "stopReason": str(error)}


def _add_context(said: Answer, text: str) -> Answer:
    if not text:
        return {}
    return {"hookSpecificOutput": {"hookEventName": said["hook_event_name"], "additionalContext": text}}


def _add_rules(options: ClaudeAgentOptions, rules: str) -> dict[str, Any]:
    """Return the options that have the rules behind the system prompt, whatever form that has."""
    prompt: Any = options.system_prompt
    if prompt is None or isinstance(prompt, str):
        return {"system_prompt": f"{prompt}\n\n{rules}" if prompt else rules}
    if prompt.get("type") == "preset":
        return {
            "system_prompt": {**prompt, "append": f"{prompt['append']}\n\n{rules}" if prompt.get("append") else rules}
        }
    if prompt.get("type") == "custom":
        return {"system_prompt": {**prompt, "prompt": f"{prompt['prompt']}\n\n{rules}"}}
    return {"extra_args": {**options.extra_args, "append-system-prompt": rules}}
