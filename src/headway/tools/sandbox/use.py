"""When commands run in a sandbox, as it is set."""

from __future__ import annotations

from enum import StrEnum


class SandboxUse(StrEnum):
    """Whether commands run in a sandbox."""

    AUTO = "auto"
    """Where the system offers one."""
    ON = "on"
    """Always: without one, no command runs."""
    OFF = "off"
