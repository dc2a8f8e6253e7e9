from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.support.processes import discard_all


@pytest.fixture(autouse=True)
def no_process_is_left() -> Iterator[None]:
    yield
    discard_all()
