"""New items from checked fields: which is which old one, what is kept, what a new status brings with it. Pure."""

from __future__ import annotations

from dataclasses import replace

from headway.core.errors import InvalidTodos
from headway.core.graph import list_edge_faults
from headway.core.model import Status, Todo, TodoList, new_todo, parse_id_number, replace_fields
from headway.core.rules import check_todos, has_field, is_array

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from headway.core.events import ListDelta
    from headway.core.evidence import Evidence
    from headway.core.rules import Patch, Shape

    KeepsState = Callable[[Todo, object], bool]
    """Whether an item keeps its state though a rewrite has this status for it."""


def replace_todos(
    old: TodoList,
    patches: list[Patch],
    at: str,
    statuses: tuple[Status, ...],
    keeps: KeepsState | None = None,
    shown_as_pending: frozenset[str] = frozenset(),
) -> list[Todo]:
    """The items of a replacement: equal content is the same item, the nth of equals the nth. Passed ids are kept.

    `statuses` are those that whoever wrote it can say. An item that has another one keeps it when it comes back as
    pending, unless it is one of those that the writer was `shown_as_pending`; and it stays if it is cancelled and left
    out. An empty replacement clears all.
    """
    given = _list_passed_ids(patches) if any(has_field(patches, "id")) else {}
    stay: dict[str, Todo] = {}
    if patches and Status.CANCELLED not in statuses:
        stay = {todo.id: todo for todo in old.items.values() if todo.status is Status.CANCELLED}
    if stay:
        active = {todo_id: todo for todo_id, todo in old.items.items() if todo_id not in stay}
        matches = _match_old_todos(active, patches, given)
        _match_by_content(matches, stay, patches)
    else:
        matches = _match_old_todos(old.items, patches, given)
    for match, patch in zip(matches, patches, strict=True):
        if match is None or match.status in statuses or match.id in shown_as_pending:
            continue
        if patch.get("status") is Status.PENDING:
            patch["status"] = match.status
    taken = set(given.values())
    free = generate_free_ids(old, taken)
    result: list[Todo] = []
    for index, (match, patch) in enumerate(zip(matches, patches, strict=True)):
        if match is None:
            result.append(create_todo(given.get(index) or next(free), patch, at))
            continue
        if keeps is not None and keeps(match, patch.get("status")):
            patch = drop_status(patch)
        todo = patch_todo(match, patch, at)
        if given:
            todo_id = given.get(index) or (next(free) if match.id in taken else match.id)
            todo = todo if todo_id == match.id else replace_fields(todo, {"id": todo_id})
        result.append(todo)
    moved = {match.id: todo.id for match, todo in zip(matches, result, strict=True) if match is not None}
    if left_out := {todo_id: todo for todo_id, todo in stay.items() if todo_id not in moved}:
        patches = [*patches]
        _insert(left_out, result, patches, old, moved)
    if any(todo.depends_on for todo in result):
        _keep_dependencies(result, patches, moved)
    return result


def _insert(
    left_out: dict[str, Todo], result: list[Todo], patches: list[Patch], old: TodoList, moved: dict[str, str]
) -> None:
    """Put items that were left out behind what they followed in the old list."""
    places = {todo.id: place for place, todo in enumerate(result)}
    following: dict[int, list[Todo]] = {}
    place = -1
    for todo_id, todo in old.items.items():
        if todo_id in left_out:
            following.setdefault(place, []).append(todo)
        elif todo_id in moved:
            place = places[moved[todo_id]]
    moved.update((todo_id, todo_id) for todo_id in left_out)
    for place in sorted(following, reverse=True):
        result[place + 1 : place + 1] = following[place]
        patches[place + 1 : place + 1] = [{} for _ in following[place]]


def _match_old_todos(old: dict[str, Todo], patches: list[Patch], given: Mapping[int, str]) -> list[Todo | None]:
    """For each new item the old one that it is: by id and content, else in place, else the next of its content."""
    found: list[Todo | None] = [None] * len(patches)
    for index, todo_id in given.items():
        todo = old.get(todo_id)
        if todo is not None and todo.content == patches[index]["content"]:
            found[index] = todo
    if not given:
        in_place = 0
        for todo, patch in zip(old.values(), patches, strict=False):
            if todo.content != patch["content"]:
                break
            found[in_place] = todo
            in_place += 1
        if in_place == len(patches):
            return found
    _match_by_content(found, old, patches)
    return found


def _match_by_content(found: list[Todo | None], old: dict[str, Todo], patches: list[Patch]) -> None:
    """Fill in, for each new item without an old one, the next of its content."""
    if not old:
        return
    same = _group_by_content(old, {todo.id for todo in found if todo is not None})
    for index, patch in enumerate(patches):
        if found[index] is None and (todos := same.get(patch["content"])):
            found[index] = todos.pop()


def _list_passed_ids(patches: list[Patch]) -> dict[int, str]:
    """index → id for the ids that were passed; a repeated id counts where it comes first."""
    given: dict[int, str] = {}
    seen: set[str] = set()
    for index, patch in enumerate(patches):
        todo_id = patch.pop("id", None)
        if isinstance(todo_id, str) and todo_id not in seen:
            seen.add(todo_id)
            given[index] = todo_id
    return given


def generate_free_ids(old: TodoList, taken: set[str]) -> Iterator[str]:
    """Yield ids that this list has not used for anything."""
    number = max([old.next_number, *(parse_id_number(todo_id) + 1 for todo_id in taken)])
    while True:
        todo_id = f"t{number}"
        number += 1
        if todo_id not in old.items and todo_id not in taken:
            yield todo_id


def _group_by_content(old: dict[str, Todo], taken: set[str]) -> dict[object, list[Todo]]:
    """content → old items that have it, the first one last, so that `pop` gives them in order."""
    found: dict[object, list[Todo]] = {}
    for todo in reversed(old.values()):
        if todo.id not in taken:
            found.setdefault(todo.content, []).append(todo)
    return found


def _keep_dependencies(items: list[Todo], patches: list[Patch], moved: Mapping[str, str]) -> None:
    """Turn dependencies, where none were passed, into those on what is still there, under its present id."""
    for index, todo in enumerate(items):
        if todo.depends_on and "depends_on" not in patches[index]:
            kept = tuple(moved[node] for node in todo.depends_on if node in moved)
            if kept != todo.depends_on:
                items[index] = replace_fields(todo, {"depends_on": kept})


def find_refused_statuses(sent: object, todos: Iterable[Todo], shape: Shape) -> dict[str, Status]:
    """Return the statuses that were sent and not set, by the ids of the items that kept another one."""
    left = {todo.id: todo for todo in todos}
    refused: dict[str, Status] = {}

    def match(todo: Todo, status: Status) -> None:
        del left[todo.id]
        if status is not todo.status:
            refused[todo.id] = status

    unmatched: list[tuple[object, Status]] = []
    for patch in check_todos(sent, shape, [], []):
        status = patch.get("status")
        if not isinstance(status, Status):
            continue
        todo = left.get(str(patch.get("id")))
        if todo is not None and patch.get("content", todo.content) == todo.content:
            match(todo, status)
        else:
            unmatched.append((patch.get("content"), status))
    for is_same_status in (True, False):
        # A cancelled item may be one that was left out: where others have the same text, those were sent.
        same: dict[object, list[Todo]] = {}
        for todo in sorted(left.values(), key=lambda todo: todo.status is not Status.CANCELLED):
            same.setdefault((todo.content, todo.status) if is_same_status else todo.content, []).append(todo)
        others: list[tuple[object, Status]] = []
        for content, status in unmatched:
            if found := same.get((content, status) if is_same_status else content):
                match(found.pop(), status)
            else:
                others.append((content, status))
        unmatched = others
    return refused


def remove_todos(items: Mapping[str, Todo], gone: set[str]) -> list[Todo]:
    """Return the items without some of them, and without dependencies on those."""
    return [
        todo
        if gone.isdisjoint(todo.depends_on)
        else replace_fields(todo, {"depends_on": tuple(node for node in todo.depends_on if node not in gone)})
        for todo in items.values()
        if todo.id not in gone
    ]


def find_dropped(delta: ListDelta, items: Mapping[str, Todo]) -> tuple[list[Todo], list[tuple[str, str]]]:
    """Return what a replacement dropped: (items that are gone, (item, dependency) pairs that went with them).

    `items` is the list after it. An item whose content came back under another id is not gone.
    """
    before = {todo.id: todo for todo in delta.removed}
    came: dict[object, list[str]] = {}
    for todo in reversed(delta.added):
        came.setdefault(todo.content, []).append(todo.id)
    for todo_id, fields in delta.changed.items():
        if "content" in fields:
            before[todo_id] = replace_fields(items[todo_id], {name: side[0] for name, side in fields.items()})
            came.setdefault(fields["content"][1], []).append(todo_id)
    successors = {todo.id: ids.pop() for todo in before.values() if (ids := came.get(todo.content))}
    gone = {todo_id: todo for todo_id, todo in before.items() if todo_id not in successors}
    needed: dict[str, object] = {successors[old]: before[old].depends_on for old in successors}
    for todo_id, fields in delta.changed.items():
        if todo_id not in before and "depends_on" in fields:
            needed[todo_id] = fields["depends_on"][0]
    pairs = [
        (todo_id, str(node))
        for todo_id, nodes in needed.items()
        if is_array(nodes)
        for node in nodes
        if node in gone and node not in items[todo_id].depends_on
    ]
    return list(gone.values()), pairs


def check_dependencies(items: list[Todo], name: str = "depends_on", path: Mapping[str, str] | None = None) -> None:
    """Raise every fault of the dependencies of a list. `path` has ids whose faults are reported under another path."""
    edges = {todo.id: todo.depends_on for todo in items}
    paths = {todo.id: f"todos[{index}].{name}" for index, todo in enumerate(items)}
    if faults := list_edge_faults(edges, {**paths, **(path or {})}, "todos"):
        raise InvalidTodos(faults)


def create_todo(todo_id: str, patch: Patch, at: str) -> Todo:
    status = patch.get("status")
    if patch.get("created_at") is None:
        patch["created_at"] = at
    if status is Status.IN_PROGRESS:
        patch.setdefault("started_at", at)
    elif status is Status.COMPLETED:
        patch.setdefault("completed_at", at)
    return new_todo(todo_id, **patch)


def drop_status(patch: Patch) -> Patch:
    return {name: value for name, value in patch.items() if name != "status"}


def patch_todo(todo: Todo, patch: Patch, at: str) -> Todo:
    """Return the item with the passed fields; the same object if nothing differs.

    What the tracker only inferred to be completed is confirmed by a patch that says so.
    """
    if todo.evidence is not None and patch.get("status") is todo.status is Status.COMPLETED:
        patch = _confirm_evidence(todo.evidence, patch)
    for name, value in patch.items():
        if getattr(todo, name) != value:
            break
    else:
        return todo
    changes = {name: value for name, value in patch.items() if getattr(todo, name) != value}
    if "verify" in changes and todo.evidence is not None and _is_about_failed_check(todo.evidence):
        changes.setdefault("evidence", None)  # that check is gone
    if "status" in changes:
        for name, value in _fields_that_follow(todo, changes["status"], at).items():
            if name not in patch:
                changes[name] = value
    return replace_fields(todo, changes)


def _confirm_evidence(evidence: Evidence, patch: Patch) -> Patch:
    from headway.core.evidence import EvidenceLevel

    if evidence.level is not EvidenceLevel.INFERRED or "evidence" in patch:
        return patch
    return {**patch, "evidence": replace(evidence, level=EvidenceLevel.REPORTED)}


def _is_about_failed_check(evidence: Evidence) -> bool:
    from headway.core.evidence import CHECK_FAILED

    return evidence.note == CHECK_FAILED


def _fields_that_follow(todo: Todo, status: object, at: str) -> Patch:
    """Return what a new status changes besides itself."""
    brought: Patch = {"lease_until": None}
    if todo.status is Status.COMPLETED:
        brought.update(completed_at=None, completed_at_round=None, evidence=None)
    if status is Status.IN_PROGRESS:
        brought.update(started_at=todo.started_at or at, interrupted=False, owner=None)
    elif status is Status.COMPLETED:
        brought.update(completed_at=at, interrupted=False)
    elif status is Status.PENDING:
        brought["owner"] = None
    return brought
