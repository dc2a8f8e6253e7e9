"""`Planner`: what any loop needs of Headway. Its instructions and tools stay the same; `run` begins a run."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headway.contracts.todo_tools import KINDS, ToolAnswer, todo_tool
from headway.core.errors import HeadwayError
from headway.core.model import EXECUTOR, JUDGE, LOOP, MODEL, TRACKER, is_person
from headway.core.text import sanitize_for_display
from headway.planner.config import TodoTools
from headway.planner.instructions import todo_instructions
from headway.planner.run import PlannerRun

if TYPE_CHECKING:
    from headway.planner.config import PlannerConfig
    from headway.session import Session


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as a model is told of it."""

    name: str
    description: str
    parameters: dict[str, Any]
    """The JSON schema of its arguments."""


class Planner:
    """The list of one agent in a session, for a loop of your own. `session.planner(…)` returns one."""

    def __init__(self, session: Session, config: PlannerConfig, worker: str | None = None) -> None:
        kind = TodoTools(config.todo_tools)
        self.worker: str | None = worker
        self.session = session
        """Whose list it is."""
        own = session if worker is None else session.agent(_check_worker(worker, session, config))
        self.run_session: Session = own
        """Under whose name its runs are in the log."""
        self.config = config
        names = KINDS[kind] if worker is None else ("worker_todo",)
        self._tools = {tool.name: tool for tool in config.dialect_tools or map(todo_tool, names)}
        shared = worker is not None
        text = todo_instructions(kind, config.tracking_in_force, shared=shared, writers=config.writers)
        self.instructions: str = text + "\n"
        """Text for the system prompt: the same for all runs."""
        self.tools: tuple[ToolSpec, ...] = tuple(
            ToolSpec(tool.name, tool.description, deepcopy(tool.parameters)) for tool in self._tools.values()
        )
        """The tools with which a model keeps the list, always in the same order; `run.call` runs them."""
        self._last_version: int | None = None
        """The version at which the last run ended."""

    def __repr__(self) -> str:
        return f"<headway.Planner {self.session.name!r} agent={self.session.agent_id!r}>"

    def run(self, task: str, *, model: str = "") -> PlannerRun:
        """Return a run of this task, which begins with its `with` block and ends with it, whatever happens there.

        Raises `RunGoesOn` there if another run of this agent goes on.
        """
        if not isinstance(task, str) or not task.strip():  # pyright: ignore[reportUnnecessaryIsInstance]
            raise HeadwayError("The task is empty; say what to do.")
        return PlannerRun(self, task, model, self._last_version)

    def has_tool(self, name: str) -> bool:
        """Return whether a call by this name is for `run.call`, and not for a tool of your own."""
        return name in self._tools

    def run_tool(self, name: str, arguments: object) -> ToolAnswer:
        """Change the list as the model asks; whatever is wrong with the call is the answer."""
        tool = self._tools.get(name)
        if tool is None:
            there = ", ".join(self._tools) or "none"
            return ToolAnswer(f"There is no todo tool named '{sanitize_for_display(name)}'; available: {there}.", False)
        if self.session.is_planning:
            return ToolAnswer(f"{name} was not run: plan mode is on, in which the list is not changed.", False)
        try:
            return tool.change(self.session, tool.parse(arguments), self.worker or MODEL)
        except HeadwayError as error:
            return ToolAnswer(str(error), False)

    def note_end(self, version: int) -> None:
        """Remember what the model knows of the list when a run ends."""
        self._last_version = version


def _check_worker(worker: str, session: Session, config: PlannerConfig) -> str:
    if config.todo_tools != TodoTools.LIGHT or config.dialect is not None:
        raise HeadwayError("A worker has the light todo tools; leave `todo_tools` and `dialect` out.")
    if is_person(worker) or worker in (session.agent_id, MODEL, TRACKER, JUDGE, LOOP, EXECUTOR):
        raise HeadwayError(f"A worker cannot be named '{sanitize_for_display(worker)}'; give it a name of its own.")
    return worker
