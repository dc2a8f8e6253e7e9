"""What would stand in the middle of a drawn screen: logs, and warnings about settings."""

from __future__ import annotations

import logging

from headway.contracts.limits import report_unusable
from headway.core.text import neutralize_lines


class _NeutralFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return neutralize_lines(super().format(record))


def keep_logs_off_the_screen(*, debug: bool) -> None:
    """Write logs and warnings to standard error with `--debug`, neutralised, and else nowhere."""
    report_unusable()
    logging.captureWarnings(True)
    handler: logging.Handler = logging.NullHandler()
    if debug:
        handler = logging.StreamHandler()
        handler.setFormatter(_NeutralFormatter("%(message)s"))
    for name in ("headway", "uvicorn", "py.warnings"):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.propagate = False
