"""What all tests share: how hypothesis runs, where temporary files are, which signals are heard, one warm process."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import headway

pytest.register_assert_rewrite("tests")  # what test modules share says why it failed, as they do

from tests.support import warm  # noqa: E402
from tests.support.counts import some  # noqa: E402
from tests.support.projects import memory_folder  # noqa: E402

pytest_plugins = ["tests.support.fixtures", "tests.support.groups"]

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a background job, where programs would not hear Ctrl+C
    signal.signal(signal.SIGINT, signal.default_int_handler)
if folder := memory_folder():  # pytest's temporary folders: what must be on a disk is marked `disk`
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", folder)

settings.register_profile(
    "headway",
    deadline=None,
    max_examples=some(60, 2),
    derandomize=os.environ.get("CI") == "true",
    suppress_health_check=[HealthCheck.too_slow],
    database=None,
)
settings.load_profile("headway")


def pytest_configure(config: pytest.Config) -> None:
    """One process from which all workers have theirs forked: it loads while they collect."""
    if getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput"):
        warm.start()


@pytest.fixture(params=["memory", "file"])
def any_session(request: pytest.FixtureRequest, tmp_path: Path) -> headway.Session:
    if request.param == "memory":
        return headway.open(memory=True)
    opened = headway.open(project=tmp_path, session="default")
    request.addfinalizer(opened.close)
    return opened
