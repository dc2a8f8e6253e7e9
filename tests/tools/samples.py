"""Tools of every effect for the tests of what runs them, and a person who answers what they are asked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from headway.tools import Answer, Context, Effect, Executor, Question, Tool, ToolInput, ToolResult, tool
from headway.tools.approvals import Approvals, Ask, Reply
from headway.tools.base import Preview

ONCE, ALWAYS, NO = Answer(Reply.ONCE), Answer(Reply.ALWAYS), Answer(Reply.NO)


class Call(ToolInput):
    subject: str = "here"


class Marking(Tool[Call]):
    """Does nothing but say that it ran."""

    description = "Marks."
    input = Call

    def __init__(self, effect: Effect, name: str = "marking", *, aliases: tuple[str, ...] = ()) -> None:
        self.name = name
        self.effect = effect
        self.aliases = aliases
        self.ran: list[str] = []

    async def run(self, call: Call, context: Context) -> ToolResult:
        self.ran.append(call.subject)
        return ToolResult(f"ran on {call.subject}")

    def edits_project(self, call: Call) -> bool:
        return self.effect is Effect.WRITE

    def subject(self, call: Call) -> str:
        return call.subject

    def host(self, call: Call) -> str | None:
        return call.subject if self.effect is Effect.NETWORK else None

    async def preview(self, call: Call, context: Context) -> Preview:
        return Preview(f"Mark {call.subject}", path=call.subject, diff="+ mark", command="mark", host=self.host(call))


class Person:
    """Answers in turn, the last answer for ever; remembers the questions."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.questions: list[Question] = []

    async def __call__(self, question: Question) -> Answer:
        self.questions.append(question)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def executor(tmp_path: Path, *tools: Any, session: Any = None, limits: Any = None, **approvals: Any) -> Executor:
    return Executor(tools, session, project=tmp_path, approvals=Approvals(**approvals), limits=limits)


def yolo(tmp_path: Path, *tools: Any, limits: Any = None) -> Executor:
    return executor(tmp_path, *tools, limits=limits, mode="yolo")


def reading(function: Callable[..., object], **options: Any) -> Any:
    """The function as a tool that needs no approval."""
    return tool(effect="read", **options)(function)


def asker(person: Person) -> Ask:
    return person
