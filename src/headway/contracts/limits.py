"""Limits and language that people set in the environment: TODO_MAX_ITEMS, TODO_MAX_CONTENT_LENGTH, TODO_LOG_LANG."""

from __future__ import annotations

import os
import sys

from headway.core.text import sanitize_for_display

MAX_ITEMS = 50
MAX_CHARS = 200
_reported: set[tuple[str, str]] = set()


def max_items() -> int:
    return _read_positive("TODO_MAX_ITEMS", MAX_ITEMS)


def max_chars() -> int:
    return _read_positive("TODO_MAX_CONTENT_LENGTH", MAX_CHARS)


def report_unusable() -> None:
    """Say now what is wrong with these settings, for those who are about to draw on the terminal."""
    max_items()
    max_chars()


def is_log_in_english() -> bool:
    return os.environ.get("TODO_LOG_LANG", "").strip().lower().startswith("en")


def _read_positive(name: str, default: int) -> int:
    """The setting, or the default where it is no positive whole number; that is said once on stderr."""
    text = os.environ.get(name)
    if text is None:
        return default
    digits = text.strip()
    if digits.isascii() and digits.isdigit() and len(digits) <= 18 and int(digits) > 0:
        return int(digits)
    if (name, text) not in _reported:
        _reported.add((name, text))
        warning = (
            f"Warning: {name} must be a positive whole number, not '{sanitize_for_display(text)}'; using {default}.\n"
        )
        if sys.stderr is not None:
            sys.stderr.write(warning)
    return default
