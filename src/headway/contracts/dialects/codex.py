"""`update_plan` of Codex: steps with a status, and an explanation, which becomes the summary of the list."""

from __future__ import annotations

from headway.contracts.dialects.dialect import LONGEST, WORK, WholeList

DIALECT = WholeList(
    "update_plan",
    "Update the task plan; the user sees it. Send the complete list of steps with their statuses, and optionally an "
    "explanation. At most one step can be in_progress at a time.",
    {"step": "content"},
    WORK,
    root="plan",
    more={"explanation": {"type": "string", "maxLength": LONGEST}},
).to_dialect("codex")
