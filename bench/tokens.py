"""What keeping a list costs a model: the tokens of its calls and of their results, and the recap it is shown.

The list is gone through one item at a time. Tokens are those of o200k.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from pathlib import Path

import headway
from headway.planner.config import BlockName, TodoToolsName
from headway.tools import Executor
from headway.tools.todos import make_todo_tools
from headway.views.prompt_block import render_block

from .environments import answer_of, python_of
from .measure import Measured, Row
from .others.work import ITEMS

IDS = [f"t{number}" for number in range(1, len(ITEMS) + 1)]
Calls = Iterable[tuple[str, dict[str, object]]]


def light() -> Calls:
    yield "create_todo_list", {"items": [{"description": text} for text in ITEMS]}
    for todo_id in IDS:
        yield "todo", {"done": [todo_id]}


def full() -> Calls:
    """The list as it is begun, and again with each item that is finished."""
    for place in range(len(ITEMS) + 1):
        statuses = ["completed"] * place + ["in_progress"] + ["pending"] * len(ITEMS)
        todos = [
            {"content": text, "activeForm": _doing(text), "status": status}
            for text, status in zip(ITEMS, statuses, strict=False)
        ]
        yield "TodoWrite", {"todos": todos}


def _doing(text: str) -> str:
    """`Read the test` → `Reading the test`."""
    verb, _, rest = text.partition(" ")
    stem = "Runn" if verb == "Run" else verb.removesuffix("e")
    return f"{stem}ing {rest}"


async def _texts(folder: Path, kind: TodoToolsName, calls: Calls) -> list[str]:
    """Arguments, written as short as JSON can be, and results."""
    session = headway.open(memory=True)
    executor = Executor(make_todo_tools(kind), session, project=folder)
    texts: list[str] = []
    for name, arguments in calls:
        sent = json.dumps(arguments, separators=(",", ":"))
        result = await executor.call(name, sent)
        assert result.ok, result.text
        texts += [sent, result.text]
    assert [todo.status for todo in session.todos] == ["completed"] * len(ITEMS)
    return texts


def _tokens(texts: list[str]) -> int:
    return answer_of(python_of("tokens"), "count_tokens", given=texts)


def _light_tokens(folder: Path) -> int:
    return _tokens(asyncio.run(_texts(folder, "light", light())))


def beside_full(folder: Path) -> Measured:
    return Measured(_light_tokens(folder), _tokens(asyncio.run(_texts(folder, "full", full()))))


def beside_langchain(folder: Path) -> Measured:
    texts = answer_of(python_of("langchain"), "langchain_agent", "list")
    return Measured(_light_tokens(folder), _tokens(texts))


def _injected(block: BlockName) -> tuple[list[str], list[str]]:
    """What each request is shown while the list is worked through one item at a time; and calls and answers."""
    session = headway.open(memory=True)
    shown: list[str] = []
    texts: list[str] = []
    with session.planner(block=block).run("Work through the list") as run:
        for number, (name, arguments) in enumerate(light()):
            shown.append(run.context())
            if number:
                run.tool_started(f"c{number}", "bash", {"command": "pytest -q"})
                run.tool_finished(f"c{number}", exit_code=0, text=f"{number} passed")
            sent = json.dumps(arguments, separators=(",", ":"))
            texts += [sent, run.call(name, sent).text]
        shown.append(run.context())
    return shown, texts


def injected(folder: Path) -> Measured:
    return Measured(_tokens(_injected("auto")[0]), _tokens(_injected("full")[0]))


def whole_work(folder: Path) -> Measured:
    """What is injected, and calls and answers of the light tools."""
    shown, texts = _injected("auto")
    return Measured(_tokens(shown + texts))


def longest_recap(folder: Path) -> Measured:
    """Over the states of going through the list, also with blocked and cancelled items at its end."""
    lengths: list[int] = []
    for others in ({}, dict(zip(IDS[-4:], ["blocked", "cancelled"] * 2, strict=True))):
        session = headway.open(memory=True)
        session.write([{"id": key, "content": text} for key, text in zip(IDS, ITEMS, strict=True)])
        for todo_id, status in others.items():
            session.update(todo_id, status=status)
        for todo_id in IDS:
            lengths.append(len(render_block(session.todos, round=1, max_rounds=50, recap=True)))
            if todo_id not in others:
                session.advance(done=[todo_id])
        lengths.append(len(render_block(session.todos, round=1, max_rounds=50, recap=True)))
    return Measured(max(lengths))


ROWS = [
    Row("tokens, 20 items, light and full", "TodoWrite for each step", 1000, beside_full, "tokens", in_unit=True),
    Row(
        "tokens, 20 items, light and LangChain",
        "write_todos for each step",
        1000,
        beside_langchain,
        "tokens",
        in_unit=True,
    ),
    Row("tokens, 20 items, the list in all requests", "block=full", 2_500, injected, "tokens", in_unit=True),
    Row("tokens, 20 items, the list, calls and answers", "", 3_500, whole_work, "tokens"),
    Row("characters, 20 items, longest recap", "", 200, longest_recap, "chars"),
]
