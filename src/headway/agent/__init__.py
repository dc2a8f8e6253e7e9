"""The agent: its loop, models from any provider, what they are told, and why a request failed.

Importing this package loads no provider's library; each name is loaded when it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headway.agent.config import LoopConfig, RunResult
    from headway.agent.definitions import tool_definitions
    from headway.agent.failures import explain
    from headway.agent.models import context_window, price, resolve_model
    from headway.agent.prompt import instructions
    from headway.agent.providers import PROVIDERS, Provider, readiness
    from headway.agent.repair import repair_messages
    from headway.agent.run import run_loop

__all__ = [
    "PROVIDERS",
    "LoopConfig",
    "Provider",
    "RunResult",
    "context_window",
    "explain",
    "instructions",
    "price",
    "readiness",
    "repair_messages",
    "resolve_model",
    "run_loop",
    "tool_definitions",
]

_LATER = {
    "LoopConfig": "headway.agent.config",
    "PROVIDERS": "headway.agent.providers",
    "Provider": "headway.agent.providers",
    "RunResult": "headway.agent.config",
    "context_window": "headway.agent.models",
    "explain": "headway.agent.failures",
    "instructions": "headway.agent.prompt",
    "price": "headway.agent.models",
    "readiness": "headway.agent.providers",
    "repair_messages": "headway.agent.repair",
    "resolve_model": "headway.agent.models",
    "run_loop": "headway.agent.run",
    "tool_definitions": "headway.agent.definitions",
}


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module 'headway.agent' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_LATER[name]), name)


def __dir__() -> list[str]:
    return __all__
