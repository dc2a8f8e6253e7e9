"""The server: requests of the protocol become calls of `tools.py`, changes of the list become notifications.

On the SDK's `Server`, which takes schemas and answers as they are and speaks both generations of the protocol. Whatever
a client sends, the answer is an error in words, and the server lives on.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from anyio.to_thread import run_sync
from mcp import types
from mcp.server import NotificationOptions, Server, ServerRequestContext
from mcp.server.connection import Connection
from mcp.server.context import CallNext, HandlerResult
from mcp.server.session import ServerSession
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated, ServerEvent
from mcp.shared.exceptions import MCPError

import headway
from headway.core.errors import HeadwayError
from headway.core.json_text import to_json_text
from headway.core.logs import logger
from headway.core.plan_markdown import plan_to_markdown
from headway.mcp.agents import CallingAgent, SessionFinder
from headway.mcp.lenient_stream import LenientStream
from headway.mcp.tools import TOOLS, ServedTool, call_tool, to_record

NAME = "headway"
TODOS, PLAN, RECAP = "headway://todos", "headway://plan", "headway://recap"
PROMPT = "work_with_todos"
_LOOK_EVERY = 0.2
"""Seconds between looks for changes, while a client has subscribed to them."""
_ROOTS_WITHIN = 5.0
"""Seconds that a client has to name its roots."""
_ROOTS = "roots"
Context = ServerRequestContext[Any, Any]


def _read_text(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8").strip()


_RESOURCES = (
    types.Resource(
        uri=TODOS, name="todos", title="Todo list", mime_type="application/json", description="All todos, as JSON."
    ),
    types.Resource(uri=PLAN, name="plan", title="Plan", mime_type="text/markdown", description="The plan, if any."),
    types.Resource(
        uri=RECAP, name="recap", title="Recap", mime_type="text/plain", description="The todo list in one line."
    ),
)


class _WatchedBus(InMemorySubscriptionBus):
    """Says when the first client begins to listen."""

    def __init__(self, begin: Callable[[], None]) -> None:
        super().__init__()
        self._begin = begin
        self.listening = 0

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        end = super().subscribe(listener)
        self.listening += 1
        self._begin()

        def unsubscribe() -> None:
            nonlocal end
            self.listening -= 1
            end()
            end = lambda: None  # noqa: E731

        return unsubscribe


class TodoServer:
    """Serves one project's list: to one client, or `shared` by several, each with a connection of its own or none."""

    def __init__(self, finder: SessionFinder, tools: Sequence[ServedTool] = TOOLS, *, shared: bool = False) -> None:
        self._finder = finder
        self._tools = {tool.name: tool for tool in tools}
        self._shared = shared
        self._agent: CallingAgent | None = None
        self._in_turn = anyio.Lock()
        self._bus = _WatchedBus(self._wake)
        self._subscribed: dict[str, dict[Connection, ServerSession]] = {}
        self._woken = anyio.Event()
        self.sdk: Server[Any] = Server(
            NAME,
            version=headway.__version__,
            title="Headway",
            instructions=_read_text("instructions.md" if tools is TOOLS else "dialect.md"),
            lifespan=self._watch_while_served,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_read_resource=self._read_resource,
            on_subscribe_resource=self._subscribe,
            on_unsubscribe_resource=self._unsubscribe,
            on_subscriptions_listen=ListenHandler(self._bus),
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._get_prompt,
        )
        self.sdk.middleware.append(_refuse_arguments)

    async def run_stdio(self) -> None:
        """Serve one client until it closes the connection."""
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self._stop, 128 + signal.SIGTERM)
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, self._stop, 128 + signal.SIGINT)
        options = self.sdk.create_initialization_options(NotificationOptions(resources_changed=False))
        try:
            async with stdio_server() as (received, sent):
                await self.sdk.run(LenientStream(received, sent), sent, options)
        finally:
            self._release()

    def _stop(self, code: int) -> None:
        """End at once: whoever sends a signal does not close the connection, and a thread reads from it."""
        self._release()
        os._exit(code)

    def _release(self) -> None:
        if self._agent is not None:
            self._agent.release_started()

    # tools

    async def _list_tools(self, context: Context, params: object) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_describe_tool(tool) for tool in self._tools.values()])

    async def _call_tool(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        if needed := await self._settle_project(context, params):
            return needed
        agent = self._meet_agent(context)
        try:
            async with self._in_turn:
                answer = await run_sync(call_tool, self._tools, agent, params.name, params.arguments or {})
        except HeadwayError as error:
            return _to_error(str(error))
        except Exception:
            logger().exception("A call of the MCP tool %r failed:", params.name)
            return _to_error(f"{params.name} failed unexpectedly; read the list before you try again.")
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=answer.text)],
            structured_content=answer.data if self._tools[params.name].output else None,
        )

    def _meet_agent(self, context: Context) -> CallingAgent:
        client = context.session.client_params
        name = client.client_info.name if client else ""
        if not self._shared:
            self._agent = self._agent or CallingAgent(self._finder, name)
            return self._agent
        connection = _get_connection(context)
        if connection.session_id is None:
            return CallingAgent(self._finder, name, connected=False)
        agent = connection.state.get(NAME)
        if agent is None:
            agent = connection.state[NAME] = CallingAgent(self._finder, name)
            connection.exit_stack.push_async_callback(run_sync, agent.release_started)
        return agent

    async def _settle_project(
        self, context: Context, params: types.CallToolRequestParams | None = None
    ) -> types.InputRequiredResult | None:
        """Ask the client for its roots, once, where they decide; by now the only question to it."""
        capabilities = context.session.client_capabilities
        if not self._finder.needs_roots or capabilities is None or capabilities.roots is None:
            return None
        if context.session.can_send_request:
            async with self._in_turn:
                if self._finder.needs_roots:
                    await run_sync(self._finder.use_roots, await _ask_roots(context.session))
            return None
        answer = (params.input_responses or {}).get(_ROOTS) if params else None
        if params is not None and answer is None:
            return types.InputRequiredResult(input_requests={_ROOTS: types.ListRootsRequest()})
        if isinstance(answer, types.ListRootsResult):
            await run_sync(self._finder.use_roots, [str(root.uri) for root in answer.roots])
        return None

    # resources

    async def _list_resources(self, context: Context, params: object) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=[*_RESOURCES])

    async def _read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        kinds = {str(resource.uri): resource.mime_type for resource in _RESOURCES}
        uri = str(params.uri)
        if uri not in kinds:
            raise MCPError(types.INVALID_PARAMS, f"There is no resource {uri!r}; there are {', '.join(kinds)}.")
        await self._settle_project(context)
        try:
            text = await run_sync(self._render, uri)
        except HeadwayError as error:
            raise MCPError(types.INTERNAL_ERROR, str(error)) from None
        contents = types.TextResourceContents(uri=uri, mime_type=kinds[uri], text=text)
        return types.ReadResourceResult(contents=[contents])

    def _render(self, uri: str) -> str:
        session = self._finder.open()
        if uri == RECAP:
            return session.recap()
        if uri == PLAN:
            plan = session.plan
            return "There is no plan.\n" if plan is None else plan_to_markdown(plan)
        todos = session.todo_list
        return to_json_text({"title": todos.title, "todos": [to_record(todo) for todo in todos.items.values()]})

    async def _subscribe(self, context: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        await self._settle_project(context)
        connection = _get_connection(context)
        subscribers = self._subscribed.setdefault(str(params.uri), {})
        subscribers[connection] = context.session
        connection.exit_stack.callback(subscribers.pop, connection, None)
        self._wake()
        return types.EmptyResult()

    async def _unsubscribe(self, context: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        self._subscribed.get(str(params.uri), {}).pop(_get_connection(context), None)
        return types.EmptyResult()

    # changes

    def _wake(self) -> None:
        self._woken.set()

    @asynccontextmanager
    async def _watch_while_served(self, sdk: Server[Any]) -> AsyncGenerator[dict[str, Any]]:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch)
            yield {}
            tasks.cancel_scope.cancel()

    async def _watch(self) -> None:
        """Tell whoever subscribed what changed, whoever changed it."""
        known: dict[str, object] = {}
        while True:
            if not (self._bus.listening or any(self._subscribed.values())):
                known = {}
                self._woken = anyio.Event()
                await self._woken.wait()
            try:
                marks = await run_sync(self._read_marks)
            except HeadwayError:  # busy or gone; the next look finds it
                marks = known
            for uri, mark in marks.items():
                if known and known.get(uri) != mark:
                    await self._tell_changed(uri)
            known = marks
            await anyio.sleep(_LOOK_EVERY)

    def _read_marks(self) -> dict[str, object]:
        """Return for each resource something that is different once it has changed."""
        session = self._finder.open()
        state = session.state
        todos = session.name, state.list_of(session.agent_id).changed_in
        return {TODOS: todos, RECAP: todos, PLAN: (session.name, state.plan)}

    async def _tell_changed(self, uri: str) -> None:
        await self._bus.publish(ResourceUpdated(uri=uri))
        for connection, session in list(self._subscribed.get(uri, {}).items()):
            try:
                await session.send_resource_updated(uri)
            except (anyio.ClosedResourceError, anyio.BrokenResourceError, MCPError):
                self._subscribed[uri].pop(connection, None)

    # the prompt

    async def _list_prompts(self, context: Context, params: object) -> types.ListPromptsResult:
        task = types.PromptArgument(name="task", description="What is to be done; without it, go on with the list.")
        about = "Plan a task, keep the todo list while working on it, and say what came of it."
        if "todo_write" not in self._tools or "todo_read" not in self._tools:  # it speaks of these
            return types.ListPromptsResult(prompts=[])
        prompt = types.Prompt(name=PROMPT, title="Work with the todo list", description=about, arguments=[task])
        return types.ListPromptsResult(prompts=[prompt])

    async def _get_prompt(self, context: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        if params.name != PROMPT:
            raise MCPError(types.INVALID_PARAMS, f"There is no prompt {params.name!r}; there is {PROMPT}.")
        task = (params.arguments or {}).get("task", "").strip()
        text = f"{_read_text('prompt.md')}\n\n{f'The task: {task}' if task else 'Go on with what is open.'}"
        message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))
        return types.GetPromptResult(messages=[message])


def _get_connection(context: Context) -> Connection:
    """Return what a client's requests have in common; the SDK means handlers to push their cleanup there."""
    return context.session._connection  # pyright: ignore[reportPrivateUsage]


async def _refuse_arguments(ctx: Context, call_next: CallNext) -> HandlerResult:
    """Answer arguments that are no object in words, as a tool would; the protocol's own error is for programs."""
    params = ctx.params
    if ctx.method == "tools/call" and params and not isinstance(params.get("arguments") or {}, dict):
        return _to_error(f"{params.get('name')} was not run: send its arguments as one JSON object.")
    return await call_next(ctx)


async def _ask_roots(session: ServerSession) -> list[str]:
    request = types.ListRootsRequest()
    try:
        found = await session.send_request(request, types.ListRootsResult, request_read_timeout_seconds=_ROOTS_WITHIN)
    except (MCPError, ValueError):  # it says that it has roots, and does not tell them
        return []
    return [str(root.uri) for root in found.roots]


def _describe_tool(tool: ServedTool) -> types.Tool:
    annotations = types.ToolAnnotations(
        read_only_hint=tool.reads_only,
        destructive_hint=tool.destroys,
        idempotent_hint=tool.is_idempotent or tool.reads_only,
        open_world_hint=False,
    )
    return types.Tool(
        name=tool.name,
        title=tool.title or None,
        description=tool.description,
        input_schema=tool.input,
        output_schema=tool.output or None,
        annotations=annotations,
    )


def _to_error(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=True)


def serve_stdio(finder: SessionFinder, tools: Sequence[ServedTool] = TOOLS) -> None:
    """Serve one client on standard input and output, until it closes them."""
    anyio.run(TodoServer(finder, tools).run_stdio)
