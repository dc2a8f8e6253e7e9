"""By what a text is told that may have a key in it, without loading what finds keys."""

from __future__ import annotations

import os

KEY_BEGINNINGS = (
    "sk-",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "hf_",
    "gsk_",
    "github_pat_",
    "glpat-",
    "tvly-",
    "AIza",
    "AKIA",
)
"""What keys begin with, and hardly anything else does."""
BEGINNINGS = (
    *KEY_BEGINNINGS,
    *("npm_", "xai-", "pypi-", "ya29.", "xox", "ASIA", "_live_", "_test_", "eyJ", "-----BEGIN "),
)
NAMES = ("key", "token", "secret", "pass", "bearer", "authorization")
"""Text without any of these is not searched."""
SHORTEST = 8
"""Shorter values of secret variables are too common in ordinary text to be looked for."""


def may_have_secret(text: str) -> bool:
    if not text:
        return False
    if "://" in text or contains_any(text, BEGINNINGS) or contains_any(text.lower(), NAMES):
        return True
    return any(len(value) >= SHORTEST and value in text for value in os.environ.values())


def contains_any(text: str, words: tuple[str, ...]) -> bool:
    return any(map(text.__contains__, words))
