"""Dependencies: faults with their texts, what can start now, and why the rest cannot."""

from __future__ import annotations

from itertools import pairwise

import pytest
from tests.support.counts import some

from headway import InvalidTodos, Session
from headway.core.graph import find_cycle

from .samples import in_memory, items


def faults(todos: list[dict[str, object]]) -> list[str]:
    session = in_memory()
    with pytest.raises(InvalidTodos) as caught:
        session.write(todos)
    assert session.version == 0
    return [str(violation) for violation in caught.value.violations]


def node(todo_id: str, *needed: str, **fields: object) -> dict[str, object]:
    return {"id": todo_id, "content": f"do {todo_id}", "depends_on": list(needed), **fields}


def test_unknown_self_and_cyclic_dependencies_are_all_named() -> None:
    assert faults([node("t1", "t3", "t9"), node("t2", "t2"), node("t3", "t1"), node("t4", "t1")]) == [
        "todos[0].depends_on: Unknown id 't9'",
        "todos[1].depends_on: 't2' depends on itself",
        "todos: Dependency cycle t1 → t3 → t1",
    ]


def test_each_arrow_of_a_cycle_means_depends_on() -> None:
    edges = {"a": ["b"], "b": ["c"], "c": ["a"], "d": ["a"]}
    (violation,) = faults([node(name, *needed) for name, needed in edges.items()])
    path = violation.removeprefix("todos: Dependency cycle ").split(" → ")
    assert path[0] == path[-1]
    assert len(path) == 4
    assert all(needed in edges[name] for name, needed in pairwise(path))


@pytest.mark.parametrize("name", ["depends_on", "dependencies", "dependsOn"])
def test_an_update_may_not_close_a_cycle(session: Session, name: str) -> None:
    session.write([node("t1"), node("t2", "t1")])
    with pytest.raises(InvalidTodos, match=r"Dependency cycle t[12] → t[12] → t[12]"):
        session.update("t1", **{name: ["t2"]})  # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidTodos, match="'t1' depends on itself"):
        session.write([{"id": "t1", name: ["t1"]}])
    assert session.version == 1


def test_two_items_may_swap_their_order_in_one_update(session: Session) -> None:
    session.write([node("t1"), node("t2", "t1")])
    swapped: list[dict[str, object]] = [{"id": "t1", "depends_on": ["t2"]}, {"id": "t2", "depends_on": []}]
    session.write(swapped)
    assert [todo.depends_on for todo in session.todos] == [("t2",), ()]


def test_a_dependency_named_twice_is_kept_once(session: Session) -> None:
    session.write([node("t1"), node("t2", "t1", " t1 ")])
    assert session.todos[1].depends_on == ("t1",)


def test_what_can_start_comes_by_priority_then_by_place(session: Session) -> None:
    session.write(
        [
            node("a", priority="low"),
            node("b"),
            node("c", priority="high"),
            node("d", priority="medium"),
            node("e", "c", priority="high"),
            node("f", priority="high", status="completed"),
            node("g", "f", priority="high"),
        ]
    )
    ready, waiting = session.next_todos()
    assert [todo.id for todo in ready] == ["c", "g", "b", "d", "a"]
    assert [(entry.todo.id, entry.reason) for entry in waiting] == [("e", "waits for c (pending)")]


def test_each_kind_of_waiting_has_its_reason(session: Session) -> None:
    session.write(
        [
            node("a", status="in_progress"),
            node("b"),
            node("c", status="blocked"),
            node("d", status="blocked", notes="no network"),
            node("e", status="cancelled"),
            node("f", "a", "b", "c", "e"),
            node("g", status="completed"),
        ]
    )
    session.claim("ada")
    _, waiting = session.next_todos()
    assert {entry.todo.id: entry.reason for entry in waiting} == {
        "a": "in progress",
        "b": "in progress by ada",
        "c": "blocked",
        "d": "blocked: no network",
        "f": "waits for a (in_progress), b (in_progress), c (blocked), "
        "e (cancelled: reopen it, or remove the dependency)",
    }


def test_an_empty_list_has_nothing_to_start(session: Session) -> None:
    assert session.next_todos() == ([], [])


@pytest.mark.full
def test_thousands_of_items_with_half_as_many_dependencies_more_work(session: Session) -> None:
    count = some(10_000)
    chain = {n: [n - 1] for n in range(1, count)}
    for n in range(3, count, 2):
        chain[n].append(n // 2)
    session.write([node("n0"), *(node(f"n{n}", *(f"n{m}" for m in needed)) for n, needed in chain.items())])
    assert sum(len(todo.depends_on) for todo in session.todos) == count - 1 + count // 2 - 1
    ready, waiting = session.next_todos()
    assert ([todo.id for todo in ready], len(waiting)) == (["n0"], count - 1)
    with pytest.raises(InvalidTodos) as caught:
        session.update("n0", depends_on=[f"n{count - 1}"])
    (violation,) = caught.value.violations
    assert violation.startswith("todos: Dependency cycle n")
    assert session.version == 1


@pytest.mark.full
def test_a_long_chain_is_walked_without_recursion() -> None:
    length = some(20_000)
    chain = {str(n): [str(n + 1)] for n in range(length)}
    assert find_cycle(chain) == []
    assert len(find_cycle({**chain, str(length): ["0"]})) == length + 2


def test_a_replacement_without_dependencies_keeps_those_there_were(session: Session) -> None:
    session.write([node("t1"), node("t2", "t1")])
    session.write(items("do t2", "do t1", "new"))
    first = session.todos[0]
    assert (first.id, first.depends_on) == ("t2", ("t1",))
