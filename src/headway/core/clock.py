"""Time as the log writes it: ISO 8601, UTC, milliseconds.

Wall-clock time, which may jump: events are ordered by their version, never by this.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


def format_moment(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")[:-6] + "Z"


def parse_time(text: str) -> str:
    """Any ISO 8601 time as the log writes it; without a zone it is taken as UTC."""
    moment = datetime.fromisoformat(text)
    return format_moment(moment if moment.tzinfo else moment.replace(tzinfo=UTC))


def add_seconds(moment: str, seconds: float) -> str:
    """Return the time `seconds` later."""
    return format_moment(datetime.fromisoformat(moment) + timedelta(seconds=seconds))


def format_local_stamp(moment: str) -> str:
    """`YYYYMMDD-HHMMSS` in local time, as file names and headings use it."""
    return datetime.fromisoformat(moment).astimezone().strftime("%Y%m%d-%H%M%S")


def format_local_time(moment: str) -> str:
    """`YYYY-MM-DD HH:MM:SS` in local time, for people."""
    return datetime.fromisoformat(moment).astimezone().strftime("%Y-%m-%d %H:%M:%S")
