"""How much a tool may take, run and answer. Part of the settings; every number can be changed there."""

from __future__ import annotations

from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field


class Limits(BaseModel):
    """How much a tool may take, run and answer: times in seconds, sizes in bytes or characters."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid")

    output_chars: int = Field(default=30_000, ge=1_000, le=1_000_000)
    """Longest answer of a tool; what is longer is cut in the middle and kept whole in a file."""
    kept_bytes: int = Field(default=50_000_000, ge=0, le=10_000_000_000)
    """Largest file in which a long answer is kept."""
    outputs_bytes: int = Field(default=1_000_000_000, ge=0, le=1_000_000_000_000)
    """Size of all files together in which long answers are kept; older ones give way."""
    file_bytes: int = Field(default=10_000_000, ge=1_000, le=1_000_000_000)
    """Largest file that is edited, or searched."""
    read_lines: int = Field(default=2_000, ge=10, le=100_000)
    """Lines that reading a file gives unless asked for a range."""
    results: int = Field(default=200, ge=1, le=100_000)
    """Matches or names that a search or listing gives."""
    search_seconds: float = Field(default=30, gt=0, le=600)
    """Longest search."""
    bash_seconds: float = Field(default=120, gt=0, le=86_400)
    """Longest command, unless the call asks for another time."""
    bash_seconds_max: float = Field(default=600, gt=0, le=86_400)
    """Longest time a call may ask for."""
    fetch_seconds: float = Field(default=30, gt=0, le=600)
    """Longest download."""
    fetch_bytes: int = Field(default=5_000_000, ge=1_000, le=100_000_000)
    """Largest download."""
