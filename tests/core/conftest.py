from __future__ import annotations

import pytest

from headway import Session

from .samples import Clock, in_memory


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def session(clock: Clock) -> Session:
    return in_memory(clock)
