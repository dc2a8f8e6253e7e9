"""What the model is shown and told about its list: the block, what a person changed, a reminder, and a line to go on.

All of it is rendered from the session at that moment. All but the last goes into the request only, so that what a
provider has cached stays valid; a nudge is a message of its own, as a question of the user's would be.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from headway.core.model import Status, Todo, TodoList
from headway.core.run_events import TodoListContextInjected
from headway.core.tracking import find_active_todo, is_done, is_ours
from headway.planner.config import Block, PlannerConfig, TodoTools
from headway.planner.edits import format_edits
from headway.views.prompt_block import TodoLineCache, escape_for_prompt, find_focus, render_block

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from headway.core.events import Event
    from headway.core.model import State
    from headway.core.runs import Run

_ANSWER = "(Every item is done. Answer the user now; call a tool only if something is still missing.)"
_HOW = {
    TodoTools.FULL: "TodoWrite or update_todo_item",
    TodoTools.LIGHT: "`todo`",
    TodoTools.PLAN: "write_todos",
}
_ALWAYS_WHOLE = 8
"""Items of a list that is always shown as a whole."""
_REMINDERS = 2
"""Of the same unchanged list; the second comes after twice as many rounds of work."""
_AFTER_QUESTION = " \t\r\n*_`\"'”’»)]）」』】"
_MOST_NAMED = 10


class ListInjector:
    """Of one run: what was shown, and how long the list has not changed."""

    def __init__(
        self,
        config: PlannerConfig,
        todos: TodoList,
        room: int,
        events: Callable[[int, int], Iterable[Event]],
        since: int,
        agent: str,
        worker: str | None = None,
    ) -> None:
        """`room`: bytes that the block may take; `events` reads the log after a version, up to another one; `since`:
        the version at which the model last knew the list; `agent`: whose list it is; `worker`: who shares it."""
        self._config = config
        self._agent = agent
        self._worker = worker
        self._room = room
        self._lines = TodoLineCache()
        self._events = events
        self._round: int = 0
        """The round of the request that was last made."""
        self._block_in = 0
        """The round in which the block was last shown."""
        self._whole_in: int | None = None
        """The round in which the whole list was last shown, where only its focus is otherwise."""
        self._told = self._seen = since
        """Version up to which the model knew the list before this round; and with this round's request."""
        self._changed_in: int = todos.changed_in
        self._worked = 0
        """Rounds that did work since the list last changed."""
        self._reminders = 0
        """Reminders since then."""
        self._reminded_in = 0
        """The round of the last one."""
        self._nudges = 0
        self._progress = True
        """Whether a call succeeded since the last nudge."""

    def render(
        self, state: State, run: Run, round: int, warning: str = "", *, answering: bool
    ) -> tuple[str, TodoListContextInjected | None]:
        """Return what is added to a request of this round, and the fact that the list was; `warning` comes last.

        If there was a request in this round already, it failed: what it told is told again.
        """
        todos = state.list_of(self._agent)
        edits = self._render_edits(state, todos, round)
        finished = is_done(todos)
        is_whole = self._is_whole(todos, round)
        if not todos.items or (finished and run.finished_shown and self._block_in != round):
            return "\n".join(line for line in (edits, warning) if line), None
        self._block_in = round
        active = self._find_active(todos, run)
        text = render_block(
            list(todos.items.values()),
            round=round,
            max_rounds=run.max_rounds,
            recap=self._config.block == Block.RECAP,
            focus=None if is_whole else find_focus(todos.items, active),
            room=self._room,
            lines=self._lines,
        )
        lines = [
            text,
            edits,
            "" if finished else self._render_claim(active),
            self._render_reminder(state, run, round, finished=finished),
            warning,
        ]
        if answering and finished:
            lines.append(_ANSWER)
        fact = TodoListContextInjected(
            total_items=len(todos.items), active_item=active and active.id, round=round, finished=finished
        )
        return "\n".join(line for line in lines if line), fact

    def _render_edits(self, state: State, todos: TodoList, round: int) -> str:
        """Return what a person changed since the model was last shown the list. The log is read only if one did."""
        if round != self._round:  # so the request of the round before was answered
            self._round, self._told = round, self._seen
        self._seen = state.version
        if todos.edited_in <= self._told:
            return ""
        return format_edits(self._events(self._told, todos.edited_in), self._agent)

    def _find_active(self, todos: TodoList, run: Run) -> Todo | None:
        if self._worker is None:
            return find_active_todo(todos.items, run)
        return next((todo for todo in todos.items.values() if self._is_claimed(todo)), None)

    def _is_claimed(self, todo: Todo) -> bool:
        return todo.status is Status.IN_PROGRESS and todo.owner == self._worker

    def _render_claim(self, active: Todo | None) -> str:
        """Return which todo is the worker's, of a list that several share."""
        if self._worker is None:
            return ""
        if active is None:
            return "(No todo is claimed for you: nothing can be started now.)"
        return f"(Your todo is {_format_id(active)}; others in progress are someone else's.)"

    def _is_whole(self, todos: TodoList, round: int) -> bool:
        """Return whether all items are shown, and not only those that matter now."""
        if self._whole_in is None or (todos.others_in if self._worker is None else todos.edited_in) > self._told:
            self._whole_in = round
        is_short = len(todos.items) <= _ALWAYS_WHOLE
        return is_short or self._config.block != Block.AUTO or self._whole_in == round

    def _render_reminder(self, state: State, run: Run, round: int, *, finished: bool) -> str:
        config, todos = self._config, state.list_of(self._agent)
        if config.todo_tools == TodoTools.OFF or finished or state.is_planning(self._agent):
            return ""
        if not run.list_changed or todos.changed_in != self._changed_in:
            return ""
        if self._reminded_in != round:
            if self._reminders == _REMINDERS or self._worked < config.remind_after * (self._reminders + 1):
                return ""
            self._reminders, self._reminded_in = self._reminders + 1, round
        how = config.writers or _HOW[TodoTools(config.todo_tools)]
        rounds = "1 round" if self._worked == 1 else f"{self._worked} rounds"
        return f"(The list has not changed for {rounds} of work. If it is out of date, update it with {how}.)"

    def forget(self) -> None:
        """Show the whole list again: the model does not have what it was shown any more."""
        self._whole_in = None

    def end_round(self, todos: TodoList, *, worked: bool, succeeded: bool) -> None:
        if todos.changed_in != self._changed_in:
            self._changed_in, self._worked, self._reminders = todos.changed_in, 0, 0
        elif worked:
            self._worked += 1
        self._progress = self._progress or succeeded

    def render_nudge(self, state: State, run: Run, answer: str) -> str | None:
        """Return the line for a model that stopped with this answer while items are open; None if it may stop."""
        todos = state.list_of(self._agent)
        if self._worker is not None:
            left = [todo for todo in todos.items.values() if self._is_claimed(todo)]
        else:
            left = list_todos_to_nudge(todos) if run.list_changed else []
        if not left or state.is_planning(self._agent) or is_question(answer):
            return None
        if self._nudges >= self._config.max_nudges or not self._progress:
            return None
        self._nudges += 1
        self._progress = False
        names = "; ".join(f"{_format_id(todo)} {_to_json_string(todo)}" for todo in left[:_MOST_NAMED])
        more = f"; and {len(left) - _MOST_NAMED} more" if len(left) > _MOST_NAMED else ""
        where = "" if self._config.todo_tools == TodoTools.OFF else " in the list"
        return (
            f"(These items of your list are still open: {names}{more}. Continue with them. If an item is done, "
            f"blocked or no longer needed, say so{where}; if you need the user, say what you need.)"
        )


def is_question(answer: str) -> bool:
    """Return whether the last line of an answer asks the user something."""
    return answer.rstrip(_AFTER_QUESTION).endswith(("?", "？"))


def _format_id(todo: Todo) -> str:
    return escape_for_prompt(todo.id, 40)


def _to_json_string(todo: Todo) -> str:
    """Its text as a JSON string: nothing in it can end it."""
    return json.dumps(escape_for_prompt(todo.content, 100), ensure_ascii=False)


def list_todos_to_nudge(todos: TodoList) -> list[Todo]:
    """Return what is left to do: neither blocked nor interrupted, and not another worker's."""
    left = (Status.PENDING, Status.IN_PROGRESS)
    return [todo for todo in todos.items.values() if todo.status in left and not todo.interrupted and is_ours(todo)]
