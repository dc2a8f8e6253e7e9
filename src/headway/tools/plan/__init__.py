"""The tool with which a model hands over a plan: offered while plan mode is on."""

from __future__ import annotations

from headway.tools.plan.create_plan import CreatePlan

__all__ = ["CreatePlan"]
