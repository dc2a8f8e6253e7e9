"""What `Session.on` takes, for type checkers and editors. Loaded by nothing at run time."""

from __future__ import annotations

from typing import Literal, TypeAlias

EventName: TypeAlias = Literal[
    "ApprovalAnswered",
    "ApprovalAsked",
    "BatchFinished",
    "BatchStarted",
    "CompletionLogged",
    "ConversationCompacted",
    "EvidenceAsked",
    "FilesReverted",
    "ItemFinished",
    "ItemMerging",
    "ItemRolledBack",
    "ItemStarted",
    "LeaseRenewed",
    "MessageAdded",
    "ModeChanged",
    "PlanModeChanged",
    "PlanUpdated",
    "RoundStarted",
    "RunError",
    "RunFinished",
    "RunPaused",
    "RunRequested",
    "RunStarted",
    "TextDelta",
    "TodoEvaluationCompleted",
    "TodoEvaluationStarted",
    "TodoListCompleted",
    "TodoListContextInjected",
    "TodoListItemProgress",
    "TodoListUpdated",
    "ToolFinished",
    "ToolStarted",
    "Usage",
]
