"""The report of a session in any of its formats."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.core.json_text import to_json_text

if TYPE_CHECKING:
    from headway.session import Session


def render_report(session: Session, kind: str, at: str) -> str:
    """Return the report as `md`, `json` or `html`, as of the time `at`."""
    report = session.report(generated_at=at)
    if kind == "json":
        return to_json_text(report.to_dict()) + "\n"
    return report.html() if kind == "html" else report.markdown()
