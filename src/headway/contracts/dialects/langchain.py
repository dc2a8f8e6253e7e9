"""`write_todos` of LangChain's `TodoListMiddleware` and deepagents: content and status."""

from __future__ import annotations

from headway.contracts.dialects.dialect import WORK, WholeList

DIALECT = WholeList(
    "write_todos",
    "Create and manage the task list of this session; the user sees it. Send the complete list each time: it replaces "
    "the previous one. Use it for complex work of several steps. Set a task to in_progress before you start it, and to "
    "completed as soon as it is done.",
    {"content": "content"},
    WORK,
).to_dialect("langchain")
