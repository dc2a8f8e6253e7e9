"""The class of an event's data says all there is to know of its kind."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError

import pytest
from tests.support.tables import check_rows

from headway.core.codec import read_event, to_event_dict, to_event_json
from headway.core.events import EVENT_CLASSES, Event, RunData, event_class
from headway.core.evolve import evolve
from headway.core.model import LOOP
from headway.core.run_events import RoundStarted
from headway.core.runs import evolve_run

from .running import SAMPLES, Running
from .samples import in_memory


def test_one_class_is_all_that_a_new_event_takes() -> None:
    session = in_memory()
    try:

        @event_class
        class ModelChanged(RunData):
            """The run goes on with another model."""

            wire_name = "ModelChanged"
            affects_state = False

            model: str
            tried: tuple[str, ...] = ()

        heard: list[Event] = []
        session.on("ModelChanged", heard.append)  # pyright: ignore[reportArgumentType, reportCallIssue]
        changed = ModelChanged(model="b", tried=("a",))
        Running(session).begin().record(changed)
        (event,) = [event for event in session.events() if event.data == changed]
        assert [each.data for each in heard] == [changed]
        assert event.is_progress
        assert read_event(event.version, event.at, event.agent, event.actor, event.type, to_event_json(event)) == event
        record = to_event_dict(event, "test")
        assert (record["type"], json.dumps(record["tried"])) == ("ModelChanged", '["a"]')
    finally:
        EVENT_CLASSES.pop("ModelChanged", None)


def test_an_event_is_built_from_keywords_and_frozen() -> None:
    event = RoundStarted(run_id="r", round=1, max_rounds=2)
    with pytest.raises(FrozenInstanceError):
        event.round = 2  # type: ignore[misc]
    with pytest.raises(TypeError):
        RoundStarted("r", 1, 2)  # type: ignore[misc]
    for wrong in ({"run_id": "r", "round": 1}, {"run_id": "r", "round": 1, "max_rounds": 2, "colour": "red"}):
        with pytest.raises(TypeError, match="RoundStarted is built from run_id, round, max_rounds, not"):
            RoundStarted(**wrong)  # type: ignore[arg-type]


def test_nothing_follows_from_an_event_that_does_not_affect_the_state() -> None:
    session = in_memory()
    Running(session).begin()
    before = session.log.state()

    def check(data: RunData) -> None:
        event = Event(before.version + 1, "2025-01-02T03:04:05.000Z", session.agent_id, LOOP, data)
        assert evolve_run(before, event) == (before.lists, before.runs, before.conversations)
        assert evolve(before, event).runs is before.runs

    check_rows([sample for sample in SAMPLES if not sample.affects_state], check)
