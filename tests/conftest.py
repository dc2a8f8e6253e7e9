"""What all tests share: how hypothesis runs."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "headway",
    deadline=None,
    max_examples=60,
    derandomize=os.environ.get("CI") == "true",
    suppress_health_check=[HealthCheck.too_slow],
    database=None,
)
settings.load_profile("headway")
