"""Quick copies and readings of records give what `dataclasses` gives."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, asdict, dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.model import TodoList
from headway.core.run_events import MessageAdded, RoundStarted, ToolFinished, recorded_on
from headway.core.runs import Run
from headway.core.value import copied, fields_of

RUN = Run("r", "m", "h", "2025-01-02T03:04:05.000Z", 50)
CHANGES = st.fixed_dictionaries(
    {},
    optional={
        "round": st.integers(0, 9),
        "paused": st.booleans(),
        "started": st.lists(st.sampled_from("abc")).map(tuple),
        "forced": st.frozensets(st.sampled_from("abc")),
    },
)


@given(st.lists(CHANGES, max_size=4))
def test_a_copy_is_what_replacing_gives_and_leaves_the_record_as_it_was(steps: list[dict[str, object]]) -> None:
    quick = slow = RUN
    for fields in steps:
        before = fields_of(quick)
        quick, last = copied(quick, **fields), quick
        slow = replace(slow, **fields)
        assert fields_of(last) == before
    assert quick == slow and repr(quick) == repr(slow)
    assert [*fields_of(quick)] == [*fields_of(slow)]


def test_a_copy_is_as_frozen_as_the_record() -> None:
    copy = copied(TodoList(), title="T")
    with pytest.raises(FrozenInstanceError):
        copy.title = "U"  # type: ignore[misc]
    assert (copy.title, copy.items) == ("T", {})


@dataclass(slots=True)
class Small:
    one: int


@pytest.mark.parametrize(
    "record",
    [
        Small(1),
        MessageAdded({"kind": "request"}),
        RoundStarted("r", 1, 2),
        ToolFinished(1, "c", "look", True, "text", files=("a",)),
    ],
)
def test_fields_are_read_in_their_order_and_as_they_are(record: object) -> None:
    assert fields_of(record) == asdict(record)  # type: ignore[call-overload]
    assert [*fields_of(record)] == [*asdict(record)]  # type: ignore[call-overload]


def test_a_call_is_recorded_on_an_item_in_a_copy() -> None:
    call = ToolFinished(1, "c", "look", True, "text", exit_code=2, files=("a",), diff="d", command="ls")
    recorded = recorded_on(call, "t1")
    assert call.item_id is None
    assert recorded == replace(call, item_id="t1")
