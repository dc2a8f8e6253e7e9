"""Keys and tokens in text from outside: found by their shape, or by being a secret of this environment.

What goes into logs and kept files passes through `redacted`; what a model reads from a file does not, since it would
write the gap back.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

HIDDEN = "[redacted]"
_SECRET_NAME = re.compile(r"(?i)(?:^|_)(?:api_?key|key|token|secret|passwd|password|credentials?|auth)(?:$|_)")
_SHORTEST = 8
"""Shorter values of secret variables are too common in ordinary text to be looked for."""
_SHAPES = re.compile(
    r"""
      \bsk-[A-Za-z0-9_-]{16,}                               # OpenAI, Anthropic and others
    | \bAIza[A-Za-z0-9_-]{30,}                              # Google
    | \b(?:gh[pousr]|glpat|hf|npm|xai|gsk)[_-][A-Za-z0-9_-]{16,}
    | \bgithub_pat_[A-Za-z0-9_]{20,}
    | \bxox[abeoprs]-[A-Za-z0-9-]{10,}                      # Slack
    | \b(?:AKIA|ASIA)[A-Z0-9]{16}\b                         # AWS
    | \beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}      # JSON Web Token
    | -----BEGIN\ [A-Z ]*PRIVATE\ KEY-----[\s\S]{0,20000}?(?:-----END\ [A-Z ]*PRIVATE\ KEY-----|\Z)
    """,
    re.VERBOSE,
)
_NAMED = re.compile(
    r"""(?ix)
    ( (?:api[_-]?key|access[_-]?key|token|secret|passwd|password)["']?\s{0,3}[:=]\s{0,3}["']?
    | \bauthorization["']?\s{0,3}[:=]\s{0,3}["']?(?:bearer|basic|token)\s{1,3}
    | \bbearer\s{1,3}
    | ://[^\s/:@]{1,100}: )
    ( [^\s"'@;,&]{8,4000} )
    """
)


def is_secret_name(name: str) -> bool:
    """Whether an environment variable of this name is likely to hold a secret."""
    return _SECRET_NAME.search(name) is not None


def redacted(text: str, environ: Mapping[str, str] | None = None) -> str:
    """The text without what looks like a key, a token or a password."""
    for value in _secret_values(os.environ if environ is None else environ):
        text = text.replace(value, HIDDEN)
    text = _SHAPES.sub(HIDDEN, text)
    return _NAMED.sub(lambda found: found[1] + HIDDEN if _looks_secret(found[2]) else found[0], text)


def _secret_values(environ: Mapping[str, str]) -> list[str]:
    """Longest first, so that one that contains another is hidden whole."""
    found = {value for name, value in environ.items() if len(value) >= _SHORTEST and is_secret_name(name)}
    return sorted((value for value in found if not os.path.isabs(value)), key=len, reverse=True)


def _looks_secret(value: str) -> bool:
    """Not a word of a language or a call: letters mixed with digits, or long."""
    if value.endswith(("(", ")")) or "(" in value or value.startswith(("$", "<", "{", "[")):
        return False
    return any(char.isdigit() for char in value) or len(value) >= 20
