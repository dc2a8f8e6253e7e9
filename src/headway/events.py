"""The events of a session, by the classes of their data: `if isinstance(event.data, ToolFinished): …`.

Each class has the name that the event has in `Session.on` as its `wire_name`; most are called like it.
"""

from __future__ import annotations

from headway.core.codec import to_event_dict
from headway.core.events import (
    CompletionLogged,
    Event,
    EventData,
    LeaseRenewed,
    PlanModeChanged,
    PlanUpdated,
)
from headway.core.events import ListDelta as TodoListUpdated
from headway.core.execution_events import (
    AttemptFinished,
    AttemptStarted,
    ExecutionFinished,
    ExecutionStarted,
    FilesReverted,
    MergeStarted,
    ModeChanged,
    TodosRolledBack,
)
from headway.core.run_events import (
    ApprovalAnswered,
    ApprovalAsked,
    ConversationCompacted,
    EvidenceAsked,
    MessageAdded,
    RoundStarted,
    RunControlRequested,
    RunError,
    RunFinished,
    RunPaused,
    RunStarted,
    TextDelta,
    TodoEvaluationCompleted,
    TodoEvaluationStarted,
    TodoListCompleted,
    TodoListContextInjected,
    TodoListItemProgress,
    ToolFinished,
    ToolStarted,
    Usage,
)

__all__ = [
    "ApprovalAnswered",
    "ApprovalAsked",
    "AttemptFinished",
    "AttemptStarted",
    "CompletionLogged",
    "ConversationCompacted",
    "Event",
    "EventData",
    "EvidenceAsked",
    "ExecutionFinished",
    "ExecutionStarted",
    "FilesReverted",
    "LeaseRenewed",
    "MergeStarted",
    "MessageAdded",
    "ModeChanged",
    "PlanModeChanged",
    "PlanUpdated",
    "RoundStarted",
    "RunControlRequested",
    "RunError",
    "RunFinished",
    "RunPaused",
    "RunStarted",
    "TextDelta",
    "TodoEvaluationCompleted",
    "TodoEvaluationStarted",
    "TodoListCompleted",
    "TodoListContextInjected",
    "TodoListItemProgress",
    "TodoListUpdated",
    "TodosRolledBack",
    "ToolFinished",
    "ToolStarted",
    "Usage",
    "to_event_dict",
]
