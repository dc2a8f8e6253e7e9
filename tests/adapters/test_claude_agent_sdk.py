"""Headway in agents of the Claude Agent SDK, with the real program that comes with it and a provider on loopback."""

# pyright: basic, reportMissingImports=false

from __future__ import annotations

import os
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("claude_agent_sdk", reason="The Claude Agent SDK is not installed: make test-adapters")

from claude_agent_sdk import ClaudeAgentOptions, HookMatcher, ResultMessage, create_sdk_mcp_server, query, tool
from tests.adapters.examples import check_example
from tests.adapters.obligations import (
    ITEMS,
    TASK,
    TOOLS,
    Obligations,
    Outcome,
    Tools,
    Turn,
    create,
    done,
    list_calls,
    own,
    tidy,
    to_json,
)
from tests.adapters.provider_server import Body, Provider, serve_provider

import headway
from headway import Session
from headway.adapters.claude_agent_sdk import PREFIX, with_headway
from headway.adapters.claude_gateway import ClaudeGateway


def to_texts(body: Body, folder: str, *, hears_hooks: bool = False) -> list[str]:
    """Return each block of each message as JSON, without the marks for the cache, which move.

    What the program says to the model in between depends on how long it worked without a word.
    """
    found: list[str] = []
    for message in body["messages"]:
        if message["role"] == "system" and not hears_hooks:
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


def make_options(
    folder: str, url: str, tools: Tools, *, builtin: Sequence[str] = (), **more: Any
) -> ClaudeAgentOptions:
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
        tools=list(builtin),
        permission_mode="bypassPermissions",
        setting_sources=[],
        system_prompt="Be brief.",
        mcp_servers={"own": {**server, "alwaysLoad": True}},
        env=env,
        **more,
    )


def wait_until_empty(things: Sequence[object]) -> None:
    deadline = time.monotonic() + 60
    while things:
        assert time.monotonic() < deadline
        time.sleep(0.02)


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
        hooks: Any = None,
        builtin: Sequence[str] = (),
        others: list[Turn] | None = None,
        **options: Any,
    ) -> Outcome:
        def rename(name: str) -> str:
            return name if name in builtin else f"{PREFIX}{name}" if "todo" in name else f"mcp__own__{name}"

        def is_agent(body: Body) -> bool:
            named = any(str(tool.get("name")).startswith("mcp__own__") for tool in body.get("tools", ()))
            return named and task in to_json(body["messages"])

        error: BaseException | None = None
        with (
            tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
            serve_provider(Provider([*turns, Turn("kept")], is_agent, rename, others or [])) as provider,
        ):
            chosen = make_options(folder, provider.url, tools, hooks=hooks, builtin=builtin)
            if session is not None:
                chosen = with_headway(chosen, session, gateway=gateway, **options)
            try:
                messages = [message async for message in query(prompt=task, options=chosen)]
            except Exception as failure:
                error = failure
            requests = [to_texts(body, folder, hears_hooks=not gateway) for body in provider.bodies]
            if error is None:  # what is kept is what a conversation goes on with
                result = next(message for message in messages if isinstance(message, ResultMessage))
                plain = make_options(folder, provider.url, tools, resume=result.session_id)
                messages = [message async for message in query(prompt="?", options=plain)]
                return Outcome(requests, to_texts(provider.bodies[-1], folder))
        return Outcome(requests, [], error)

    async def test_without_a_gateway_too_a_person_stops_the_run(self) -> None:
        session = headway.open(memory=True)
        turns = [create(*ITEMS), own("read", path="a.py"), own("read", path="b.py"), Turn("Done.")]
        turns[1].before = session.stop_run
        outcome = await self.drive(turns, session, gateway=False)
        assert len(outcome.requests) == 2
        assert [(run.is_active, run.reason) for run in session.state.runs.values()] == [(False, "cancelled")]

    async def test_without_a_gateway_the_list_is_added_where_it_has_changed(self) -> None:
        session = headway.open(memory=True)
        reads = [own("read", path=f"{number}.py") for number in range(3)]
        turns = [create(*ITEMS), *reads, done("t1"), done("t2", "t3"), Turn("Done.")]
        outcome = await self.drive(turns, session, gateway=False)
        assert [todo.status for todo in session.todos] == ["completed"] * 3
        told = [message.count("<todo-list>") + message.count("todo-list") > 0 for message in outcome.requests[-1]]
        assert 2 <= sum(told) <= 4

    async def test_a_call_that_the_users_hook_denies_is_recorded_and_the_run_goes_on(self) -> None:
        session = headway.open(memory=True)

        async def deny(said: Any, call_id: str | None, context: Any) -> Any:
            if not said["tool_name"].endswith("bash"):
                return {}
            decision = {"permissionDecision": "deny", "permissionDecisionReason": "Not here."}
            return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **decision}}

        turns = [create(*ITEMS), own("bash", command="rm -r x"), done("t1", "t2", "t3"), Turn("Done.")]
        outcome = await self.drive(turns, session, hooks={"PreToolUse": [HookMatcher(hooks=[deny])]})
        assert outcome.error is None
        assert [(call.ok, call.denied) for call in list_calls(session)] == [(False, True)]

    async def test_a_sub_agent_of_claude_code_cannot_change_the_list(self) -> None:
        session = headway.open(memory=True)
        ask = {"description": "Count", "prompt": "Count.", "subagent_type": "general-purpose"}
        tried = [create("Mine"), Turn("It is 7.")]
        last = done("t1", "t2", "t3")
        last.before = partial(wait_until_empty, tried)  # the sub-agent works in the background
        turns = [create(*ITEMS), Turn(calls=[("Agent", ask)]), last, *(Turn("Done.") for _ in range(4))]
        await self.drive(turns, session, builtin=["Agent"], others=tried)
        assert tried == []
        assert [todo.content for todo in session.todos] == ITEMS

    def test_the_gateway_answers_nothing_without_its_secret(self) -> None:
        with serve_provider(Provider([Turn("Hello.")])) as provider:
            gateway = ClaudeGateway(provider.url, PREFIX, lambda: "the list", lambda: None)
            try:
                place = gateway.url.rpartition("/")[0]
                for address, status in ((f"{place}/v1/messages", 404), (f"{place}/{'x' * 22}/v1/messages", 404)):
                    with pytest.raises(urllib.error.HTTPError) as refused:
                        urllib.request.urlopen(address, data=b"{}", timeout=30)
                    refused.value.close()
                    assert refused.value.code == status
                body = to_json({"messages": [{"role": "user", "content": "Hi"}], "tools": [{"name": f"{PREFIX}todo"}]})
                with urllib.request.urlopen(f"{gateway.url}/v1/messages", data=body.encode(), timeout=30) as answer:
                    assert b"Hello." in answer.read()
            finally:
                gateway.close()
        assert [block["text"] for block in provider.bodies[0]["messages"][0]["content"]] == ["Hi", "the list"]

    def test_the_example_of_the_page_runs(self, tmp_path: Path) -> None:
        check_example("Claude Agent SDK", tmp_path, rename=lambda name: PREFIX + name)
