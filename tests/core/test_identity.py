"""Which item is which: updates by id, replacement, ids that stay, and what a replacement drops."""

from __future__ import annotations

import pytest

from headway import InvalidTodos, NothingToUndo, Session, TodoNotFound

from .samples import Clock, by_content, ids, items


def test_known_ids_change_only_the_fields_that_were_passed(session: Session) -> None:
    session.write([{"content": "A", "notes": "keep"}, {"content": "B"}, {"content": "C"}])
    before = session.todos
    session.write([{"id": "t3", "priority": "low"}, {"id": "t1", "content": "A2"}])
    after = session.todos
    assert [todo.content for todo in after] == ["A2", "B", "C"]
    assert (after[0].notes, after[0].created_at) == ("keep", before[0].created_at)
    assert after[1] is before[1]
    assert after[2].priority == "low"


def test_an_id_passed_twice_in_an_update_changes_its_item_twice(session: Session) -> None:
    session.write(items("A"))
    session.write([{"id": "t1", "notes": "n"}, {"id": "t1", "status": "completed"}])
    (todo,) = session.todos
    assert (todo.notes, todo.status) == ("n", "completed")


@pytest.mark.parametrize("stranger", [{"content": "C"}, {"id": "t9", "content": "C"}])
def test_a_single_unknown_or_missing_id_means_replacement(session: Session, stranger: dict[str, object]) -> None:
    session.write(items("A", "B"))
    written = session.write([{"id": "t1", "content": "A", "status": "completed"}, stranger])
    assert [todo.content for todo in written.todos] == ["A", "C"]
    assert [todo.content for todo in written.dropped] == ["B"]


def test_known_ids_replace_too_where_replacement_is_asked_for(session: Session) -> None:
    session.write(items("A", "B"))
    written = session.write([{"id": "t2", "content": "B"}], replace=True)
    assert ids(session) == ["t2"]
    assert [todo.id for todo in written.dropped] == ["t1"]


def test_a_replacement_with_an_id_but_no_content_is_refused(session: Session) -> None:
    session.write(items("A"))
    with pytest.raises(InvalidTodos, match=r"todos\[0\]\.content: Required"):
        session.write([{"id": "t1", "status": "completed"}, {"content": "B"}])
    assert session.version == 1


def test_equal_content_keeps_id_timestamps_record_and_what_was_not_sent(session: Session, clock: Clock) -> None:
    session.write([{"content": "A"}])
    session.add("B", priority="high", depends_on=["t1"], tool_calls=4, notes="n", risks=["r"], module="m")
    before = by_content(session)
    clock.forward(60)
    session.write([{"content": "B"}, {"content": "A", "status": "in_progress"}, {"content": "C"}])
    after = by_content(session)
    assert [todo.content for todo in session.todos] == ["B", "A", "C"]
    assert after["B"] == before["B"]
    assert (after["A"].id, after["A"].created_at, after["A"].started_at) == ("t1", before["A"].created_at, clock.at)
    assert (after["C"].id, after["C"].created_at) == ("t3", clock.at)


def test_content_is_compared_after_trimming(session: Session) -> None:
    session.write(items("A"))
    assert not session.write(items("  A\n")).changed


def test_the_nth_of_equal_contents_is_the_nth_also_after_a_reorder(session: Session) -> None:
    session.write([{"content": c, "notes": n} for c, n in (("A", "1"), ("B", "2"), ("A", "3"), ("A", "4"))])
    session.write(items("A", "A", "B"))
    assert [(todo.id, todo.content, todo.notes) for todo in session.todos] == [
        ("t1", "A", "1"),
        ("t3", "A", "3"),
        ("t2", "B", "2"),
    ]


def test_a_renamed_item_counts_as_new(session: Session) -> None:
    session.write([{"content": "A", "notes": "of A"}])
    written = session.write(items("A, but better"))
    assert [(todo.id, todo.notes) for todo in written.todos] == [("t2", None)]
    assert [todo.content for todo in written.dropped] == ["A"]


def test_ids_that_come_with_a_replacement_are_kept_where_they_are_unique(session: Session) -> None:
    written = session.write(
        [{"id": "x", "content": "A"}, {"id": "x", "content": "B"}, {"id": "t5", "content": "C"}, {"content": "D"}]
    )
    assert [todo.id for todo in written.todos] == ["x", "t6", "t5", "t7"]


def test_an_item_that_gets_another_id_keeps_its_record_and_is_not_called_dropped(session: Session) -> None:
    session.write([{"content": "A", "notes": "kept"}, {"content": "B"}])
    session.update("t2", depends_on=["t1"])
    written = session.write([{"id": "x", "content": "A"}, {"content": "B"}])
    assert [(todo.id, todo.notes, todo.depends_on) for todo in written.todos] == [
        ("x", "kept", ()),
        ("t2", None, ("x",)),
    ]
    assert (written.dropped, written.detached) == ([], [])


def test_an_id_reused_for_other_content_is_a_new_item_and_the_old_one_is_named(session: Session) -> None:
    session.write([{"id": "step-1", "content": "A", "notes": "of A"}, {"content": "B", "depends_on": ["step-1"]}])
    written = session.write([{"id": "step-1", "content": "Other"}, {"content": "B"}])
    assert [(todo.id, todo.notes, todo.depends_on) for todo in written.todos] == [
        ("step-1", None, ()),
        ("t1", None, ()),
    ]
    assert [todo.content for todo in written.dropped] == ["A"]
    assert written.detached == [("t1", "step-1")]
    assert [todo.notes for todo in session.undo()] == ["of A", None]


def test_a_passed_id_wins_over_the_item_that_had_it(session: Session) -> None:
    session.write([{"content": "A"}, {"content": "B", "notes": "of B"}])
    written = session.write([{"id": "t2", "content": "C"}, {"content": "B"}])
    assert [(todo.id, todo.content, todo.notes) for todo in written.todos] == [("t2", "C", None), ("t3", "B", "of B")]
    assert [todo.content for todo in written.dropped] == ["A"]


def test_of_equal_contents_those_without_a_successor_are_named_as_dropped(session: Session) -> None:
    session.write(items("A", "A", "A"))
    written = session.write([{"content": "A"}, {"id": "x", "content": "A"}])
    assert [todo.id for todo in written.todos] == ["t1", "x"]
    assert [todo.id for todo in written.dropped] == ["t3"]


def test_dropped_unfinished_items_are_named_and_undo_brings_them_back(session: Session) -> None:
    statuses = ["pending", "in_progress", "completed", "cancelled", "blocked"]
    session.write([{"content": status, "status": status} for status in statuses])
    before = session.todos
    written = session.write(items("new"))
    assert [todo.content for todo in written.dropped] == ["pending", "in_progress", "blocked"]
    assert session.undo() == before


def test_dependencies_on_dropped_items_are_removed_and_named(session: Session) -> None:
    session.write(items("A", "B", "C"))
    session.update("t3", depends_on=["t1", "t2"])
    written = session.write(items("B", "C"))
    assert written.detached == [("t3", "t1")]
    assert by_content(session)["C"].depends_on == ("t2",)


def test_a_detached_dependency_is_named_also_for_an_item_that_got_another_id(session: Session) -> None:
    session.write(items("A", "B"))
    session.update("t2", depends_on=["t1"])
    written = session.write([{"id": "x", "content": "B"}])
    assert written.detached == [("x", "t1")]
    assert written.todos[0].depends_on == ()


def test_dropping_one_item_names_it_and_what_depended_on_it(session: Session) -> None:
    session.write(items("A", "B"))
    session.update("t2", depends_on=["t1"])
    written = session.drop("t1")
    assert ([todo.id for todo in written.dropped], written.detached) == (["t1"], [("t2", "t1")])
    assert ids(session) == ["t2"]
    session.undo()
    assert session.todos[1].depends_on == ("t1",)


def test_clearing_names_what_was_unfinished_and_keeps_ids_from_being_used_again(session: Session) -> None:
    session.write(items("A", "B"))
    assert [todo.content for todo in session.clear().dropped] == ["A", "B"]
    assert session.todos == []
    assert not session.clear().changed
    assert session.add("C").id == "t3"


def test_a_generated_id_stays_clear_of_ids_that_were_passed(session: Session) -> None:
    session.add("A", id="t41")
    assert session.add("B").id == "t42"
    session.drop("t42")
    assert session.add("B").id == "t43"


@pytest.mark.parametrize("big", ["t999999998", "t999999999", "t1000000000", "t" + "9" * 5000])
def test_ids_of_any_size_never_meet_a_generated_one(session: Session, big: str) -> None:
    session.add("A", id=big)
    made = [session.add(f"item {n}").id for n in range(3)]
    session.write([*items("new 1", "new 2"), {"id": big, "content": "A"}])
    made += [todo.id for todo in session.todos if todo.content.startswith("new")]
    session.undo()
    made.append(session.add("last").id)
    assert len({*made, big}) == 7


def test_an_id_passed_beside_generated_ones_of_its_size_is_not_given_again(session: Session) -> None:
    session.add("A", id="t999999999")
    session.write([*items("new 1", "new 2"), {"id": "t1000000000", "content": "B"}])
    assert ids(session) == ["t1000000001", "t1000000002", "t1000000000"]


def test_an_item_is_added_after_another_and_moved_to_a_position(session: Session) -> None:
    session.write(items("A", "B"))
    session.add("C", after="t1")
    assert [todo.content for todo in session.todos] == ["A", "C", "B"]
    session.move("t2", 1)
    assert [todo.content for todo in session.todos] == ["B", "A", "C"]
    session.move("t2", 3)
    assert [todo.content for todo in session.todos] == ["A", "C", "B"]
    version = session.version
    session.move("t2", 3)
    assert session.version == version


@pytest.mark.parametrize("position", [0, -1, 3])
def test_a_position_outside_the_list_is_refused(session: Session, position: int) -> None:
    session.write(items("A", "B"))
    with pytest.raises(InvalidTodos, match=f"position: Must be from 1 to 2, received {position}"):
        session.move("t1", position)


def test_an_unknown_id_is_answered_with_the_ids_there_are(session: Session) -> None:
    with pytest.raises(TodoNotFound, match="No todo has the id 't1'; the list is empty"):
        session.update("t1", status="completed")
    session.write(items(*(f"item {n}" for n in range(25))))
    for ask in (
        lambda: session.update("zz", notes="n"),
        lambda: session.drop("zz"),
        lambda: session.move("zz", 1),
        lambda: session.add("a", after="zz"),
        lambda: session.renew("zz", "ada"),
        lambda: session.release("zz", "ada"),
    ):
        with pytest.raises(TodoNotFound) as caught:
            ask()
        assert caught.value.known == ids(session)
        assert "the ids are: t1, t2, " in str(caught.value)
        assert str(caught.value).endswith("t20 and 5 more.")


def test_title_and_summary_are_kept_changed_and_undone_with_the_list(session: Session) -> None:
    assert (session.todo_list.title, session.todo_list.summary) == ("Agent Tasks", None)
    session.write(items("A"), title=" Parser ", summary="first")
    session.write(items("A"), summary="second")
    assert (session.todo_list.title, session.todo_list.summary) == ("Parser", "second")
    session.undo()
    assert session.todo_list.summary == "first"
    session.write(items("A"), title="", summary="")
    assert (session.todo_list.title, session.todo_list.summary) == ("Agent Tasks", None)


def test_undo_and_redo_say_how_far_they_can_go(session: Session) -> None:
    with pytest.raises(NothingToUndo, match="There is nothing to undo in this list"):
        session.undo()
    session.write(items("A"))
    session.write(items("B"))
    with pytest.raises(NothingToUndo, match="Only 2 changes can be undone"):
        session.undo(3)
    with pytest.raises(NothingToUndo, match="There is nothing to redo in this list"):
        session.redo()
    for n in (0, -1):
        with pytest.raises(Exception, match="must be 1 or more"):
            session.undo(n)


def test_undo_counts_changes_of_the_list_by_anyone_and_nothing_else(session: Session) -> None:
    session.write(items("A"), actor="model")
    session.claim("ada")
    session.renew("t1", "ada", 900)
    session.set_plan({"title": "t", "overview": "o", "steps": [{"id": "s", "description": "d"}]})
    session.set_plan_mode(True)
    session.agent("sub-1").add("B")
    (todo,) = session.undo()
    assert (todo.status, todo.owner, todo.lease_until) == ("pending", None, None)
    assert session.undo() == []
    assert session.plan is not None
    assert session.plan_mode
    assert len(session.agent("sub-1").todos) == 1
