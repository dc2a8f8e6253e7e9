"""Time as the log writes it: ISO 8601, UTC, milliseconds.

Wall-clock time, which may jump: events are ordered by their version, never by this.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


def _written(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")[:-6] + "Z"


def normal_time(text: str) -> str:
    """Any ISO 8601 time as the log writes it; without a zone it is taken as UTC."""
    moment = datetime.fromisoformat(text)
    return _written(moment if moment.tzinfo else moment.replace(tzinfo=UTC))


def after(moment: str, seconds: float) -> str:
    """The time `seconds` later."""
    return _written(datetime.fromisoformat(moment) + timedelta(seconds=seconds))


def local_stamp(moment: str) -> str:
    """`YYYYMMDD-HHMMSS` in local time, as file names and headings use it."""
    return datetime.fromisoformat(moment).astimezone().strftime("%Y%m%d-%H%M%S")


def local_time(moment: str) -> str:
    """`YYYY-MM-DD HH:MM:SS` in local time, for people."""
    return datetime.fromisoformat(moment).astimezone().strftime("%Y-%m-%d %H:%M:%S")
