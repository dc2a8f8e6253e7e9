"""`write_todos` of Gemini CLI: a description and a status, which may be cancelled or blocked as well."""

from __future__ import annotations

from headway.contracts.dialects.dialect import WORK, WholeList
from headway.core.model import Status

DIALECT = WholeList(
    "write_todos",
    "Keep the list of subtasks of a complex request; the user sees it. Send the complete list each time: it replaces "
    "the previous one. Set a subtask to in_progress before you start it, one at a time, and to completed as soon as it "
    "is done; to blocked if something outside is in the way, to cancelled if it is no longer needed.",
    {"description": "content"},
    {**WORK, "cancelled": Status.CANCELLED, "blocked": Status.BLOCKED},
).to_dialect("gemini")
