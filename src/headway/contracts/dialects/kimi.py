"""`SetTodoList` of Kimi CLI: a title and a status, which is `done` in the end. Without the list it shows it."""

from __future__ import annotations

from headway.contracts.dialects.dialect import WholeList
from headway.core.model import Status

DIALECT = WholeList(
    "SetTodoList",
    "Set the todo list of this session, or show it if you leave todos out; the user sees it. What you send replaces "
    "the previous list. Use it for work of several steps, and update it as soon as you have done one.",
    {"title": "content"},
    {"pending": Status.PENDING, "in_progress": Status.IN_PROGRESS, "done": Status.COMPLETED},
    reads_without_list=True,
).to_dialect("kimi")
