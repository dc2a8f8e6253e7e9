"""Tools as a provider is told of them: name, description and schema, in the order of the tools."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic_ai.tools import ToolDefinition

from headway.tools.base import Tool


def tool_definitions(tools: Iterable[Tool[Any]]) -> list[ToolDefinition]:
    """The same tools give the same bytes, so that what a provider has cached stays valid."""
    return [
        ToolDefinition(name=tool.name, description=tool.description, parameters_json_schema=tool.parameters())
        for tool in tools
    ]
