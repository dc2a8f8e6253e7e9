"""What all tests share: how hypothesis runs, and that Ctrl+C is heard."""

from __future__ import annotations

import os
import signal

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
