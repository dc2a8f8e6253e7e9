"""What a status brings with it: times, the mark of an interruption, owner and lease."""

from __future__ import annotations

import pytest

from headway import ClaimRefused, HeadwayError, Session

from .samples import Clock, by_content, items


@pytest.fixture
def one(session: Session) -> Session:
    session.write(items("A"))
    return session


def test_starting_sets_started_at_once(one: Session, clock: Clock) -> None:
    first = clock.forward(10)
    assert one.update("t1", status="in_progress").started_at == first
    clock.forward(10)
    one.update("t1", status="pending")
    clock.forward(10)
    assert one.update("t1", status="in_progress").started_at == first


def test_completing_sets_completed_at_and_reopening_clears_it_with_its_evidence(one: Session, clock: Clock) -> None:
    one.update("t1", status="in_progress")
    at = clock.forward(10)
    done = one.update("t1", status="completed", evidence={"level": "verified"}, completed_at_round=3)
    assert (done.completed_at, done.completed_at_round) == (at, 3)
    clock.forward(10)
    again = one.update("t1", status="pending")
    assert (again.completed_at, again.completed_at_round, again.evidence) == (None, None, None)


def test_completing_again_changes_nothing(one: Session, clock: Clock) -> None:
    done = one.update("t1", status="completed")
    clock.forward(10)
    version = one.version
    assert one.update("t1", status="completed") == done
    assert one.version == version


def test_times_that_are_passed_win_over_those_that_a_status_brings(one: Session) -> None:
    done = one.update("t1", status="completed", completed_at="2020-01-01T00:00:00Z")
    assert done.completed_at == "2020-01-01T00:00:00.000Z"


def test_a_new_item_gets_the_times_of_its_status(session: Session, clock: Clock) -> None:
    session.write([{"content": status, "status": status} for status in ("pending", "in_progress", "completed")])
    found = by_content(session)
    times = {name: (todo.created_at, todo.started_at, todo.completed_at) for name, todo in found.items()}
    assert times == {
        "pending": (clock.at, None, None),
        "in_progress": (clock.at, clock.at, None),
        "completed": (clock.at, None, clock.at),
    }


@pytest.mark.parametrize(
    ("status", "left"), [("in_progress", False), ("completed", False), ("blocked", True), ("cancelled", True)]
)
def test_the_mark_of_an_interruption_goes_with_the_next_start(one: Session, status: str, left: bool) -> None:
    assert one.update("t1", interrupted=True).interrupted
    assert one.update("t1", status=status).interrupted is left


def test_updated_at_moves_with_every_change_and_only_then(one: Session, clock: Clock) -> None:
    created = one.updated_at
    at = clock.forward(10)
    one.update("t1", status="completed")
    assert (one.updated_at, one.todo_list.created_at) == (at, created)
    clock.forward(10)
    one.update("t1", status="completed")
    assert one.updated_at == at
    assert (one.undo() and one.updated_at) == clock.at


def test_a_claim_starts_the_item_and_a_release_gives_it_back(one: Session, clock: Clock) -> None:
    one.update("t1", interrupted=True)
    todo = one.claim("ada", lease=60)
    assert todo is not None
    assert (todo.status, todo.owner, todo.started_at, todo.interrupted) == ("in_progress", "ada", clock.at, False)
    assert todo.lease_until == "2025-01-02T03:05:05.000Z"
    assert one.claim("bob") is None
    given = one.release("t1", "ada")
    assert (given.status, given.owner, given.lease_until) == ("pending", None, None)


def test_a_claim_goes_by_priority_then_by_place_and_never_before_its_dependencies(session: Session) -> None:
    session.write(
        [
            {"id": "a", "content": "a", "priority": "low"},
            {"id": "b", "content": "b"},
            {"id": "c", "content": "c", "priority": "medium"},
            {"id": "d", "content": "d", "priority": "high", "depends_on": ["a"]},
            {"id": "e", "content": "e", "status": "blocked"},
            {"id": "f", "content": "f", "status": "cancelled"},
            {"id": "g", "content": "g", "priority": "high", "depends_on": ["f"]},
        ]
    )
    taken = [todo.id for _ in range(5) if (todo := session.claim("ada"))]
    assert taken == ["b", "c", "a"]
    session.update("a", actor="ada", status="completed")
    todo = session.claim("ada")
    assert todo is not None
    assert todo.id == "d"


def test_a_claim_that_ran_out_can_be_claimed_again_and_a_late_finish_is_refused(one: Session, clock: Clock) -> None:
    one.claim("ada", lease=10)
    clock.forward(9.999)
    assert one.claim("bob") is None
    clock.forward(0.001)
    with pytest.raises(ClaimRefused, match="The lease of 'ada' on 't1' ran out"):
        one.update("t1", actor="ada", status="completed")
    todo = one.claim("bob", lease=10)
    assert todo is not None
    assert todo.owner == "bob"
    for late in (
        lambda: one.update("t1", actor="ada", status="completed"),
        lambda: one.renew("t1", "ada"),
        lambda: one.release("t1", "ada"),
    ):
        with pytest.raises(ClaimRefused, match="'bob'"):
            late()
    done = one.update("t1", actor="bob", status="completed")
    assert (done.owner, done.lease_until) == ("bob", None)
    with pytest.raises(ClaimRefused, match="was last worked on by 'bob'"):
        one.update("t1", actor="ada", status="completed")


def test_a_claim_that_ran_out_is_not_given_on_while_a_dependency_is_open_again(session: Session, clock: Clock) -> None:
    session.write([{"content": "A", "status": "completed"}, {"content": "B"}])
    session.update("t2", depends_on=["t1"])
    session.claim("ada", lease=10)
    session.update("t1", status="in_progress")
    clock.forward(11)
    assert session.claim("bob") is None
    session.update("t1", status="completed")
    todo = session.claim("bob")
    assert todo is not None
    assert (todo.id, todo.owner) == ("t2", "bob")


def test_a_renewed_claim_lasts_from_now(one: Session, clock: Clock) -> None:
    one.claim("ada", lease=10)
    clock.forward(11)
    assert one.renew("t1", "ada", lease=10).lease_until == "2025-01-02T03:04:26.000Z"
    version = one.version
    one.renew("t1", "ada", lease=10)
    assert one.version == version
    clock.forward(9)
    assert one.claim("bob") is None


def test_what_nobody_claimed_is_neither_renewed_nor_released(one: Session) -> None:
    for ask in (lambda: one.renew("t1", "ada"), lambda: one.release("t1", "ada")):
        with pytest.raises(ClaimRefused, match="'t1' is not claimed by 'ada': it is pending; claim it first"):
            ask()


def test_a_person_may_change_a_claimed_item(one: Session) -> None:
    one.claim("ada")
    todo = one.update("t1", status="pending")
    assert (todo.owner, todo.lease_until) == (None, None)
    assert one.claim("bob") is not None


def test_a_worker_may_change_what_nobody_owns(one: Session) -> None:
    assert one.update("t1", actor="ada", notes="seen").notes == "seen"
    assert [event.actor for event in one.history()] == ["user", "ada"]


@pytest.mark.parametrize("lease", [0, -1, float("nan"), float("inf"), 366 * 86_400 + 1])
def test_a_lease_without_a_sensible_length_is_refused(one: Session, lease: float) -> None:
    with pytest.raises(HeadwayError, match="A lease must be more than 0"):
        one.claim("ada", lease)


@pytest.mark.parametrize("name", ["", "  \n", "x" * 201])
def test_a_worker_needs_a_name(one: Session, name: str) -> None:
    for ask in (lambda: one.claim(name), lambda: one.add("a", actor=name), lambda: one.agent(name)):
        with pytest.raises(HeadwayError, match="must have 1 to 200 characters"):
            ask()
