"""What the three TodoWrite contracts share: shapes, the check of a whole call, and notes on what was dropped."""

from __future__ import annotations

from headway.contracts.limits import max_chars, max_items
from headway.core.errors import InvalidTodos
from headway.core.model import MODEL, Status
from headway.core.rules import DuplicateKeys, Fault, Shape, check_text, check_todos, fields_by_name, is_object
from headway.core.text import join_first_few, json_type_name, sanitize_for_display

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from headway.session import Session, Written

NAME = "TodoWrite"
_PLAN_MODE = f"{NAME} is not available in plan mode and nothing was changed; finish the plan with create_plan instead."
_WORK = (Status.PENDING, Status.IN_PROGRESS, Status.COMPLETED)

ENVELOPE = Shape(
    names=fields_by_name("content", "status"),
    required=("content", "status"),
    statuses=(*_WORK, Status.CANCELLED),
    max_items=10,
    max_chars=60,
    one_active=True,
    ignored=frozenset({"id"}),
)
_shell_shapes: dict[tuple[int, int], Shape] = {}


def shell_shape() -> Shape:
    """The shape of `shell` and `agent`, with the limits now set in the environment."""
    limits = (max_items(), max_chars())
    found = _shell_shapes.get(limits)
    if found is None:
        found = _shell_shapes[limits] = Shape(
            names=fields_by_name("content", "activeForm", "status"),
            required=("content", "activeForm", "status"),
            statuses=_WORK,
            max_items=limits[0],
            max_chars=limits[1],
            one_active=True,
        )
    return found


def apply_call(session: Session, call: object, shape: Shape, *, with_summary: bool = False) -> Written:
    """Applies a whole call: always a replacement. Raises `InvalidTodos` with every violation."""
    fields = _check_call(call, shape, with_summary)
    summary = str(fields["summary"]) if with_summary else None
    return session.write(fields["todos"], replace=True, summary=summary, actor=MODEL, shape=shape)


def _check_call(call: object, shape: Shape, with_summary: bool) -> dict[str, object]:
    """The fields of the call. Items are checked again by the core; here only if the call itself is at fault."""
    if not is_object(call):
        raise InvalidTodos([f"(root): Expected object, received {json_type_name(call)}"])
    found = {key: _find_fault(key, value, with_summary) for key, value in call.items()}
    faults = ["summary: Required"] if with_summary and "summary" not in call else []
    whole = [] if "todos" in call else ["todos: Required"]
    repeated = call.repeated if isinstance(call, DuplicateKeys) else ()
    if not (faults or whole or repeated or any(found.values())):
        return call
    for key, fault in found.items():
        if key == "todos":
            check_todos(call["todos"], shape, faults, whole)
        elif fault:
            faults.append(f"{sanitize_for_display(key)}: {fault}")
    faults.extend(f"{sanitize_for_display(key)}: Duplicate field" for key in repeated)
    raise InvalidTodos(faults + whole)


def _find_fault(key: str, value: object, with_summary: bool) -> str | None:
    """What is wrong with a field of the call itself."""
    if key == "todos":
        return None
    if key != "summary" or not with_summary:
        return "Unknown field"
    try:
        return "Required" if check_text(value) is None else None
    except Fault as fault:
        return str(fault)


def explain_plan_mode(session: Session) -> str | None:
    """Return why the list may not be written now, if the agent only plans."""
    return _PLAN_MODE if session.is_planning else None


def format_correction(error: InvalidTodos) -> str:
    """What a model is told of a call that was refused."""
    lines = [f"{NAME} changed nothing. Correct this and send the complete list again:"]
    return "\n".join([*lines, *(f"- {line}" for line in error.violations)])


def format_counts(written: Written) -> str:
    """`Todo list updated: 1 completed, 2 pending`, as it was sent, or that it was cleared."""
    if not written.todos:
        return "Todo list cleared"
    statuses = [written.refused_statuses.get(todo.id, todo.status) for todo in written.todos]
    order = (Status.COMPLETED, Status.IN_PROGRESS, Status.PENDING)
    parts = [f"{count} {status}" for status in order if (count := statuses.count(status))]
    return "Todo list updated: " + ", ".join(parts)


def list_notes(written: Written, ids: Mapping[str, str] | None = None) -> list[str]:
    """What a replacement dropped, and which states it could not set, so that nothing happens in silence.

    `ids` has the ids that the reader knows the items by, if they are others.
    """
    lines: list[str] = []
    kept = [todo for todo in written.todos if todo.id in written.refused_statuses]
    for status in dict.fromkeys(todo.status for todo in kept):
        names = [(ids or {}).get(todo.id, sanitize_for_display(todo.id, 40)) for todo in kept if todo.status is status]
        lines.append(f"Note: {', '.join(names)} {'stays' if len(names) == 1 else 'stay'} {status}")
    if dropped := written.dropped:
        what = "todo was" if len(dropped) == 1 else "todos were"
        lines.append(f"Note: {len(dropped)} unfinished {what} dropped: {join_first_few([t.content for t in dropped])}")
    if detached := written.detached:
        what = "dependency" if len(detached) == 1 else "dependencies"
        pairs = [f"{item} on {needed}" for item, needed in detached]
        lines.append(f"Note: {len(detached)} {what} on dropped todos removed: {join_first_few(pairs)}")
    return lines
