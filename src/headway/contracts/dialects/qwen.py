"""`todo_write` of Qwen Code: every todo with an id, which is kept."""

from __future__ import annotations

from headway.contracts.dialects.dialect import WORK, WholeList

DIALECT = WholeList(
    "todo_write",
    "Create and manage the task list of this session; the user sees it. Send the complete list each time: it replaces "
    "the previous one. Keep the id of a task from call to call. Use it for work of three steps or more. Have only one "
    "task in_progress at a time, and set a task to completed as soon as it is done.",
    {"id": "id", "content": "content"},
    WORK,
).to_dialect("qwen")
