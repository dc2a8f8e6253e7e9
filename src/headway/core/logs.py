"""Headway's logger. It prints nothing by itself: the program that uses the library decides where logs go."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from logging import Logger


def logger() -> Logger:
    """Return the logger, with a handler that drops everything where nobody has set another one."""
    import logging  # only when there is something to log: loading it takes a tenth of a short command's time

    log = logging.getLogger("headway")
    if not log.handlers:
        log.addHandler(logging.NullHandler())
    return log
