from __future__ import annotations

import pytest

from headway import Session

from .running import Running
from .samples import Clock, in_memory


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def session(clock: Clock) -> Session:
    """A session in memory whose clock goes on when a test says so."""
    return in_memory(clock)


@pytest.fixture
def running(session: Session) -> Running:
    """A run of the session that has begun its first round."""
    return Running(session).begin()
