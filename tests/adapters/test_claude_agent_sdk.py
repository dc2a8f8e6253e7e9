"""Headway in agents of the Claude Agent SDK, with the real program that comes with it and a provider on loopback."""

# pyright: basic, reportMissingImports=false

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("claude_agent_sdk", reason="The Claude Agent SDK is not installed: make test-adapters")

from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, create_sdk_mcp_server, query, tool
from tests.adapters.examples import check_example
from tests.adapters.obligations import TASK, TOOLS, Obligations, Outcome, Tools, Turn, tidy, to_json
from tests.adapters.provider_server import Body, Provider, serve_provider

from headway import Session
from headway.adapters.claude_agent_sdk import PREFIX, with_headway


def to_texts(body: Body, folder: str) -> list[str]:
    """Return each block of each message as JSON, without the marks for the cache, which move.

    What the program says to the model in between depends on how long it worked without a word.
    """
    found: list[str] = []
    for message in body["messages"]:
        if message["role"] == "system":
            continue
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for block in blocks:
            block = {name: value for name, value in block.items() if name != "cache_control"}
            found.append(tidy(to_json([message["role"], block]).replace(folder, "FOLDER")))
    return found


def to_sdk_tool(name: str, function: Callable[..., Any]) -> Any:
    schema = {name: str for name in function.__annotations__ if name != "return"}

    @tool(name, name, schema)
    async def call(arguments: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": await function(**arguments)}]}

    return call


def make_options(folder: str, url: str, tools: Tools, **more: Any) -> ClaudeAgentOptions:
    server = create_sdk_mcp_server("own", tools=[to_sdk_tool(name, function) for name, function in tools.items()])
    env = {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "no-key",
        "CLAUDE_CONFIG_DIR": os.path.join(folder, "config"),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": "0",
        "DISABLE_AUTOUPDATER": "1",
        "IS_SANDBOX": "1",  # it may run as root
    }
    return ClaudeAgentOptions(
        cwd=folder,
        tools=[],
        permission_mode="bypassPermissions",
        setting_sources=[],
        system_prompt="Be brief.",
        mcp_servers={"own": {**server, "alwaysLoad": True}},
        env=env,
        **more,
    )


class TestClaudeAgentSDK(Obligations):
    raises_tool_errors = False

    async def drive(
        self,
        turns: list[Turn],
        session: Session | None,
        *,
        tools: Tools = TOOLS,
        task: str = TASK,
        gateway: bool = True,
        **options: Any,
    ) -> Outcome:
        def rename(name: str) -> str:
            return f"{PREFIX}{name}" if "todo" in name else f"mcp__own__{name}"

        def is_agent(body: Body) -> bool:
            return any(str(tool.get("name")).startswith("mcp__own__") for tool in body.get("tools", ()))

        error: BaseException | None = None
        with (
            tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
            serve_provider(Provider([*turns, Turn("kept")], is_agent, rename)) as provider,
        ):
            chosen = make_options(folder, provider.url, tools)
            if session is not None:
                chosen = with_headway(chosen, session, gateway=gateway, **options)
            try:
                messages = [message async for message in query(prompt=task, options=chosen)]
            except Exception as failure:
                error = failure
            requests = [to_texts(body, folder) for body in provider.bodies]
            if error is None:  # what is kept is what a conversation goes on with
                result = next(message for message in messages if isinstance(message, ResultMessage))
                plain = make_options(folder, provider.url, tools, resume=result.session_id)
                messages = [message async for message in query(prompt="?", options=plain)]
                return Outcome(requests, to_texts(provider.bodies[-1], folder))
        return Outcome(requests, [], error)

    def test_the_example_of_the_page_runs(self, tmp_path: Path) -> None:
        check_example("Claude Agent SDK", tmp_path, rename=lambda name: PREFIX + name)
