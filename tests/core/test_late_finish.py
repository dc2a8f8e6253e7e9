"""Workers that come back late, or take up again what is theirs."""

from __future__ import annotations

import pytest

from headway import ClaimRefused

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
