"""The one place that describes the fields of an item: what each is called, what it holds and what it means.

Validation (`rules`), JSON schemas, error texts and the log's codec are derived from this table.
"""

from __future__ import annotations

from dataclasses import fields
from enum import StrEnum

from headway.core.model import Todo


class Kind(StrEnum):
    ID = "id"
    TEXT = "text"
    STATUS = "status"
    PRIORITY = "priority"
    ORIGIN = "origin"
    TEXTS = "texts"
    IDS = "ids"
    TIME = "time"
    COUNT = "count"
    FLAG = "flag"
    EVIDENCE = "evidence"


class Field:
    """One field; `aliases` are other names under which the Python API and imports accept it."""

    __slots__ = ("about", "aliases", "kind", "name")

    def __init__(self, name: str, kind: Kind, about: str, aliases: tuple[str, ...] = ()) -> None:
        self.name: str = name
        self.kind: Kind = kind
        self.about: str = about
        self.aliases: tuple[str, ...] = aliases


FIELDS: tuple[Field, ...] = (
    Field("id", Kind.ID, "Stable id of the item within its list."),
    Field("content", Kind.TEXT, "What to do, in the imperative.", ("description",)),
    Field("active_form", Kind.TEXT, "What is being done, in the present continuous.", ("activeForm",)),
    Field("status", Kind.STATUS, "State of the item."),
    Field("priority", Kind.PRIORITY, "Priority of the item."),
    Field("module", Kind.TEXT, "Part of the project that it belongs to."),
    Field("depends_on", Kind.IDS, "Ids of items that must be completed first.", ("dependencies", "dependsOn")),
    Field("risks", Kind.TEXTS, "What could go wrong."),
    Field("estimated_time", Kind.TEXT, "Estimated time.", ("estimatedTime",)),
    Field("notes", Kind.TEXT, "Notes about the item."),
    Field("owner", Kind.TEXT, "Worker that claimed it."),
    Field("lease_until", Kind.TIME, "When the owner's claim runs out.", ("leaseUntil",)),
    Field("created_from", Kind.ORIGIN, "Origin of the item.", ("createdFrom",)),
    Field("created_at", Kind.TIME, "When it was added.", ("createdAt",)),
    Field("started_at", Kind.TIME, "When work on it first started.", ("startedAt",)),
    Field("completed_at", Kind.TIME, "When it was completed.", ("completedAt",)),
    Field("started_at_round", Kind.COUNT, "Round of the agent loop in which it started.", ("startedAtRound",)),
    Field("completed_at_round", Kind.COUNT, "Round of the agent loop in which it ended.", ("completedAtRound",)),
    Field("interrupted", Kind.FLAG, "Work on it was interrupted and has not been resumed."),
    Field("verify", Kind.TEXT, "Check: a command that fails until the item is done."),
    Field("evidence", Kind.EVIDENCE, "Evidence that it is done."),
    Field("tool_calls", Kind.COUNT, "Tool calls recorded on it.", ("toolCalls",)),
    Field("failed_calls", Kind.COUNT, "How many of them failed.", ("failedCalls",)),
)

FIELD: dict[str, Field] = {field.name: field for field in FIELDS}
DEFAULTS: dict[str, object] = {f.name: f.default for f in fields(Todo) if f.name not in ("id", "content")}
