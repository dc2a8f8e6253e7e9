"""What the log holds of an agent's runs: one small record for each kind of event, and each as JSON and back.

Loaded only where a run was or is, and defined in the way that takes the least time: every command there pays for it.
Text in them comes from models and tools: hostile until it is neutralised for where it is shown; rid of keys and tokens
by whoever records it.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter

from headway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    from headway.core.execution_events import ExecutionData


@dataclass(eq=False, repr=False, slots=True)
class RunStarted(Value):
    wire_name = "RunStarted"
    run_id: str
    task: str
    model: str
    max_rounds: int
    holder: str
    """Which process has it."""
    require_evidence: bool | str = False
    """Whether the model is told, once per item, when it calls something done that nothing shows."""
    new_conversation: bool = False
    """Whether the model is sent nothing that was said in this session before."""
    mode: str = ""
    """The approval mode; empty in logs that do not say."""


@dataclass(eq=False, repr=False, slots=True)
class RoundStarted(Value):
    wire_name = "RoundStarted"
    run_id: str
    round: int
    """Counted from 1."""
    max_rounds: int


@dataclass(eq=False, repr=False, slots=True)
class TextDelta(Value):
    """Live only: neither logged nor versioned."""

    wire_name = "TextDelta"

    text: str
    kind: str = "text"
    """`text`, `reasoning`, `output` (what a tool prints while it runs) or `progress` (what takes long, in a line)."""
    call_id: str | None = None


@dataclass(eq=False, repr=False, slots=True)
class ToolStarted(Value):
    wire_name = "ToolStarted"
    round: int
    call_id: str
    tool: str
    summary: str
    """The call in one line."""
    effect: str | None = None
    """What it would do; None if it cannot be run."""
    command_kind: str | None = None
    """Of a command: what the whole of it comes to, as in `ToolFinished`."""


@dataclass(eq=False, repr=False, slots=True)
class ToolFinished(Value):
    wire_name = "ToolFinished"
    round: int
    call_id: str
    tool: str
    ok: bool
    text: str
    """What the model is told."""
    denied: bool = False
    effect: str | None = None
    exit_code: int | None = None
    files: tuple[str, ...] = ()
    kept: str | None = None
    seconds: float = 0.0
    item_id: str | None = None
    """The item that it was recorded on."""
    diff: str | None = None
    """What it changed in files, for people; a model is not told."""
    command: str | None = None
    """What was run, if it ran a command."""
    command_kind: str | None = None
    """check, reads or edits: what the whole command comes to (`command_kinds`); None in logs that know no kinds."""

    @property
    def succeeded(self) -> bool:
        return self.ok and not self.exit_code


@dataclass(eq=False, repr=False, slots=True)
class TodoListItemProgress(Value):
    """A call was recorded on an item."""

    wire_name = "TodoListItemProgress"

    item_id: str
    status: str
    """After the call, with what the tracker made of it."""
    tool_calls_count: int
    round: int
    tool: str
    ok: bool
    denied: bool = False
    matching: bool | None = None
    """Whether the call did the kind of work that the item asks for; None in logs that did not look."""


@dataclass(eq=False, repr=False, slots=True)
class TodoListCompleted(Value):
    wire_name = "TodoListCompleted"
    completed_at: str
    total_rounds: int
    total_tool_calls: int


@dataclass(eq=False, repr=False, slots=True)
class TodoListContextInjected(Value):
    wire_name = "TodoListContextInjected"
    total_items: int
    active_item: str | None
    round: int
    finished: bool = False
    """Whether the list was shown as done, which happens once."""


@dataclass(eq=False, repr=False, slots=True)
class TodoEvaluationStarted(Value):
    wire_name = "TodoEvaluationStarted"
    item_id: str
    round: int


@dataclass(eq=False, repr=False, slots=True)
class TodoEvaluationCompleted(Value):
    wire_name = "TodoEvaluationCompleted"
    item_id: str
    round: int
    status: str | None
    """What the item was set to; None if it was left as it is."""
    reason: str


@dataclass(eq=False, repr=False, slots=True)
class ApprovalAsked(Value):
    wire_name = "ApprovalAsked"
    question_id: str
    tool: str
    effect: str
    line: str
    call_id: str | None = None
    command: str | None = None
    path: str | None = None
    diff: str | None = None
    host: str | None = None
    key_hash: str | None = None
    """What tells whether an answer that allows it has the key (`open_questions`); None in older logs."""


@dataclass(eq=False, repr=False, slots=True)
class ApprovalAnswered(Value):
    wire_name = "ApprovalAnswered"
    question_id: str
    reply: str
    """once, always, offline (once, without the network) or no."""
    reason: str = ""
    key: str | None = None
    """Of one that allows it: shows that whoever answered was given the exact text."""


@dataclass(eq=False, repr=False, slots=True)
class Usage(Value):
    """Tokens of one request, and what the run has used so far."""

    wire_name = "Usage"

    round: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    total_tokens: int
    total_cost: float | None
    """US dollars; None where the price is not known."""


@dataclass(eq=False, repr=False, slots=True)
class RunError(Value):
    wire_name = "RunError"
    message: str
    retry_in: float | None = None
    """Seconds until the request is made again; None if the run ends with it."""


@dataclass(eq=False, repr=False, slots=True)
class RunControlRequested(Value):
    """Someone wants something of the run."""

    wire_name = "RunRequested"

    request: str
    """stop, pause or resume."""


@dataclass(eq=False, repr=False, slots=True)
class RunPaused(Value):
    """A run that was asked to pause has come to the end of its round, and waits."""

    wire_name = "RunPaused"

    round: int


@dataclass(eq=False, repr=False, slots=True)
class MessageAdded(Value):
    """One message of the conversation, as the agent's library writes it."""

    wire_name = "MessageAdded"

    message: dict[str, Any]


@dataclass(eq=False, repr=False, slots=True)
class ConversationCompacted(Value):
    """A summary takes the place of all messages before a version."""

    wire_name = "ConversationCompacted"

    message: dict[str, Any]
    kept_from: int


@dataclass(eq=False, repr=False, slots=True)
class RunFinished(Value):
    wire_name = "RunFinished"
    run_id: str
    reason: str
    rounds: int
    tool_calls: int
    error: str | None = None
    step: int = 0
    """Of an execution that changed the list: version of its last change."""
    previous: int | None = None
    """Of such an execution: where undo continues once it is undone."""


_Own: TypeAlias = (
    RunStarted
    | RoundStarted
    | TextDelta
    | ToolStarted
    | ToolFinished
    | TodoListItemProgress
    | TodoListCompleted
    | TodoListContextInjected
    | TodoEvaluationStarted
    | TodoEvaluationCompleted
    | ApprovalAsked
    | ApprovalAnswered
    | Usage
    | RunError
    | RunControlRequested
    | RunPaused
    | MessageAdded
    | ConversationCompacted
    | RunFinished
)
if TYPE_CHECKING:
    RunData: TypeAlias = _Own | ExecutionData
else:
    RunData = _Own
_KINDS: dict[str, type[_Own]] = {kind.wire_name: kind for kind in _Own.__args__}
_values_of_call = attrgetter(*ToolFinished.__dataclass_fields__)
_TUPLES = (
    "files",
    "restored",
    "failed_items",
    "item_ids",
    "removed",
    "not_merged",
    "by_others",
    "with_later",
    "gone",
    "back",
)


def with_todo_id(call: ToolFinished, item_id: str) -> ToolFinished:
    recorded = ToolFinished(*_values_of_call(call))
    recorded.item_id = item_id
    return recorded


def read_run_data(name: str, record: dict[str, Any]) -> RunData:
    """Return the data of an event. Raises `KeyError` or `TypeError` for a kind or a field that is not known."""
    for field in _TUPLES:
        if field in record:
            record[field] = tuple(record[field])
    if name in _KINDS:
        return _KINDS[name](**record)
    from headway.core.execution_events import KINDS

    return KINDS[name](**record)
