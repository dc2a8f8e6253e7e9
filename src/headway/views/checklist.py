"""The list as a Markdown checklist and back. What is exported comes back equal; any person's checklist is read too.

A marker comment says that the file is an export: then every field is in it, and what is absent was unset. Without it
only what is recognised counts, and everything else is prose.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headway.core.errors import HeadwayError
from headway.core.fields import FIELD
from headway.core.markup import escape_markdown, unescape_markdown
from headway.core.model import Status, Todo
from headway.core.rules import Fault, check_field

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MARKER = "<!-- headway checklist 1 -->"
_BOXES = {
    Status.PENDING: " ",
    Status.COMPLETED: "x",
    Status.IN_PROGRESS: "/",
    Status.CANCELLED: "~",
    Status.BLOCKED: "!",
}
_STATUSES = {box: status for status, box in _BOXES.items()} | {
    "": Status.PENDING,
    "X": Status.COMPLETED,
    "-": Status.CANCELLED,
}
_LABELS = {
    "active_form": "active form",
    "priority": "priority",
    "module": "module",
    "depends_on": "depends on",
    "risks": "risk",
    "estimated_time": "time",
    "verify": "check",
    "notes": "notes",
    "created_from": "from",
    "created_at": "created",
    "completed_at": "completed",
}
"""Field → what it is called under an item, in the order in which it is written."""
_NAMES = {label: name for name, label in _LABELS.items()} | {
    "id": "id",
    "risks": "risks",
    "dependencies": "depends_on",
    "estimated time": "estimated_time",
    "note": "notes",
}
_BULLET = r"(?P<indent>\s*(?:>\s*)*)(?:[-*+]|\d{1,9}[.)])\s+"
_ITEM = re.compile(_BULLET + r"\[(?P<box>[ xX/~!-]?)\](?:\s+(?P<text>.*))?$", re.DOTALL)
_FACT = re.compile(_BULLET + r"(?P<label>[A-Za-z_ ]{2,20}):\s+(?P<text>.*)$", re.DOTALL)
_MORE = re.compile(r"\s+(?![-*+>#|\s]|\d{1,9}[.)]\s)(?P<text>.*)$", re.DOTALL)
_FENCE = re.compile(r"[\s>]*(?P<fence>`{3,}|~{3,})(?P<info>.*)$", re.DOTALL)
_SIMPLE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:/-]{0,99}")
_INLINE_ID = re.compile(r"`(?P<id>[^`]+)`\s+(?P<text>.*)$", re.DOTALL)
_GIVEN_ID = re.compile(r"t\d{1,9}")
"""In a person's checklist code at the start of an item is an id only if it looks like one that Headway gave."""
_CODE = re.compile(r"`[^`]+`")
_LINE_END = re.compile(r"\r\n|\n|\r")
_EXPECTED = "There are no checklist lines; expected lines such as `- [ ] Fix the parser` or `- [x] Read the test`."


def to_markdown(todo_list_title: str, todos: Sequence[Todo]) -> str:
    """The checklist: one item a line, its other fields as indented bullets below it."""
    lines = [f"# {escape_markdown(todo_list_title)}", "", MARKER, ""]
    for todo in todos:
        lines.extend(_format_todo(todo))
    return "\n".join(lines).rstrip("\n") + "\n"


def _format_todo(todo: Todo) -> Iterator[str]:
    simple = _SIMPLE_ID.fullmatch(todo.id)
    named = f"`{todo.id}` " if simple else ""
    yield f"- [{_BOXES[todo.status]}] {named}{escape_markdown(todo.content)}"
    if not simple:
        yield f"  - id: {escape_markdown(todo.id)}"
    for name, label in _LABELS.items():
        value = getattr(todo, name)
        if name == "depends_on" and value:
            yield f"  - {label}: {', '.join(_format_reference(node) for node in value)}"
        elif isinstance(value, tuple):
            for part in value:  # pyright: ignore[reportUnknownVariableType]
                yield f"  - {label}: {escape_markdown(str(part))}"  # pyright: ignore[reportUnknownArgumentType]
        elif value:
            yield f"  - {label}: {escape_markdown(str(value))}"


def _format_reference(todo_id: str) -> str:
    return f"`{todo_id}`" if _SIMPLE_ID.fullmatch(todo_id) else escape_markdown(todo_id).replace(",", "&#44;")


def from_markdown(text: str) -> list[dict[str, object]]:
    """The items of a checklist, for `session.write(items, replace=True)`."""
    lines = _LINE_END.split(text.removeprefix("\ufeff"))
    exported = any(line.strip() == MARKER for line in lines)
    found: list[_FoundTodo] = []
    for line in _drop_code(lines):
        if item := _ITEM.match(line):
            found.append(_FoundTodo(len(item["indent"]), [item["text"] or ""], _STATUSES[item["box"]]))
        elif found:
            _read_below(found[-1], line)
    items = [item for each in found if (item := _to_todo_fields(each, exported))["content"]]
    if not items and not exported:
        raise HeadwayError(_EXPECTED)
    return items if exported else _drop_unknown_dependencies(items)


def has_items(text: str) -> bool:
    """Whether any line of the text is a checklist line."""
    return any(_ITEM.match(line) for line in _LINE_END.split(text))


@dataclass(slots=True)
class _FoundTodo:
    """An item as it was found, with the lines below it that belong to it."""

    depth: int
    text: list[str]
    status: Status
    facts: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    more: bool = True
    """The next line may continue the text."""
    closed: bool = False
    """Something came that is not part of the item: what follows is not about it."""


def _drop_code(lines: Sequence[str]) -> Iterator[str]:
    """The lines outside fenced code, where a checklist is only an example of one."""
    fence = ""
    for line in lines:
        found = _FENCE.match(line)
        if fence:
            if found and found["fence"].startswith(fence) and not found["info"].strip():
                fence = ""
        elif found and not (found["fence"][0] == "`" and "`" in found["info"]):
            fence = found["fence"]
        else:
            yield line


def _read_below(item: _FoundTodo, line: str) -> None:
    """Takes a line under an item: a fact about it, more of its text, or the end of what belongs to it."""
    if item.closed:
        return
    depth = len(line) - len(line.lstrip(" \t>"))
    if depth <= item.depth:
        item.closed = bool(line.strip())
        item.more = False
    elif fact := _FACT.match(line):
        item.more = False
        if name := _NAMES.get(fact["label"].strip().lower().replace("_", " ")):
            item.facts.append((name, fact["text"].strip()))
    elif item.more and (more := _MORE.match(line)):
        item.text.append(more["text"].strip())
    else:
        item.more = False


def _to_todo_fields(found: _FoundTodo, exported: bool) -> dict[str, object]:
    item: dict[str, object] = {}
    if exported:
        item.update(dict.fromkeys(_LABELS))
    text = " ".join(found.text)
    inline = _INLINE_ID.match(text)
    if inline and (exported or _GIVEN_ID.fullmatch(inline["id"])):
        item["id"], text = inline["id"], inline["text"]
    item["content"], item["status"] = unescape_markdown(text).strip(), found.status.value
    for name, value in _parse_facts(found.facts).items():
        # In a person's checklist "Check: …" is prose, and nothing of it is to be run.
        if exported or (name != "verify" and _is_valid(name, value)):
            item[name] = value
    return item


def _parse_facts(facts: Sequence[tuple[str, str]]) -> dict[str, object]:
    """field → value as it was written; of a field given twice the first counts, lists grow."""
    values: dict[str, object] = {}
    many: dict[str, list[str]] = {}
    for name, raw in facts:
        if name == "depends_on":
            many.setdefault(name, []).extend(_parse_references(raw))
        elif name == "risks":
            many.setdefault(name, []).append(unescape_markdown(raw))
        else:
            values.setdefault(name, unescape_markdown(raw))
    return {**values, **many}


def _parse_references(raw: str) -> list[str]:
    parts = [part.strip() for part in raw.split(",")]
    return [part[1:-1] if _CODE.fullmatch(part) else unescape_markdown(part) for part in parts if part]


def _is_valid(name: str, value: object) -> bool:
    try:
        return check_field(FIELD[name], value) is not None
    except Fault:
        return False


def _drop_unknown_dependencies(items: list[dict[str, object]]) -> list[dict[str, object]]:
    """A person's items, without dependencies on what no line names: there the word was prose."""
    known = {item.get("id") for item in items}
    for item in items:
        needed = item.get("depends_on")
        if isinstance(needed, list) and not known.issuperset(needed):  # pyright: ignore[reportUnknownArgumentType]
            del item["depends_on"]
    return items
