"""What the log holds of an agent's runs: a class for each kind of event.

Loaded only where a run was or is. Text in them comes from models and tools: hostile until it is neutralised for where
it is shown; rid of keys and tokens by whoever records it.
"""

from __future__ import annotations

from headway.core.events import RunData, event_class

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@event_class
class RunStarted(RunData):
    """A run of an agent begins."""

    wire_name = "RunStarted"
    is_progress = False
    is_progress_of_sub_agent = True

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


@event_class
class RoundStarted(RunData):
    """A request to the model is about to be made."""

    wire_name = "RoundStarted"

    run_id: str
    round: int
    """Counted from 1."""
    max_rounds: int


@event_class
class TextDelta(RunData):
    """Live only: neither logged nor versioned."""

    wire_name = "TextDelta"
    is_live_only = True
    affects_state = False

    text: str
    kind: str = "text"
    """`text`, `reasoning`, `output` (what a tool prints while it runs) or `progress` (what takes long, in a line)."""
    call_id: str | None = None


@event_class
class ToolStarted(RunData):
    """A call begins."""

    wire_name = "ToolStarted"
    affects_state = False

    round: int
    call_id: str
    tool: str
    summary: str
    """The call in one line."""
    effect: str | None = None
    """What it would do; None if it cannot be run."""
    command_kind: str | None = None
    """Of a command: what the whole of it comes to, as in `ToolFinished`."""


@event_class
class ToolFinished(RunData):
    """A call is over."""

    wire_name = "ToolFinished"

    round: int
    call_id: str
    tool: str
    ok: bool
    text: str
    """What the model is told."""
    denied: bool = False
    cancelled: bool = False
    """Whether the run ended before it did; such a call does not count. What it did until then is unknown."""
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


@event_class
class TodoListItemProgress(RunData):
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


@event_class
class TodoListCompleted(RunData):
    """Every todo of the list is finished."""

    wire_name = "TodoListCompleted"
    affects_state = False

    completed_at: str
    total_rounds: int
    total_tool_calls: int


@event_class
class TodoListContextInjected(RunData):
    """The model was shown the list."""

    wire_name = "TodoListContextInjected"

    total_items: int
    active_item: str | None
    round: int
    finished: bool = False
    """Whether the list was shown as done, which happens once."""


@event_class
class TodoEvaluationStarted(RunData):
    """The model is asked whether a todo is completed."""

    wire_name = "TodoEvaluationStarted"
    affects_state = False

    item_id: str
    round: int


@event_class
class TodoEvaluationCompleted(RunData):
    """The model has judged a todo."""

    wire_name = "TodoEvaluationCompleted"
    affects_state = False

    item_id: str
    round: int
    status: str | None
    """What the item was set to; None if it was left as it is."""
    reason: str


@event_class
class ApprovalAsked(RunData):
    """A call waits for a person's word."""

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


@event_class
class ApprovalAnswered(RunData):
    """A person has answered a question."""

    wire_name = "ApprovalAnswered"
    is_progress = False

    question_id: str
    reply: str
    """once, always, offline (once, without the network) or no."""
    reason: str = ""
    key: str | None = None
    """Of one that allows it: shows that whoever answered was given the exact text."""


@event_class
class Usage(RunData):
    """Tokens of one request, and what the run has used so far."""

    wire_name = "Usage"
    affects_state = False

    round: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    total_tokens: int
    total_cost: float | None
    """US dollars; None where the price is not known."""


@event_class
class RunError(RunData):
    """A request to the model failed, or the run did."""

    wire_name = "RunError"
    affects_state = False

    message: str
    retry_in: float | None = None
    """Seconds until the request is made again; None if the run ends with it."""


@event_class
class RunControlRequested(RunData):
    """Someone wants something of the run."""

    wire_name = "RunRequested"
    is_progress = False

    request: str
    """stop, pause or resume."""


@event_class
class RunPaused(RunData):
    """A run that was asked to pause has come to the end of its round, and waits."""

    wire_name = "RunPaused"

    round: int


@event_class
class MessageAdded(RunData):
    """One message of the conversation, as the agent's library writes it."""

    wire_name = "MessageAdded"
    affects_state = False

    message: dict[str, Any]


@event_class
class ConversationCompacted(RunData):
    """A summary takes the place of all messages before a version."""

    wire_name = "ConversationCompacted"
    is_progress = False

    message: dict[str, Any]
    kept_from: int


@event_class
class RunFinished(RunData):
    """A run is over."""

    wire_name = "RunFinished"
    is_progress = False
    is_progress_of_sub_agent = True

    run_id: str
    reason: str
    rounds: int
    tool_calls: int
    error: str | None = None
    step: int = 0
    """Of an execution that changed the list: version of its last change."""
    previous: int | None = None
    """Of such an execution: where undo continues once it is undone."""


@event_class
class EvidenceAsked(RunData):
    """Items whose completion was refused once, because nothing shows that they are done."""

    wire_name = "EvidenceAsked"

    item_ids: tuple[str, ...]
