"""The report of a session in any of its formats."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.core.json_text import to_json_text
from headway.core.text import neutralize_lines

if TYPE_CHECKING:
    from headway.session import Session


def render_report(session: Session, kind: str, at: str) -> str:
    """Return the report as `md`, `json` or `html`, as of the time `at`."""
    from headway.views.report.build import build_report

    state = session.state  # before the log is read: a run whose process is gone is ended by this
    todos = [*state.list_of(session.agent_id).items.values()]
    report = build_report(
        session.events(), todos, session=session.name, agent=session.agent_id, generated_at=at, plan=state.plan
    )
    if kind == "json":
        from headway.views.report.model import to_record

        return to_json_text(to_record(report)) + "\n"
    if kind == "html":
        from headway.views.report.html import report_html

        return report_html(report)
    from headway.views.report.markdown import report_markdown

    return neutralize_lines(report_markdown(report))
