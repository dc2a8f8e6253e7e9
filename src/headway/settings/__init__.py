"""What people set: one typed object from flags, the environment and two files, each value with where it comes from."""

from __future__ import annotations

from headway.settings.load import Loaded, load_settings
from headway.settings.model import RIGHTS, Settings, TodoTools, Tracking

__all__ = ["RIGHTS", "Loaded", "Settings", "TodoTools", "Tracking", "load_settings"]
