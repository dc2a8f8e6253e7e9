"""What any agent loop needs of Headway: its list at the tail of each request, tools to keep it, and tracking.

`session.planner(…)` returns a `Planner`. Standard library only; Headway's own loop is built on it too.
"""

from __future__ import annotations

from headway.contracts.todo_tools import ToolAnswer
from headway.planner.config import Block, PlannerConfig, TodoTools, Tracking
from headway.planner.planner import Planner, ToolSpec
from headway.planner.run import LimitReached, PlannerRun, RunStopped

__all__ = [
    "Block",
    "LimitReached",
    "Planner",
    "PlannerConfig",
    "PlannerRun",
    "RunStopped",
    "TodoTools",
    "ToolAnswer",
    "ToolSpec",
    "Tracking",
]
