"""The agent: models from any provider, what they are told, and why a request failed.

Importing this package loads no provider's library; each name is loaded when it is first asked for.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from headway.agent.definitions import tool_definitions
    from headway.agent.failures import explain
    from headway.agent.models import context_window, price, resolve_model
    from headway.agent.prompt import instructions
    from headway.agent.providers import PROVIDERS, Provider, readiness

__all__ = [
    "PROVIDERS",
    "Provider",
    "context_window",
    "explain",
    "instructions",
    "price",
    "readiness",
    "resolve_model",
    "tool_definitions",
]

_LATER = {
    "PROVIDERS": "headway.agent.providers",
    "Provider": "headway.agent.providers",
    "context_window": "headway.agent.models",
    "explain": "headway.agent.failures",
    "instructions": "headway.agent.prompt",
    "price": "headway.agent.models",
    "readiness": "headway.agent.providers",
    "resolve_model": "headway.agent.models",
    "tool_definitions": "headway.agent.definitions",
}


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module 'headway.agent' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_LATER[name]), name)


def __dir__() -> list[str]:
    return __all__
