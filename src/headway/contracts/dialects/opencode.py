"""`todowrite` of OpenCode: content, status and priority, all required. A todo without a priority is shown as medium."""

from __future__ import annotations

from headway.contracts.dialects.dialect import WORK, WholeList
from headway.core.model import Priority, Status

DIALECT = WholeList(
    "todowrite",
    "Create and manage the task list of this session; the user sees it. Send the complete list each time: it replaces "
    "the previous one. Use it for work of three steps or more. Have only one task in_progress at a time, and set a "
    "task to completed as soon as it is done; to cancelled if it is no longer needed.",
    {"content": "content", "priority": "priority"},
    {**WORK, "cancelled": Status.CANCELLED},
    choices={"priority": tuple(map(str, Priority))},
    stand_ins={"priority": lambda todo: str(Priority.MEDIUM)},
).to_dialect("opencode")
