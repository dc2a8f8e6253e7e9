"""What every store promises, whatever it keeps its logs in."""

from __future__ import annotations

import threading

import pytest

from headway import Event, Session, StoreConflict
from headway.session import SessionStore

from .samples import contents, event


def test_an_empty_store_has_nothing_and_says_so(store: SessionStore) -> None:
    assert store.version("s") == 0
    assert store.events("s", 0) == []
    assert store.snapshot("s") is None
    assert store.sessions() == []
    assert store.current() is None
    assert store.delete("s") is False


def test_appended_events_come_back_equal_and_in_order(store: SessionStore) -> None:
    store.append("s", 0, [event(1), event(2)], None)
    store.append("s", 2, [event(3)], None)
    assert store.events("s", 0) == [event(1), event(2), event(3)]
    assert store.events("s", 2) == [event(3)]
    assert store.events("s", 3) == store.events("s", 99) == []
    assert store.event("s", 2) == event(2)
    assert store.version("s") == 3


@pytest.mark.parametrize("expected", [0, 1, 3])
def test_an_append_after_another_version_than_the_last_is_refused(store: SessionStore, expected: int) -> None:
    store.append("s", 0, [event(1), event(2)], None)
    with pytest.raises(StoreConflict):
        store.append("s", expected, [event(expected + 1)], None)
    assert store.events("s", 0) == [event(1), event(2)]
    assert store.version("s") == 2
    store.append("s", 2, [event(3)], None)
    assert store.version("s") == 3


def test_a_refused_append_makes_no_session(store: SessionStore) -> None:
    with pytest.raises(StoreConflict):
        store.append("s", 1, [event(2)], None)
    assert store.sessions() == []
    assert store.delete("s") is False


def test_an_append_to_a_log_that_was_begun_again_is_refused(store: SessionStore) -> None:
    identity = store.append("s", 0, [event(1)], None)
    assert identity == store.position("s")[0]
    assert store.append("s", 1, [event(2)], None, identity=identity) == identity
    store.delete("s")
    again = store.append("s", 0, [event(1), event(2)], None)
    with pytest.raises(StoreConflict):
        store.append("s", 2, [event(3)], None, identity=identity)
    assert store.version("s") == 2
    store.append("s", 2, [event(3)], None, identity=again)


def test_sessions_are_apart(store: SessionStore) -> None:
    store.append("a", 0, [event(1)], None)
    store.append("b", 0, [event(1), event(2)], None)
    assert (store.version("a"), store.version("b")) == (1, 2)
    assert store.events("a", 0) == [event(1)]


def test_sessions_are_listed_with_the_most_recently_changed_first(store: SessionStore) -> None:
    store.append("old", 0, [event(1, "2025-01-01T00:00:00.000Z")], None)
    store.append("new", 0, [event(1, "2025-01-03T00:00:00.000Z")], None)
    store.append("b", 0, [event(1, "2025-01-02T00:00:00.000Z")], None)
    store.append("a", 0, [event(1, "2025-01-02T00:00:00.000Z")], None)
    assert [info.name for info in store.sessions()] == ["new", "a", "b", "old"]
    store.append("old", 1, [event(2, "2025-01-04T00:00:00.000Z")], None)
    first = store.sessions()[0]
    assert (first.name, first.version) == ("old", 2)
    assert (first.created_at, first.updated_at) == ("2025-01-01T00:00:00.000Z", "2025-01-04T00:00:00.000Z")


def test_a_deleted_session_is_gone_and_can_begin_again(store: SessionStore) -> None:
    store.append("a", 0, [event(1), event(2)], None)
    store.append("b", 0, [event(1)], None)
    assert store.version("a") == 2
    assert store.delete("a") is True
    assert store.version("a") == 0
    assert store.events("a", 0) == []
    assert [info.name for info in store.sessions()] == ["b"]
    assert store.delete("a") is False
    store.append("a", 0, [event(1)], None)
    assert store.version("a") == 1


def test_a_log_is_told_from_another_of_the_same_name(store: SessionStore) -> None:
    assert (store.version("s"), store.position("s")[0]) == (0, None)
    store.append("s", 0, [event(1)], None)
    assert store.version("s") == 1
    first = store.position("s")[0]
    assert first is not None
    store.append("s", 1, [event(2)], None)
    assert (store.version("s"), store.position("s")[0]) == (2, first)
    store.delete("s")
    assert (store.version("s"), store.position("s")[0]) == (0, None)
    store.append("s", 0, [event(1)], None)
    assert store.version("s") == 1
    assert store.position("s")[0] not in (None, first)


def test_the_current_session_is_kept_until_it_is_deleted(store: SessionStore) -> None:
    store.append("a", 0, [event(1)], None)
    store.set_current("a")
    store.set_current("b")
    store.set_current("a")
    assert store.current() == "a"
    store.delete("b")
    assert store.current() == "a"
    store.delete("a")
    assert store.current() is None


def test_in_a_turn_nobody_else_appends(store: SessionStore) -> None:
    store.append("s", 0, [event(1)], None)
    waiting, done = threading.Event(), threading.Event()
    refused: list[StoreConflict] = []

    def rival() -> None:
        waiting.set()
        try:
            store.append("s", 1, [event(2)], None)
        except StoreConflict as error:
            refused.append(error)
        done.set()

    thread = threading.Thread(target=rival)
    with store.exclusive("s"):
        thread.start()
        assert waiting.wait(10)
        assert not done.wait(0.05)
        assert store.version("s") == 1
        store.append("s", 1, [event(2)], None)
    thread.join(10)
    assert done.is_set()
    assert len(refused) == 1
    assert store.version("s") == 2


def test_a_turn_without_an_append_changes_nothing(store: SessionStore) -> None:
    store.append("s", 0, [event(1)], None)
    with store.exclusive("s"):
        assert store.events("s", 0) == [event(1)]
    with pytest.raises(RuntimeError), store.exclusive("s"):
        raise RuntimeError
    store.append("s", 1, [event(2)], None)
    assert store.version("s") == 2


def test_two_sessions_over_one_store_lose_nothing(store: SessionStore) -> None:
    first, second = store.session("s"), store.session("s")
    heard: list[int] = []

    def note(event: Event) -> None:
        heard.append(event.version)

    first.on("TodoListUpdated", note)
    together = threading.Barrier(2)

    def work(session: Session, name: str) -> None:
        together.wait(10)
        for n in range(25):
            session.add(f"{name} {n}")

    threads = [threading.Thread(target=work, args=pair) for pair in ((first, "a"), (second, "b"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(contents(first)) == sorted(f"{name} {n}" for name in "ab" for n in range(25))
    assert contents(first) == contents(second)
    assert heard == list(range(1, 51))


def test_an_event_of_a_log_that_is_gone_is_a_conflict(store: SessionStore) -> None:
    with pytest.raises(StoreConflict):
        store.event("s", 1)
