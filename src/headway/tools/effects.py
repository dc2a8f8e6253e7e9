"""What calling a tool does to the world, and how much of that a person wants to be asked about."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, TypeAlias


class Effect(StrEnum):
    READ = "read"
    WRITE = "write"
    EXECUTE = "execute"
    NETWORK = "network"
    PLAN = "plan"
    TODO = "todo"


ModeName: TypeAlias = Literal["default", "auto_edit", "sandboxed", "yolo"]


def check_effect(effect: object) -> Effect:
    """The effect that a tool declares; whatever is none counts as execute."""
    if isinstance(effect, Effect):
        return effect
    try:
        return Effect(effect)
    except ValueError:
        return Effect.EXECUTE


IN_PLAN_MODE = frozenset({Effect.READ, Effect.NETWORK, Effect.PLAN})
"""What may run while a plan is being made; everything else is refused then."""
UNASKED = frozenset({Effect.READ, Effect.PLAN, Effect.TODO})
"""What no one is ever asked about."""


EffectName: TypeAlias = Literal["read", "write", "execute", "network", "plan", "todo"]


class Mode(StrEnum):
    """How much a person wants to be asked."""

    DEFAULT = "default"
    """Before every write, command and new host."""
    AUTO_EDIT = "auto_edit"
    """As default, but file edits inside the project are made at once."""
    SANDBOXED = "sandboxed"
    """As auto_edit, and commands run at once in the sandbox, without the network. Without a sandbox: as default."""
    YOLO = "yolo"
    """Never."""


def parse_mode(text: str) -> Mode:
    """Return the mode of a run, as the log names it; the one that asks where that is none known here."""
    try:
        return Mode(text)
    except ValueError:
        return Mode.DEFAULT
