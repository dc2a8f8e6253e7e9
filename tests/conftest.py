"""What all tests share: how hypothesis runs, what is left to `make soak`, and that Ctrl+C is heard."""

from __future__ import annotations

import os
import signal

import pytest
from hypothesis import HealthCheck, settings
from tests.counts import some

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a background job, where programs would not hear Ctrl+C
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile(
    "headway",
    deadline=None,
    max_examples=some(60, 2),
    derandomize=os.environ.get("CI") == "true",
    suppress_health_check=[HealthCheck.too_slow],
    database=None,
)
settings.load_profile("headway")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without `-m`, the full counts are not run."""
    if config.getoption("markexpr"):
        return
    slow = [item for item in items if item.get_closest_marker("slow")]
    if slow:
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if not item.get_closest_marker("slow")]
