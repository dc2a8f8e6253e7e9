"""Headway: the planning layer of a coding agent. A todo list kept in one log that people can watch, replay and undo.

Importing this package does nothing but define names: no file is touched, no model, web or MCP library is loaded.
"""

from __future__ import annotations

import sys

from headway.core.errors import (
    ChecksNeeded,
    ClaimRefused,
    ContextTooLong,
    EvidenceMissing,
    FilesChanged,
    HeadwayError,
    InvalidPlan,
    InvalidTodos,
    ListChanged,
    ModelBusy,
    ModelError,
    ModelNotReady,
    NoPlan,
    NoRun,
    NothingToUndo,
    NotRunnable,
    QuestionNotKept,
    RunGoesOn,
    RunRefused,
    SessionNotFound,
    SettingsError,
    StoreBusy,
    StoreConflict,
    StoreCorrupt,
    StoreError,
    StoreForeign,
    StoreFull,
    StoreReadOnly,
    StoreTooNew,
    TodoNotFound,
    UserAfterToolRefused,
)
from headway.core.events import Event
from headway.core.logs import logger as _logger
from headway.core.model import Priority, Status, Todo
from headway.project import list_sessions as sessions
from headway.project import open_session as open
from headway.session import Progress, Session, SessionStore, Written

TYPE_CHECKING = False
if TYPE_CHECKING:
    from headway.core.evidence import Evidence, EvidenceLevel
    from headway.core.plans import Plan, PlanStep
    from headway.core.store import SessionInfo
    from headway.core.todo_fields import TodoChanges, TodoFields
    from headway.views.report.model import Report

__version__ = "0.1.0"

if "logging" in sys.modules:
    _logger()

__all__ = [
    "ChecksNeeded",
    "ClaimRefused",
    "ContextTooLong",
    "Event",
    "Evidence",
    "EvidenceLevel",
    "EvidenceMissing",
    "FilesChanged",
    "HeadwayError",
    "InvalidPlan",
    "InvalidTodos",
    "ListChanged",
    "ModelBusy",
    "ModelError",
    "ModelNotReady",
    "NoPlan",
    "NoRun",
    "NotRunnable",
    "NothingToUndo",
    "Plan",
    "PlanStep",
    "Priority",
    "Progress",
    "QuestionNotKept",
    "Report",
    "RunGoesOn",
    "RunRefused",
    "Session",
    "SessionInfo",
    "SessionNotFound",
    "SessionStore",
    "SettingsError",
    "Status",
    "StoreBusy",
    "StoreConflict",
    "StoreCorrupt",
    "StoreError",
    "StoreForeign",
    "StoreFull",
    "StoreReadOnly",
    "StoreTooNew",
    "Todo",
    "TodoChanges",
    "TodoFields",
    "TodoNotFound",
    "UserAfterToolRefused",
    "Written",
    "open",
    "sessions",
]


_LATER = {
    "Evidence": "headway.core.evidence",
    "EvidenceLevel": "headway.core.evidence",
    "Plan": "headway.core.plans",
    "PlanStep": "headway.core.plans",
    "Report": "headway.views.report.model",
    "SessionInfo": "headway.core.store",
    "TodoChanges": "headway.core.todo_fields",
    "TodoFields": "headway.core.todo_fields",
}


def __getattr__(name: str) -> object:
    """Loads what most programs never use when it is first asked for."""
    if name not in _LATER:
        raise AttributeError(f"module 'headway' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_LATER[name]), name)
