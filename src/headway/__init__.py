"""Headway: the planning layer of a coding agent. A todo list kept in one log that people can watch, replay and undo.

Importing this package does nothing but define names: no file is touched, no model, web or MCP library is loaded.
"""

from __future__ import annotations

from headway.core.errors import (
    ClaimRefused,
    HeadwayError,
    InvalidPlan,
    InvalidTodos,
    NoPlan,
    NothingToUndo,
    SessionNotFound,
    StoreBusy,
    StoreConflict,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreTooNew,
    TodoNotFound,
)
from headway.core.events import Event
from headway.core.model import Evidence, EvidenceLevel, Plan, PlanStep, Priority, Status, Todo
from headway.core.session import Session, Written
from headway.project import open_session as open

__version__ = "0.1.0"

__all__ = [
    "ClaimRefused",
    "Event",
    "Evidence",
    "EvidenceLevel",
    "HeadwayError",
    "InvalidPlan",
    "InvalidTodos",
    "NoPlan",
    "NothingToUndo",
    "Plan",
    "PlanStep",
    "Priority",
    "Session",
    "SessionNotFound",
    "Status",
    "StoreBusy",
    "StoreConflict",
    "StoreCorrupt",
    "StoreError",
    "StoreFull",
    "StoreReadOnly",
    "StoreTooNew",
    "Todo",
    "TodoNotFound",
    "Written",
    "open",
]
