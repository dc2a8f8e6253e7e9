"""A model that answers by script, for tests and demos: always the same, offline, and otherwise like a real one."""

from __future__ import annotations

from headway.testing.script import Call, Failure, Request, Turn
from headway.testing.scripted import ScriptedModel

__all__ = ["Call", "Failure", "Request", "ScriptedModel", "Turn"]
