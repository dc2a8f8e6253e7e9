"""The fields of a todo as the Python API takes them, for type checkers and editors. Loaded by nothing at run time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias, TypedDict

from headway.core.evidence import Evidence
from headway.core.model import Origin, Priority, Status

StatusName: TypeAlias = Literal["pending", "in_progress", "completed", "cancelled", "blocked"]
PriorityName: TypeAlias = Literal["high", "medium", "low"]


class _Fields(TypedDict, total=False):
    """What each means is said in `headway.core.fields`."""

    active_form: str | None
    activeForm: str | None
    status: Status | StatusName | str
    priority: Priority | PriorityName | str | None
    module: str | None
    depends_on: Sequence[str]
    dependsOn: Sequence[str]
    dependencies: Sequence[str]
    risks: Sequence[str]
    estimated_time: str | None
    estimatedTime: str | None
    notes: str | None
    owner: str | None
    lease_until: str | None
    created_from: Origin | Literal["plan", "manual"] | None
    created_at: str | None
    started_at: str | None
    completed_at: str | None
    started_at_round: int | None
    completed_at_round: int | None
    interrupted: bool
    verify: str | None
    evidence: Evidence | Mapping[str, object] | None
    tool_calls: int
    failed_calls: int


class NewTodoFields(_Fields, total=False):
    """What `Session.add` takes beside the content."""

    id: str


class TodoChanges(_Fields, total=False):
    """What `Session.update` can change; None removes a value."""

    content: str
    description: str


class TodoFields(NewTodoFields, TodoChanges, total=False):
    """One todo as `Session.write` takes it."""
