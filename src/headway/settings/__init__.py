"""What people set: one typed object from flags, the environment and two files, each value with where it comes from."""

from __future__ import annotations

from headway.planner.config import TodoTools
from headway.settings.load import LoadedSettings, load_settings
from headway.settings.model import Settings, Tracking

__all__ = ["LoadedSettings", "Settings", "TodoTools", "Tracking", "load_settings"]
