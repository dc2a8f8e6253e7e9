"""Run by an ordinary user, since root gets no sandbox: tool calls, or an execution, as standard input has them."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import headway
from headway.core.run_events import ToolFinished
from headway.tools import Answer, Approvals, Executor, Question, builtin_tools
from headway.tools.sandbox.sandbox import open_sandbox


async def main(wanted: dict[str, Any]) -> dict[str, Any]:
    sandbox = open_sandbox("on", wanted.get("read", ()), wanted.get("own", ()))
    questions: list[str] = []

    async def ask(question: Question) -> Answer:
        questions.append(question.tool)
        return Answer(wanted["answer"])

    person = ask if "answer" in wanted else None
    approvals = Approvals(person, mode=wanted.get("mode", "default"), has_sandbox=True)
    folder = wanted["folder"]
    if "turns" in wanted:
        from headway.execute import execute_all
        from headway.testing import ScriptedModel

        session = headway.open(project=folder)
        session.write(wanted["todos"])
        result = await execute_all(
            session,
            model=ScriptedModel(wanted["turns"]),
            approvals=approvals,
            tools=lambda where: builtin_tools(where, sandbox=sandbox),
            sandbox=sandbox,
            project=folder,
        )
        texts = [event.data.text for event in session.events() if isinstance(event.data, ToolFinished)]
        return {"outcome": str(result.outcome), "results": texts}
    session = headway.open(project=folder, memory=wanted.get("memory", False))
    executor = Executor(builtin_tools(folder, sandbox=sandbox), session, approvals=approvals)
    results: list[tuple[str, int | None]] = []
    for tool, arguments in wanted["calls"]:
        try:
            async with asyncio.timeout(wanted.get("seconds", 60)):
                result = await executor.call(tool, arguments)
            results.append((result.text, result.exit_code))
        except TimeoutError:
            results.append(("cancelled", None))
    return {"results": results, "questions": questions}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(json.load(sys.stdin)))))
