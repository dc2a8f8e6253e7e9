"""LangChain's agent with its todo list, on the work of `work.py`. It keeps everything in memory.

`loop` prints the time per round; `list` the arguments and results of the calls that go through the list once.
"""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator

from langchain.agents import create_agent
from langchain.agents.middleware import TodoListMiddleware
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.tools import tool

from .work import ITEMS, ROUNDS, figures, position


class Scripted(GenericFakeChatModel):
    def bind_tools(self, tools: object, **options: object) -> Scripted:
        return self


@tool
def look(path: str) -> str:
    """Look at a file."""
    return f"Nothing new in {path}."


def todos(place: int) -> dict[str, object]:
    """The whole list when the model is at that item; all completed when it is past the last."""
    statuses = ["completed"] * place + ["in_progress"] + ["pending"] * len(ITEMS)
    return {"todos": [{"content": text, "status": status} for text, status in zip(ITEMS, statuses, strict=False)]}


def calling(number: int, name: str, arguments: dict[str, object]) -> AIMessage:
    return AIMessage(content="", tool_calls=[{"name": name, "args": arguments, "id": f"call-{number}"}])


def run(answers: Iterator[AIMessage]) -> list[BaseMessage]:
    agent = create_agent(Scripted(messages=answers), [look], middleware=[TodoListMiddleware()])
    return agent.invoke({"messages": [{"role": "user", "content": "go"}]}, {"recursion_limit": 100_000})["messages"]


def loop() -> dict[str, float]:
    asked_at: list[float] = []

    def answers() -> Iterator[AIMessage]:
        for number in range(ROUNDS):
            asked_at.append(time.perf_counter())
            place = position(number)
            if place is None:
                yield calling(number, "look", {"path": f"src/module_{number}.py"})
            else:
                yield calling(number, "write_todos", todos(place))
        asked_at.append(time.perf_counter())
        yield AIMessage(content="Done.")

    run(answers())
    return figures(asked_at)


def one_by_one() -> list[str]:
    calls = [calling(place, "write_todos", todos(place)) for place in range(len(ITEMS) + 1)]
    results = [
        message for message in run(iter([*calls, AIMessage(content="Done.")])) if isinstance(message, ToolMessage)
    ]
    assert len(results) == len(calls) and all(result.status == "success" for result in results)
    sent = [json.dumps(call.tool_calls[0]["args"], separators=(",", ":")) for call in calls]
    return [*sent, *(str(result.content) for result in results)]


if __name__ == "__main__":
    print(json.dumps({"loop": loop, "list": one_by_one}[sys.argv[1]]()))
