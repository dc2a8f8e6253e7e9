from __future__ import annotations

from collections.abc import Iterator

import pytest

from headway import Session

from .running import Running, check_completions
from .samples import Clock, in_memory


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def session(clock: Clock) -> Iterator[Session]:
    """A session in memory whose clock goes on when a test says so. Tracking completed nothing in it without work."""
    session = in_memory(clock)
    yield session
    check_completions(session.events())


@pytest.fixture
def running(session: Session) -> Running:
    """A run of the session that has begun its first round."""
    return Running(session).begin()
