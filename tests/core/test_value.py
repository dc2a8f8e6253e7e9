"""Records are read as `dataclasses` reads them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

import pytest

from headway.core.run_events import MessageAdded, RoundStarted, ToolFinished, with_todo_id
from headway.core.value import to_fields


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
    assert to_fields(record) == asdict(record)  # type: ignore[call-overload]
    assert [*to_fields(record)] == [*asdict(record)]  # type: ignore[call-overload]


def test_a_call_is_recorded_on_an_item_in_a_copy() -> None:
    call = ToolFinished(1, "c", "look", True, "text", exit_code=2, files=("a",), diff="d", command="ls")
    recorded = with_todo_id(call, "t1")
    assert call.item_id is None
    assert recorded == replace(call, item_id="t1")
