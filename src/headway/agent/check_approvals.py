"""Which checks a run may run: what a person typed or approved, what the settings allow, and what is asked about now."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING
from uuid import uuid4

from headway.core.exact_text import exact_line, exact_lines
from headway.settings.approved_checks import approve_checks, read_approved_checks
from headway.tools.approvals import Question, Reply
from headway.tools.base import Preview
from headway.tools.effects import Effect
from headway.tools.shell.bash import covers_command

if TYPE_CHECKING:
    from headway.tools.approvals import Answer, Approvals, Ask

TOOL = "check"
"""What stands in place of a tool's name in the question."""


class CheckApprovals:
    """One per run. Questions are about all checks at once, and their answers are remembered for the project."""

    def __init__(self, project: str, approvals: Approvals, trusted: Iterable[str] = (), ask: Ask | None = None) -> None:
        """`trusted`: checks of settings that are the user's own. `ask` is put the questions; None: nobody is there."""
        self._project = project
        self._approvals = approvals
        self._trusted = set(trusted)
        self._ask = ask
        self._all = False
        """Whether the person said: any check in this run."""
        self._declined: dict[str, str] = {}
        """Check → why it is not run."""
        self._asking = asyncio.Lock()

    def is_approved(self, check: str) -> bool:
        """Return whether a person typed or approved this very check."""
        return check in self._trusted or check in read_approved_checks(self._project)

    def may_run(self, check: str) -> bool:
        if self._all or self._approvals.allows("bash", lambda pattern: covers_command(pattern, check)):
            return True
        return self.is_approved(check)

    def explain(self, check: str) -> str:
        """Say why a check is not run."""
        return f"check not run: {self._declined.get(check, 'it was not approved')}"

    async def ask(self, checks: Iterable[str]) -> list[str]:
        """Ask about those that may not run yet, in one question; return those that still may not."""
        async with self._asking:
            waiting = [check for check in dict.fromkeys(checks) if not self.may_run(check)]
            new = [check for check in waiting if check not in self._declined]
            if new and self._ask is None:
                self._declined |= dict.fromkeys(new, "there was nobody to approve it")
            elif new:
                self._settle(new, await self._approvals.ask_outside_call(_question(new), self._ask))
        return [check for check in waiting if not self.may_run(check)]

    def _settle(self, checks: list[str], answer: Answer) -> None:
        if answer.reply == Reply.NO:
            why = f"declined ({answer.reason.strip()})" if answer.reason.strip() else "declined"
            self._declined |= dict.fromkeys(checks, why)
            return
        self._all = self._all or answer.reply == Reply.ALWAYS
        self._trusted |= set(checks)  # also where nothing can be remembered
        approve_checks(self._project, checks)


def _question(checks: list[str]) -> Question:
    one = len(checks) == 1
    what = "this check" if one else f"these {len(checks)} checks"
    line = f"Run {what} to verify todos, now and whenever {'it is' if one else 'they are'} declared in this project"
    # One of several stays on its line, so that none looks like two.
    command = exact_lines(checks[0]) if one else "\n".join(map(exact_line, checks))
    preview = Preview(line, command=command)
    always = f"{'this' if one else 'these'} and all other checks"
    return Question(uuid4().hex, TOOL, Effect.EXECUTE, preview, always=always)
