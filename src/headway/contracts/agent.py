"""The `agent` contract: `TodoWrite` as a native tool of the agent, input `{"todos": […]}`.

It changes state, so calls run one after the other; it asks for no permission; it is not offered in plan mode.
"""

from __future__ import annotations

from dataclasses import dataclass

from headway.contracts.schema import build_agent_parameters
from headway.contracts.shared_rules import (
    NAME,
    apply_call,
    explain_plan_mode,
    format_correction,
    format_counts,
    list_notes,
    shell_shape,
)
from headway.core.errors import HeadwayError, InvalidTodos

TYPE_CHECKING = False
if TYPE_CHECKING:
    from headway.core.model import Todo
    from headway.session import Session

DESCRIPTION = (
    "Keep the list of what you are working on; the user sees it. Send the complete list each time: it replaces the "
    "previous one. Use it for work of three steps or more, or when asked to. Set an item to in_progress before you "
    "start it (one at a time) and to completed as soon as it is fully done."
)


@dataclass(frozen=True, slots=True)
class AgentAnswer:
    text: str
    """For the model."""
    todos: list[Todo]
    """For the user interface: the list as it now is."""
    ok: bool


def definition() -> dict[str, object]:
    """The tool as a provider is told of it."""
    return {"name": NAME, "description": DESCRIPTION, "parameters": build_agent_parameters()}


def run(session: Session, call: object) -> AgentAnswer:
    try:
        if refusal := explain_plan_mode(session):
            return AgentAnswer(refusal, session.todos, False)
        written = apply_call(session, call, shell_shape())
    except InvalidTodos as error:
        return AgentAnswer(format_correction(error), session.todos, False)
    except HeadwayError as error:
        return AgentAnswer(f"{NAME} changed nothing: {error}", _read_todos(session), False)
    return AgentAnswer("\n".join([format_counts(written), *list_notes(written)]), written.todos, True)


def _read_todos(session: Session) -> list[Todo]:
    """The list, if it can be read."""
    try:
        return session.todos
    except HeadwayError:
        return []
