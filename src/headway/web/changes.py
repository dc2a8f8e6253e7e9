"""What a person changes on the page: each kind as one change of the session, checked by the core as anyone's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from headway.core.errors import HeadwayError
from headway.core.model import PERSON
from headway.core.text import sanitize_for_display
from headway.project import project_folder_of
from headway.settings.approved_checks import approve_checks

if TYPE_CHECKING:
    from headway.core.todo_fields import NewTodoFields
    from headway.session import Session


MOST_IDS = 1_000


class AlreadyThere(HeadwayError):
    """A session that was to be begun."""

    code = "already_there"


class _PageChange(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Add(_PageChange):
    kind: Literal["add"]
    content: str
    after: str | None = None
    priority: str | None = None
    verify: str | None = None
    depends_on: list[str] = Field(default=[], max_length=MOST_IDS)


class Begin(_PageChange):
    """A session, with its first item."""

    kind: Literal["begin"]
    content: str


class Edit(_PageChange):
    """Any fields of an item that a person may set."""

    kind: Literal["edit"]
    id: str
    content: str | None = None
    status: str | None = None
    priority: str | None = None
    notes: str | None = None
    module: str | None = None
    estimated_time: str | None = None
    verify: str | None = None
    depends_on: list[str] | None = Field(default=None, max_length=MOST_IDS)


class Move(_PageChange):
    kind: Literal["move"]
    id: str
    position: int


class Drop(_PageChange):
    kind: Literal["drop"]
    id: str


class Undo(_PageChange):
    kind: Literal["undo", "redo"]
    n: int = Field(default=1, ge=1, le=1_000)


class Clear(_PageChange):
    kind: Literal["clear"]


class PlanToTodos(_PageChange):
    kind: Literal["plan_to_todos"]


class PlanMode(_PageChange):
    kind: Literal["plan_mode"]
    on: bool


AnyChange = Annotated[
    Begin | Add | Edit | Move | Drop | Undo | Clear | PlanToTodos | PlanMode, Field(discriminator="kind")
]
CHANGE: TypeAdapter[AnyChange] = TypeAdapter(AnyChange)


def apply_change(session: Session, change: AnyChange) -> dict[str, Any]:
    """Makes the change; what the page is told besides what everyone sees. Raises `HeadwayError`s."""
    if isinstance(change, Add | Edit) and change.verify and (project := project_folder_of(session)):
        approve_checks(project, [change.verify])  # a person typed it here
    match change:
        case Begin():
            if session.version:
                raise AlreadyThere(
                    f"A session named '{sanitize_for_display(session.name)}' already exists; choose another name."
                )
            return {"id": session.add(change.content, actor=PERSON).id}
        case Add():
            fields: NewTodoFields = {"depends_on": change.depends_on} if change.depends_on else {}
            if change.priority is not None:
                fields["priority"] = change.priority
            if change.verify is not None:
                fields["verify"] = change.verify
            return {"id": session.add(change.content, after=change.after, actor=PERSON, **fields).id}
        case Edit():
            session.update(change.id, **change.model_dump(exclude={"kind", "id"}, exclude_unset=True))
            return {"id": change.id}
        case Move():
            session.move(change.id, change.position)
            return {"id": change.id}
        case _:
            return _apply_to_session(session, change)


def _apply_to_session(session: Session, change: AnyChange) -> dict[str, Any]:
    match change:
        case Drop():
            written = session.drop(change.id)
        case Undo():
            from headway.execute import redo, undo
            from headway.views.undo_lines import file_lines, left_file_lines, undone_lines

            undone = (undo if change.kind == "undo" else redo)(session, change.n)
            more = [*left_file_lines(undone.left, is_unsaved=undone.is_unsaved), *filter(None, [undone.recovery])]
            return {"did": [*undone_lines(undone.steps), *file_lines(undone.files, undone.removed), *more]}
        case Clear():
            written = session.clear()
        case PlanToTodos():
            written = session.plan_to_todos()
        case PlanMode():
            session.set_plan_mode(change.on)
            return {}
        case _:
            raise AssertionError
    return {"dropped": [todo.content for todo in written.dropped]}
