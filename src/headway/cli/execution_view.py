"""Items being executed, on the terminal: the run of one as any run; of several at once, a line for each."""

from __future__ import annotations

from headway.cli.live import LiveBox
from headway.cli.run_view import RunView
from headway.core.events import Event
from headway.core.execution_events import ExecutionStarted
from headway.core.model import EXECUTOR, MAIN_AGENT, Todo
from headway.core.run_events import ApprovalAsked, RunStarted
from headway.views.execution_lines import ExecutionLines


class ExecutionView(RunView):
    def __init__(self, box: LiveBox, agent: str = MAIN_AGENT) -> None:
        super().__init__(box, agent)
        self._executing = ExecutionLines()

    def _show_list(self, event: Event, todos: list[Todo]) -> None:
        if event.actor == EXECUTOR:  # what it does to the list has lines of its own
            self._box.show_quietly(todos)
        else:
            super()._show_list(event, todos)

    def _show(self, event: Event) -> None:
        for mark, what, why in self._executing.handle(event):
            self._end_line()
            self._print_outcome(mark, what, why)
        is_first = isinstance(event.data, RunStarted) and event.agent == self._agent and not event.data.max_rounds
        if is_first or isinstance(event.data, ExecutionStarted):  # until the first item begins
            self._box.show_note("Saving the project's files …")
        if isinstance(event.data, ApprovalAsked) and self._executing.is_hidden(event):
            self._print_outcome("?", self._executing.describe_todo(event))
        if not self._executing.is_hidden(event) or isinstance(event.data, ApprovalAsked):
            super()._show(event)
        if self._executing.side_by_side:
            self._box.show_notes([f"● {line}" for line in self._executing.activity_lines()])
