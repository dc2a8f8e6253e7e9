"""Records are read as `dataclasses` reads them."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import pytest

from headway.core.run_events import MessageAdded, RoundStarted, ToolFinished
from headway.core.value import to_fields


@dataclass(slots=True)
class Small:
    one: int


@pytest.mark.parametrize(
    "record",
    [
        Small(1),
        MessageAdded(message={"kind": "request"}),
        RoundStarted(run_id="r", round=1, max_rounds=2),
        ToolFinished(round=1, call_id="c", tool="look", ok=True, text="text", files=("a",)),
    ],
)
def test_fields_are_read_in_their_order_and_as_they_are(record: object) -> None:
    assert to_fields(record) == asdict(record)  # type: ignore[call-overload]
    assert [*to_fields(record)] == [*asdict(record)]  # type: ignore[call-overload]
