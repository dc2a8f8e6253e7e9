"""The judge: whether an item that looks done is done. A separate short question to the model, which decides.

Asked at most once a round, and only about an item that tracking proposes. Its reason becomes the item's note.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic_ai.messages import (
    InstructionPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters

from headway.agent.definitions import tool_definitions
from headway.core.errors import HeadwayError
from headway.core.model import JUDGE, Status, Todo
from headway.core.run_events import TodoEvaluationCompleted, TodoEvaluationStarted, ToolFinished
from headway.core.text import sanitize_for_display
from headway.core.tracking import Policy, can_tracker_set, is_proposed, list_overtaken
from headway.tools.base import ToolFault
from headway.tools.todos import UpdateTodoItem
from headway.views.prompt_block import escape_for_prompt

if TYPE_CHECKING:
    from headway.core.model import State
    from headway.core.todo_fields import TodoChanges
    from headway.planner.recorder import Recorder

MAX_TOKENS = 500
_MOST_CALLS = 12
Ask = Callable[[list[ModelMessage], ModelRequestParameters, int], Awaitable[ModelResponse]]
"""Asks the model, with at most so many tokens for the answer."""


class Judge:
    def __init__(self, recorder: Recorder, policy: Policy, ask: Ask) -> None:
        self._recorder = recorder
        self._policy = policy
        self._ask = ask
        self._calls: dict[str, list[ToolFinished]] = {}
        self._asked: dict[str, int] = {}
        """item → successful calls when the judge was last asked about it."""

    def note_calls(self, calls: list[ToolFinished]) -> None:
        for call in calls:
            if call.item_id is not None:
                self._calls.setdefault(call.item_id, []).append(call)
                del self._calls[call.item_id][:-_MOST_CALLS]

    async def evaluate(self, state: State, agent: str, round: int) -> None:
        """Ask about the item that is proposed, if there is one."""
        todo = self._find_proposed(state, agent)
        if todo is None:
            return
        self._recorder.record(TodoEvaluationStarted(item_id=todo.id, round=round))
        try:
            verdict = self._find_verdict(todo, await self._ask(*self._build_question(todo), MAX_TOKENS))
            status = self._apply(todo, verdict)
        except HeadwayError as error:  # what cannot be judged stays as it is
            self._recorder.record(
                TodoEvaluationCompleted(
                    item_id=todo.id, round=round, status=None, reason=sanitize_for_display(str(error), 300)
                )
            )
            return
        reason = sanitize_for_display(
            self._recorder.redact(verdict.get("notes") or "") if verdict else "The model gave no decision.", 500
        )
        self._recorder.record(TodoEvaluationCompleted(item_id=todo.id, round=round, status=status, reason=reason))

    def _find_proposed(self, state: State, agent: str) -> Todo | None:
        todos, run = state.list_of(agent), state.runs[agent]
        if not todos.kept_by_loop or state.is_planning(agent):
            return None
        late = list_overtaken(todos.items, run)
        looks_done = [
            todo
            for todo_id, track in run.tracks.items()
            if (todo := todos.items.get(todo_id))
            and can_tracker_set(todo, run)
            and is_proposed(todo, run, self._policy)
            and track.successes >= self._asked.get(todo_id, 0) + self._policy.complete_after
        ]
        found = next(iter([todo for todo in late if todo.id not in self._asked] + looks_done), None)
        if found is not None:
            track = run.tracks.get(found.id)
            self._asked[found.id] = track.successes if track else 0
        return found

    def _build_question(self, todo: Todo) -> tuple[list[ModelMessage], ModelRequestParameters]:
        calls = self._calls.get(todo.id, [])
        lines = [_format_call(call, self._recorder.redact) for call in calls]
        text = "\n".join(
            [
                f"Item {escape_for_prompt(todo.id, 40)}: {escape_for_prompt(todo.content, 500)}",
                "",
                "Its latest calls:",
                *(lines or ["- none"]),
            ]
        )
        question = Path(__file__).with_name("judge.md").read_text(encoding="utf-8").strip()
        parameters = ModelRequestParameters(
            function_tools=tool_definitions([UpdateTodoItem()]),
            instruction_parts=[InstructionPart(content=question)],
        )
        return [ModelRequest([UserPromptPart(text)])], parameters

    @staticmethod
    def _find_verdict(todo: Todo, answer: ModelResponse) -> dict[str, Any] | None:
        """Return the first call that is about the item."""
        tool = UpdateTodoItem()
        for part in answer.parts:
            if isinstance(part, ToolCallPart) and part.tool_name == tool.name:
                try:
                    call = tool.parse_input(part.args).sent
                except ToolFault:
                    continue
                if call["item_id"].strip() == todo.id:
                    return call
        return None

    def _apply(self, todo: Todo, verdict: dict[str, Any] | None) -> str | None:
        """What the item was set to. Someone may have changed it meanwhile: then it stays as it is."""
        session = self._recorder.session
        now = session.todo_list.items.get(todo.id)
        run = session.run
        if verdict is None or now is None or now.status is not Status.IN_PROGRESS:
            return None
        if run is not None and now.id in run.set_by_user:
            return None
        fields: TodoChanges = {"status": verdict["status"]}
        if (notes := verdict.get("notes")) and notes.strip():
            fields["notes"] = self._recorder.redact(notes)
        session.update(todo.id, actor=JUDGE, **fields)
        return verdict["status"]


def _format_call(call: ToolFinished, redacted: Callable[[str], str]) -> str:
    """Return a call with the end of what it gave: results stand there."""
    outcome = "ok" if call.succeeded else "failed"
    return (
        f"- {sanitize_for_display(call.tool)}: {outcome}: {escape_for_prompt(redacted(call.text).strip()[-200:], 200)}"
    )
