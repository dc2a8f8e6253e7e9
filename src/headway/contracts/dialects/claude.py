"""`TodoWrite` of Claude Code, as models of Anthropic know it. Cancelled todos are left out, blocked ones pending."""

from __future__ import annotations

from headway.contracts.dialects.dialect import WORK, WholeList

DIALECT = WholeList(
    "TodoWrite",
    "Create and manage the task list of this session; the user sees it. Send the complete list each time: it replaces "
    "the previous one. Use it for work of three steps or more. Have exactly one task in_progress while you work, and "
    "set a task to completed as soon as it is fully done. Give each task an imperative text (content) and a present "
    "continuous one (activeForm).",
    {"content": "content", "activeForm": "active_form"},
    WORK,
    stand_ins={"active_form": lambda todo: todo.content},
).to_dialect("claude")
