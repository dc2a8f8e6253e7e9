"""`create_plan`: a plan becomes the session's, or every fault of it is named. The rules are those of the core.

Every answer is one JSON object: `{"success": …, "message": …, "data": …}`.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field

from headway.core.errors import HeadwayError, InvalidPlan
from headway.core.json_text import BadJson, parse_json
from headway.core.model import MODEL
from headway.tools.base import Context, Tool, ToolFault, ToolInput, ToolResult, build_schema, read_description
from headway.tools.effects import Effect

if TYPE_CHECKING:
    from headway.core.plans import Plan

NAME = "create_plan"


class Step(ToolInput):
    id: str = Field(description="Id such as step-1.")
    description: str = Field(description="What to do, in the imperative.")
    module: str | None = None
    dependencies: list[str] | None = Field(None, description="Ids of steps that must be completed first.")
    risks: list[str] | None = None
    estimatedTime: str | None = Field(None, description="Estimate such as 45min or 2h.")
    verify: str | None = Field(
        None, description="A command that fails until the step is done, such as pytest -q tests/test_dates.py."
    )


class PlanInput(ToolInput):
    """What a model is told of the input."""

    title: str
    overview: str = Field(description="The goal, your findings and the approach.")
    steps: list[Step] = Field(min_length=1)
    risks: list[str] | None = None
    testingStrategy: str | None = None
    estimatedDuration: str | None = None


class Call(BaseModel):
    sent: Any
    """Anything: the core finds every fault itself, and names it in its own words."""


class CreatePlan(Tool[Call]):
    name = NAME
    description = read_description(__file__)
    input = Call
    effect = Effect.PLAN

    def parameters(self) -> dict[str, Any]:
        return build_schema(PlanInput)

    def parse_input(self, arguments: object) -> Call:
        if isinstance(arguments, str) and arguments.strip():
            try:
                return Call(sent=parse_json(arguments))
            except BadJson as error:
                raise ToolFault(
                    _format_answer(False, f"The arguments are not valid JSON ({error}); send one JSON object.")
                ) from None
        return Call(sent={} if arguments is None or isinstance(arguments, str) else arguments)

    async def run(self, call: Call, context: Context) -> ToolResult:
        if context.session is None:
            raise ToolFault(
                _format_answer(
                    False, "This run has no session to keep a plan in; write the plan as your answer instead."
                )
            )
        try:
            plan = await asyncio.to_thread(context.session.set_plan, call.sent, actor=MODEL)
        except InvalidPlan as error:
            message = f"The plan was not accepted. Correct every error and call {NAME} again."
            return ToolResult(_format_answer(False, message, {"faults": error.violations}), ok=False)
        except HeadwayError as error:
            return ToolResult(_format_answer(False, f"The plan was not saved: {error}"), ok=False)
        return ToolResult(
            _format_answer(True, _format_accepted(plan), {"title": plan.title, "steps": [s.id for s in plan.steps]})
        )


def _format_accepted(plan: Plan) -> str:
    number = len(plan.steps)
    return (
        f"This is now the session's plan ({number} step{'' if number == 1 else 's'}). The user sees it and "
        "continues with /plan to-todos (in a shell: headway plan to-todos); summarise it in a sentence or two, and "
        "stop."
    )


def _format_answer(success: bool, message: str, data: object = None) -> str:
    return json.dumps({"success": success, "message": message, "data": data}, ensure_ascii=False)
