"""Workers that come back late, or take up again what is theirs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headway import ClaimRefused, Session

from .samples import Clock, in_memory


def test_a_late_finish_is_refused_also_after_the_next_worker_gave_the_item_back() -> None:
    clock = Clock()
    session = in_memory(clock)
    session.write([{"content": "A"}])
    session.claim("w1", lease=1)
    clock.forward(2)
    session.claim("w2")
    session.release("t1", "w2")
    with pytest.raises(ClaimRefused, match="claim it before finishing"):
        session.update("t1", status="completed", actor="w1")
    assert session.update("t1", status="completed", actor="tracker").status == "completed"


def test_a_worker_cannot_write_over_what_another_one_holds() -> None:
    session = in_memory()
    session.write([{"content": "A"}])
    session.claim("w2")
    with pytest.raises(ClaimRefused, match="claimed by 'w2'"):
        session.write([{"id": "t1", "status": "completed"}], actor="w1")
    assert session.write([{"id": "t1", "status": "completed"}]).changed


def test_a_worker_that_takes_up_its_own_blocked_item_again_holds_it() -> None:
    clock = Clock()
    session = in_memory(clock)
    session.write([{"content": "A"}])
    session.claim("w1")
    session.update("t1", status="blocked", actor="w1")
    again = session.update("t1", status="in_progress", actor="w1")
    assert again.owner == "w1"
    assert again.lease_until is not None and again.lease_until > clock.at
    session.renew("t1", "w1")


def held_by_w2() -> Session:
    """A list whose first item w1 lost to w2."""
    clock = Clock()
    session = in_memory(clock)
    session.write([{"content": "A"}, {"content": "B"}])
    session.claim("w1", lease=1)
    clock.forward(2)
    session.claim("w2", lease=60)
    return session


LATE: list[Callable[[Session], object]] = [
    lambda session: session.update("t1", status="completed", actor="w1"),
    lambda session: session.update("t1", status="cancelled", actor="w1"),
    lambda session: session.write([{"id": "t1", "status": "completed"}], actor="w1"),
    lambda session: session.write([{"content": "A", "status": "completed"}, {"content": "B"}], actor="w1"),
    lambda session: session.write([{"content": "B"}], actor="w1"),
    lambda session: session.drop("t1", actor="w1"),
    lambda session: session.update("t1", owner="w1", actor="w1"),
    lambda session: session.update("t2", status="cancelled", actor="w1"),
]


@pytest.mark.parametrize("late", LATE)
def test_a_worker_that_lost_an_item_can_change_nothing_of_it(late: Callable[[Session], object]) -> None:
    session = held_by_w2()
    before = session.state
    with pytest.raises(ClaimRefused):
        late(session)
    assert session.state == before


def test_repeating_the_status_leaves_the_lease_as_it_is() -> None:
    session = in_memory()
    session.write([{"content": "A"}])
    claimed = session.claim("w1", lease=3600)
    assert claimed is not None
    assert (
        session.update("t1", status="in_progress", notes="still at it", actor="w1").lease_until == claimed.lease_until
    )
    version = session.version
    session.update("t1", status="in_progress", actor="w1")
    assert session.version == version


def test_an_own_item_reopened_by_a_write_stays_the_workers() -> None:
    session = in_memory()
    session.write([{"content": "A"}])
    session.claim("w1")
    session.update("t1", status="blocked", actor="w1")
    session.write([{"id": "t1", "status": "in_progress"}], actor="w1")
    assert session.todos[0].owner == "w1"
    assert session.update("t1", status="completed", actor="w1").status == "completed"


def test_next_and_claim_agree_on_an_item_whose_lease_ran_out() -> None:
    clock = Clock()
    session = in_memory(clock)
    session.write([{"content": "A"}])
    session.claim("w1", lease=1)
    assert session.next_todos()[0] == []
    clock.forward(2)
    assert [todo.id for todo in session.next_todos()[0]] == ["t1"]
    assert session.claim("w2") is not None


def test_a_worker_may_send_its_item_back_whole() -> None:
    session = in_memory()
    session.write([{"content": "A"}])
    session.claim("w1")
    assert not session.write(session.todos, actor="w1").changed
