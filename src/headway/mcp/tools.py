"""The tools of the server: what each takes, does and answers. Nothing here knows of the protocol.

A call answers in text and as data. Many clients show their model only the data, so that is short and readable too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from headway.contracts.arguments import ToolFault
from headway.contracts.schema import build_item_schema
from headway.contracts.shared_rules import list_notes
from headway.core.errors import HeadwayError, InvalidPlan, InvalidTodos, NoPlan
from headway.core.evidence import evidence_level
from headway.core.model import FINISHED, Status, Todo
from headway.core.rules import Shape, check_todos, fields_by_name, is_array, is_object
from headway.core.text import json_type_name, sanitize_for_display, trim_text
from headway.tools.base import ToolInput, build_schema, validate_call
from headway.tools.plan.create_plan import PlanInput
from headway.views.listing import counts_line
from headway.views.prompt_block import TodoLineCache
from headway.views.undo_lines import undone_lines

if TYPE_CHECKING:
    from headway.contracts.dialects import Dialect
    from headway.contracts.todo_tools import TodoTool
    from headway.mcp.agents import CallingAgent
    from headway.session import Session, Written

SHAPE = Shape(
    names=fields_by_name("id", "content", "activeForm", "status", "priority", "depends_on", "notes", "verify"),
    max_items=1_000,
    max_chars=1_000,
)
MOST_IN_ANSWER = 50
"""Todos that the answer to a change shows."""
MOST_READ = 200
"""Todos that one `todo_read` shows."""
_WORKER = "Your name as a worker; leave it out unless you were told to use one."
_CHANGES = frozenset({"content", "activeForm", "status", "priority", "depends_on", "notes", "verify"})


@dataclass(frozen=True, slots=True)
class ServedAnswer:
    """What a call came to: data for programs and models, and the same as text."""

    data: dict[str, object]
    lines: list[str] = field(default_factory=list[str])

    @property
    def text(self) -> str:
        return "\n".join([str(self.data["summary"]), *self.lines])


@dataclass(frozen=True, slots=True)
class ServedTool:
    name: str
    title: str
    description: str
    input: dict[str, Any]
    output: dict[str, Any]
    """The schema of the data of an answer; empty: it answers in text alone."""
    run: Callable[[CallingAgent, dict[str, Any]], ServedAnswer]
    reads_only: bool = False
    destroys: bool = False
    is_idempotent: bool = False
    in_plan_mode: bool = True
    """Whether it works while the session is in plan mode."""


# what is answered


def _describe_object(required: Sequence[str], **properties: object) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}
_TODO = _describe_object(
    ("id", "content", "status"),
    **dict.fromkeys(("id", "content", "status", "priority", "notes", "owner", "verify", "evidence"), _TEXT),
    depends_on=_TEXTS,
    interrupted={"type": "boolean"},
)
_TODOS = {"type": "array", "items": _TODO}
_LIST_ANSWER = _describe_object(("summary", "todos"), summary=_TEXT, todos=_TODOS, notes=_TEXTS)
_NEXT_ANSWER = _describe_object(
    ("summary", "ready", "waiting"),
    summary=_TEXT,
    ready=_TODOS,
    waiting={"type": "array", "items": _describe_object(("id", "reason"), id=_TEXT, content=_TEXT, reason=_TEXT)},
)
_CLAIM_ANSWER = _describe_object(("summary",), summary=_TEXT, todo=_TODO, worker=_TEXT, lease_until=_TEXT, notes=_TEXTS)
_PLAN_ANSWER = _describe_object(("summary", "steps"), summary=_TEXT, steps=_TEXTS)


def to_record(todo: Todo, *, whole: bool = True) -> dict[str, object]:
    """The todo as a model is shown it; what is empty is left out."""
    record: dict[str, object] = {"id": todo.id, "content": todo.content, "status": str(todo.status)}
    rest: dict[str, object] = {"owner": todo.owner, "interrupted": todo.interrupted}
    if whole:
        rest |= {
            "priority": todo.priority and str(todo.priority),
            "depends_on": list(todo.depends_on),
            "notes": todo.notes,
            "verify": todo.verify,
            "evidence": evidence_level(todo),
        }
    return record | {name: value for name, value in rest.items() if value}


def _answer_with_list(session: Session, summary: str, notes: Sequence[str] = ()) -> ServedAnswer:
    """What a change came to, and the list as it now is: with it, what others changed meanwhile reaches the model."""
    todos = session.todos
    first = 0
    if len(todos) > MOST_IN_ANSWER:
        opened = next((at for at, todo in enumerate(todos) if todo.status not in FINISHED), 0)
        first = max(0, min(opened - 5, len(todos) - MOST_IN_ANSWER))
        shown = f"{first + 1} to {first + MOST_IN_ANSWER} of {len(todos):,}"
        notes = [*notes, f"Note: this shows todos {shown}; todo_read shows the others."]
    return _to_list_answer(summary, todos[first : first + MOST_IN_ANSWER], notes, whole=False)


def _to_list_answer(summary: str, todos: Sequence[Todo], notes: Sequence[str], *, whole: bool) -> ServedAnswer:
    data: dict[str, object] = {"summary": summary, "todos": [to_record(todo, whole=whole) for todo in todos]}
    if notes:
        data["notes"] = list(notes)
    return ServedAnswer(data, [*TodoLineCache().render(todos), *notes])


# the tools


StatusName = Literal["pending", "in_progress", "completed", "cancelled", "blocked"]


class ReadInput(ToolInput):
    status: list[StatusName] | None = Field(None, description="Show only todos with one of these statuses.")
    start: int = Field(1, ge=1, description="Position of the first todo to show.")


class UpdateInput(ToolInput):
    id: str
    status: StatusName | None = None
    content: str | None = None
    activeForm: str | None = None
    priority: Literal["high", "medium", "low"] | None = None
    depends_on: list[str] | None = Field(None, description="Ids of todos that must be completed first.")
    notes: str | None = Field(None, description="Why it is blocked or cancelled; anything the user should know.")
    verify: str | None = Field(None, description="Check: a command that fails until the todo is done.")
    worker: str | None = Field(None, description=_WORKER)


class ClaimInput(ToolInput):
    lease: float = Field(300, gt=0, description="Seconds until others may claim it, unless you renew.")
    worker: str | None = Field(None, description=_WORKER)


class RenewInput(ClaimInput):
    id: str


class ReleaseInput(ToolInput):
    id: str
    worker: str | None = Field(None, description=_WORKER)


class UndoInput(ToolInput):
    n: int = Field(1, ge=1, description="How many changes.")


class NoInput(ToolInput):
    pass


def _write(agent: CallingAgent, arguments: dict[str, Any]) -> ServedAnswer:
    if faults := _list_write_faults(arguments):
        raise InvalidTodos(faults)
    session = agent.open()
    todos, title = arguments["todos"], arguments.get("title")
    if is_array(todos):
        todos = [_drop_nulls(item) for item in todos]
    written = session.write(todos, title=title, actor=agent.actor, shape=SHAPE)
    summary = f"Todo list updated: {counts_line(written.todos)}" if written.todos else "Todo list cleared"
    return _answer_with_list(session, summary, list_notes(written))


def _list_write_faults(arguments: dict[str, Any]) -> list[str]:
    """Everything that is wrong, if something is with the call itself; with the todos alone, the core says it."""
    whole = [] if "todos" in arguments else ["todos: Required"]
    title = arguments.get("title")
    if title is not None and not isinstance(title, str):
        whole.append(f"title: Expected string, received {json_type_name(title)}")
    whole += [f"{sanitize_for_display(key)}: Unknown field" for key in arguments if key not in ("todos", "title")]
    faults: list[str] = []
    if whole and "todos" in arguments:
        check_todos(arguments["todos"], SHAPE, faults, whole)
    return faults + whole


def _drop_nulls(item: object) -> object:
    """The item without what is null: some models send every field that there is."""
    return {name: value for name, value in item.items() if value is not None} if is_object(item) else item


def _read(agent: CallingAgent, arguments: dict[str, Any]) -> ServedAnswer:
    call = validate_call("todo_read", ReadInput, arguments)
    todos = agent.open().todos
    found = [todo for todo in todos if call.status is None or todo.status in call.status]
    last = call.start - 1 + MOST_READ
    more = [f"Note: {len(found) - last:,} more; go on with start={last + 1}."] if len(found) > last else []
    summary = counts_line(todos) if todos else "The todo list is empty"
    return _to_list_answer(summary, found[call.start - 1 : last], more, whole=True)


def _update(agent: CallingAgent, arguments: dict[str, Any]) -> ServedAnswer:
    call = validate_call("todo_update", UpdateInput, arguments)
    fields = {name: getattr(call, name) for name in _CHANGES if getattr(call, name) is not None}
    if not fields:
        raise ToolFault(f"todo_update was not run: pass what is to change: {', '.join(sorted(_CHANGES))}.")
    session = agent.open()
    todo = session.update(trim_text(call.id), actor=agent.get_actor(call.worker), **fields)
    notes = [f"Its check has not run: {todo.verify}"] if todo.status is Status.COMPLETED and todo.verify else []
    return _answer_with_list(session, f"{_quote(todo)} is {todo.status}; {counts_line(session.todos)}", notes)


def _quote(todo: Todo) -> str:
    return sanitize_for_display(todo.id, 40)


def _claim(agent: CallingAgent, arguments: dict[str, Any]) -> ServedAnswer:
    call = validate_call("todo_claim", ClaimInput, arguments)
    session, worker = agent.open(), agent.get_claimer(call.worker)
    todo = session.claim(worker, call.lease)
    if todo is not None:
        return _answer_with_claim(todo, worker, f"You have {_quote(todo)} for {call.lease:g} seconds")
    _, waiting = session.next_todos()
    summary = "Nothing can be claimed now" if waiting else "Nothing to claim: every todo is finished"
    notes = [f"{_quote(entry.todo)}: {entry.reason}" for entry in waiting[:5]]
    return ServedAnswer({"summary": summary, "worker": worker, **({"notes": notes} if notes else {})}, notes)


def _renew(agent: CallingAgent, arguments: dict[str, Any]) -> ServedAnswer:
    call = validate_call("todo_renew", RenewInput, arguments)
    session, worker = agent.open(), agent.get_claimer(call.worker)
    todo = session.renew(trim_text(call.id), worker, call.lease)
    return _answer_with_claim(todo, worker, f"You keep {_quote(todo)} for {call.lease:g} seconds")


def _answer_with_claim(todo: Todo, worker: str, summary: str) -> ServedAnswer:
    data: dict[str, object] = {"summary": summary, "todo": to_record(todo), "worker": worker}
    if todo.lease_until:
        data["lease_until"] = todo.lease_until
    return ServedAnswer(data, TodoLineCache().render([todo]))


def _release(agent: CallingAgent, arguments: dict[str, Any]) -> ServedAnswer:
    call = validate_call("todo_release", ReleaseInput, arguments)
    session = agent.open()
    todo = session.release(trim_text(call.id), agent.get_claimer(call.worker))
    return _answer_with_list(session, f"{_quote(todo)} is pending again; {counts_line(session.todos)}")


def _create_plan(agent: CallingAgent, arguments: dict[str, Any]) -> ServedAnswer:
    plan = agent.open().set_plan(arguments, actor=agent.actor)
    number = len(plan.steps)
    what = f"This is now the plan ({number} step{'' if number == 1 else 's'})"
    summary = f"{what}; once the user agrees with it, make it the todo list with plan_to_todos"
    return ServedAnswer({"summary": summary, "steps": [step.id for step in plan.steps]})


def _make_plan_todos(agent: CallingAgent, arguments: dict[str, Any]) -> ServedAnswer:
    validate_call("plan_to_todos", NoInput, arguments)
    session = agent.open()
    try:
        written: Written = session.plan_to_todos(actor=agent.actor)
    except NoPlan:
        raise ToolFault("There is no plan; hand one over with create_plan first.") from None
    return _answer_with_list(session, f"The plan is the todo list: {counts_line(written.todos)}", list_notes(written))


def _list_next(agent: CallingAgent, arguments: dict[str, Any]) -> ServedAnswer:
    validate_call("next_todos", NoInput, arguments)
    ready, waiting = agent.open().next_todos()
    summary = f"{len(ready)} can start now, {len(waiting)} cannot yet"
    reasons = [
        {"id": entry.todo.id, "content": entry.todo.content, "reason": entry.reason}
        for entry in waiting[:MOST_IN_ANSWER]
    ]
    lines = [*TodoLineCache().render(ready[:MOST_IN_ANSWER]), *(f"{one['id']}: {one['reason']}" for one in reasons)]
    records = [to_record(todo) for todo in ready[:MOST_IN_ANSWER]]
    return ServedAnswer({"summary": summary, "ready": records, "waiting": reasons}, lines)


def _undo(agent: CallingAgent, arguments: dict[str, Any]) -> ServedAnswer:
    call = validate_call("todo_undo", UndoInput, arguments)
    session = agent.open()
    undone = session.undo(call.n, actor=agent.actor)
    notes = undone_lines(undone.steps)
    if undone.keeps_files:
        notes.append("Note: only the list was undone; files that the change wrote stay as they are.")
    summary = f"Undid {call.n} change{'' if call.n == 1 else 's'}; {counts_line(session.todos)}"
    return _answer_with_list(session, summary, notes)


def _write_schema() -> dict[str, Any]:
    todos = {
        "type": "array",
        "description": "The whole list; or, with ids only of todos that are in it, just what changes.",
        "maxItems": SHAPE.max_items,
        "items": build_item_schema(SHAPE),
    }
    title = {"type": "string", "description": "What the list is for."}
    properties = {"todos": todos, "title": title}
    return {"type": "object", "properties": properties, "required": ["todos"], "additionalProperties": False}


TOOLS: tuple[ServedTool, ...] = (
    ServedTool(
        "todo_write",
        "Write the todo list",
        "Keep the list of what you are working on; the user sees it live. Use it for work of three steps or more, "
        "or when asked to. Send the complete list: it replaces the previous one (an empty list clears it). If every"
        " todo you send has the id of one in the list, only the fields you send change and all other todos stay. "
        "Set a todo to in_progress before you start it, and to completed as soon as it is fully done, not before.",
        _write_schema(),
        _LIST_ANSWER,
        _write,
        destroys=True,
        is_idempotent=True,
        in_plan_mode=False,
    ),
    ServedTool(
        "todo_read",
        "Read the todo list",
        "Read the todo list with everything known of each todo. The user and other agents may have changed it.",
        build_schema(ReadInput),
        _LIST_ANSWER,
        _read,
        reads_only=True,
    ),
    ServedTool(
        "todo_update",
        "Change one todo",
        "Change one todo: its status as you work (in_progress, completed; blocked or cancelled with the reason in "
        "notes) or any other field. Everything else stays as it is.",
        build_schema(UpdateInput),
        _LIST_ANSWER,
        _update,
        is_idempotent=True,
        in_plan_mode=False,
    ),
    ServedTool(
        "todo_claim",
        "Claim the next todo",
        "Where several agents share the list: take the next todo that can start. It is yours, and in progress, "
        "until you complete or release it with its id or the lease ends. Work on nothing that you have not claimed.",
        build_schema(ClaimInput),
        _CLAIM_ANSWER,
        _claim,
        in_plan_mode=False,
    ),
    ServedTool(
        "todo_renew",
        "Keep a claimed todo",
        "Keep a todo that you claimed for longer; call it before the lease ends.",
        build_schema(RenewInput),
        _CLAIM_ANSWER,
        _renew,
        in_plan_mode=False,
    ),
    ServedTool(
        "todo_release",
        "Give back a claimed todo",
        "Give back a todo that you claimed and will not finish; it is pending again and others can claim it.",
        build_schema(ReleaseInput),
        _LIST_ANSWER,
        _release,
        in_plan_mode=False,
    ),
    ServedTool(
        "create_plan",
        "Submit a plan",
        "Submit a plan for the user to read; it replaces the previous one, and nothing is carried out. List the "
        "steps in an order in which they can be done, each small enough to be done and checked on its own, with its"
        " dependencies and its check (verify): a command that fails until the step is done.",
        build_schema(PlanInput),
        _PLAN_ANSWER,
        _create_plan,
        is_idempotent=True,
    ),
    ServedTool(
        "plan_to_todos",
        "Make the plan the todo list",
        "Replace the todo list by the plan's steps, once the user agrees with the plan.",
        build_schema(NoInput),
        _LIST_ANSWER,
        _make_plan_todos,
        destroys=True,
        is_idempotent=True,
        in_plan_mode=False,
    ),
    ServedTool(
        "next_todos",
        "Show what can start",
        "Show which todos can start now, and what each of the others waits for.",
        build_schema(NoInput),
        _NEXT_ANSWER,
        _list_next,
        reads_only=True,
    ),
    ServedTool(
        "todo_undo",
        "Undo changes of the list",
        "Undo the last changes of the todo list, whoever made them. Files stay as they are. Use it only if the user"
        " asks, or to take back a mistake of your own.",
        build_schema(UndoInput),
        _LIST_ANSWER,
        _undo,
        destroys=True,
        in_plan_mode=False,
    ),
)


def list_dialect_tools(dialect: Dialect) -> tuple[ServedTool, ...]:
    """The tools of a dialect, which answer as it does: in text alone."""
    return tuple(_serve_todo_tool(tool) for tool in dialect.tools)


def _serve_todo_tool(tool: TodoTool) -> ServedTool:
    def run(agent: CallingAgent, arguments: dict[str, Any]) -> ServedAnswer:
        values = tool.parse(arguments)
        return ServedAnswer({"summary": tool.change(agent.open(), values, agent.actor).text})

    return ServedTool(
        tool.name,
        "",
        tool.description,
        tool.parameters,
        {},
        run,
        reads_only=tool.reads_only,
        destroys=not tool.reads_only,
        in_plan_mode=tool.reads_only,
    )


def call_tool(tools: Mapping[str, ServedTool], agent: CallingAgent, name: str, arguments: object) -> ServedAnswer:
    """Run a call. Raises `HeadwayError`, whose text tells a model what is wrong and what to do."""
    tool = tools.get(name)
    if tool is None:
        raise ToolFault(f"There is no tool '{sanitize_for_display(name)}'; the tools are: {', '.join(tools)}.")
    if not is_object(arguments):
        raise ToolFault(f"{name} was not run: send its arguments as one JSON object.")
    if not tool.in_plan_mode and agent.open().is_planning:
        raise ToolFault(
            f"{name} changed nothing: the user has switched plan mode on; look around and propose a plan"
            f"{', with create_plan' if 'create_plan' in tools else ''}."
        )
    try:
        return tool.run(agent, arguments)
    except (InvalidTodos, InvalidPlan) as error:
        lines = "\n".join(f"- {line}" for line in error.violations)
        raise ToolFault(f"{name} changed nothing. Correct this and call it again:\n{lines}") from None
    except ToolFault:
        raise
    except HeadwayError as error:
        raise ToolFault(f"{name} changed nothing: {error}") from None
