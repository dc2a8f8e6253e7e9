"""The `agent` contract: `TodoWrite` as a native tool of the agent, input `{"todos": […]}`.

It changes state, so calls run one after the other; it asks for no permission; it is not offered in plan mode.
"""

from __future__ import annotations

from dataclasses import dataclass

from headway.contracts.calls import NAME, correction, counts_line, notes, plan_mode_refusal, shell_shape, write
from headway.contracts.schema import agent_parameters
from headway.core.errors import HeadwayError, InvalidTodos

TYPE_CHECKING = False
if TYPE_CHECKING:
    from headway.core.model import Todo
    from headway.core.session import Session

DESCRIPTION = (
    "Keep the list of what you are working on; the user sees it. Send the complete list each time: it replaces the "
    "previous one. Use it for work of three steps or more, or when asked to. Set an item to in_progress before you "
    "start it (one at a time) and to completed as soon as it is fully done."
)


@dataclass(frozen=True, slots=True)
class Answer:
    text: str
    """For the model."""
    todos: list[Todo]
    """For the user interface: the list as it now is."""
    ok: bool


def definition() -> dict[str, object]:
    """The tool as a provider is told of it."""
    return {"name": NAME, "description": DESCRIPTION, "parameters": agent_parameters()}


def run(session: Session, call: object) -> Answer:
    try:
        if refusal := plan_mode_refusal(session):
            return Answer(refusal, session.todos, False)
        written = write(session, call, shell_shape())
    except InvalidTodos as error:
        return Answer(correction(error), session.todos, False)
    except HeadwayError as error:
        return Answer(f"{NAME} changed nothing: {error}", _still_there(session), False)
    return Answer("\n".join([counts_line(written), *notes(written)]), written.todos, True)


def _still_there(session: Session) -> list[Todo]:
    """The list, if it can be read."""
    try:
        return session.todos
    except HeadwayError:
        return []
