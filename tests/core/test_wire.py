"""Events as programs get them: one flat JSON object each."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from typing import Any

from tests.support.tables import check_rows

from headway import Event, Todo
from headway.core.codec import load_event_classes, to_event_dict
from headway.core.events import RunData
from headway.core.model import LOOP, CompletionLog
from headway.store.memory import MemoryStore

from .running import SAMPLES, Running, create
from .samples import PLAN, in_memory


def wire(event: Event) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(json.dumps(to_event_dict(event, "test"), ensure_ascii=False))
    return record


def test_there_is_a_sample_of_every_event_of_a_run() -> None:
    assert {sample.wire_name for sample in SAMPLES} == {
        name for name, kind in load_event_classes().items() if issubclass(kind, RunData)
    }


def test_an_event_of_a_run_is_one_flat_object_in_snake_case() -> None:
    def check(sample: RunData) -> None:
        name = sample.wire_name
        live_only = sample.is_live_only
        event = Event(0 if live_only else 7, "2025-01-02T03:04:05.000Z", "sub-1", LOOP, sample)
        record = wire(event)
        head: dict[str, object] = {"type": name, "session_id": "test", "agent_id": "sub-1", "actor": LOOP}
        head |= {"timestamp": event.at} if live_only else {"timestamp": event.at, "version": 7}
        data: dict[str, object] = json.loads(json.dumps(asdict(sample)))
        assert record == data | head
        assert not head.keys() & data.keys()
        assert all(re.fullmatch("[a-z][a-z_]*", key) for key in record)
        assert (event.agent_id, event.timestamp) == (record["agent_id"], record["timestamp"])

    check_rows(SAMPLES, check)


def test_the_events_of_the_list_have_the_fields_that_pages_rely_on() -> None:
    fields = {sample.wire_name: set(sample.__dataclass_fields__) for sample in SAMPLES}
    assert {"item_id", "status", "tool_calls_count"} <= fields["TodoListItemProgress"]
    assert {"completed_at", "total_rounds", "total_tool_calls"} <= fields["TodoListCompleted"]
    assert {"total_items", "active_item", "round"} <= fields["TodoListContextInjected"]


def test_a_list_change_has_the_whole_list_with_every_field() -> None:
    session = in_memory()
    running = Running(session).begin()
    create(session, "Run the tests", {"content": "B", "depends_on": []})
    running.calls(True, True, True)
    *_, last = (event for event in session.follow(timeout=0.02) if event.todos is not None)
    record = wire(last)
    assert (record["type"], record["version"]) == ("TodoListUpdated", last.version)
    todos = record["todos"]
    assert [(todo["id"], todo["status"], todo["tool_calls"]) for todo in todos] == [
        ("t1", "completed", 3),
        ("t2", "pending", 0),
    ]
    assert todos[0]["evidence"]["level"] == "inferred"
    assert set(todos[0]) == set(Todo.__dataclass_fields__)


def test_every_other_event_can_be_written_down_too() -> None:
    session = MemoryStore().session("test")
    session.add("A")
    session.set_plan(PLAN)
    session.set_plan_mode(True)
    session.claim("ada")
    session.renew("t1", "ada", 900)
    session.log_completion(CompletionLog("done.md", 1, {"main": "x"}))
    records = [wire(event) for event in session.events()]
    assert {record["type"] for record in records} == {
        name for name, kind in load_event_classes().items() if not issubclass(kind, RunData)
    }
    assert [record["version"] for record in records] == [1, 2, 3, 4, 5, 6]
