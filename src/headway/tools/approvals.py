"""Who may do what without being asked, and the question when somebody must be: one `Approvals` per run.

The question is async and carries what a person needs; its answer counts once, for the rest of the run, or is a no with
a reason that the model sees. With nobody to ask, the answer is no.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any, TypeAlias
from uuid import uuid4

from headway.core.errors import HeadwayError
from headway.core.text import shown
from headway.tools.effects import UNASKED, Effect, Mode
from headway.tools.tool import Context, Preview, Tool, ToolFault


class Reply(StrEnum):
    ONCE = "once"
    ALWAYS = "always"
    """For this tool, or this host, as long as the run lasts."""
    NO = "no"


@dataclass(frozen=True, slots=True)
class Answer:
    reply: Reply
    reason: str = ""
    """Why not; the model is told."""


@dataclass(frozen=True, slots=True)
class Question:
    id: str
    tool: str
    effect: Effect
    preview: Preview
    call_id: str | None = None


Ask: TypeAlias = Callable[[Question], Awaitable[Answer]]


class Denied(ToolFault):
    """The call may not run."""


class Approvals:
    """What one run may do, and what was answered in it."""

    def __init__(
        self,
        ask: Ask | None = None,
        *,
        mode: Mode = Mode.DEFAULT,
        allow: Iterable[str] = (),
        hosts: Iterable[str] = (),
        on_asked: Callable[[Question], None] = lambda question: None,
        on_answered: Callable[[Question, Answer], None] = lambda question, answer: None,
    ) -> None:
        self.mode = Mode(mode)
        self._ask = ask
        self._allow = [read_pattern(text) for text in allow]
        self._hosts = [host.lower() for host in hosts]
        self._on_asked = on_asked
        self._on_answered = on_answered
        self._always: set[str] = set()
        self._reached: set[str] = set()
        """Hosts that a person let this run reach."""
        self._one_at_a_time = asyncio.Lock()

    async def require(
        self, tool: Tool[Any], call: Any, effect: Effect, context: Context, call_id: str | None = None
    ) -> None:
        """Returns if the call may run; raises `Denied` if it may not."""
        if self._may(tool, call, effect):
            return
        preview = await tool.preview(call, context)
        if self._ask is None:
            raise Denied(
                f"{tool.name} was not run: it needs approval, and nobody is there to give it."
                f" Go on without it, or say that the user has to allow it ({_how_to_allow(tool, effect)})."
            )
        async with self._one_at_a_time:
            # What was answered while this call waited may cover it.
            if not self._may(tool, call, effect):
                await self._asked(Question(uuid4().hex, tool.name, effect, preview, call_id), tool, call)

    def _may(self, tool: Tool[Any], call: Any, effect: Effect) -> bool:
        if effect in UNASKED or self.mode is Mode.YOLO or tool.name in self._always:
            return True
        if effect is Effect.WRITE and self.mode is Mode.AUTO_EDIT and tool.edits_project:
            return True
        if effect is Effect.NETWORK and (host := tool.host(call)) is not None and self._may_reach(host):
            return True
        names = (tool.name, *tool.aliases)
        return any(name in names and (pattern is None or tool.matches(pattern, call)) for name, pattern in self._allow)

    def _may_reach(self, host: str) -> bool:
        bare = host.rsplit(":", 1)[0] if host.rsplit(":", 1)[-1].isdigit() else host
        known = any(fnmatchcase(host, pattern) or fnmatchcase(bare, pattern) for pattern in self._hosts)
        return known or host in self._reached

    async def _asked(self, question: Question, tool: Tool[Any], call: Any) -> None:
        assert self._ask is not None
        self._on_asked(question)
        try:
            answer = await self._ask(question)
        except Exception:
            logging.getLogger("headway").exception("The question for approval failed")
            answer = Answer(Reply.NO, "the question could not be asked")
        self._on_answered(question, answer)
        if answer.reply is Reply.NO:
            why = f": {shown(answer.reason, 500)}" if answer.reason.strip() else "."
            raise Denied(
                f"{tool.name} was not run, since the user said no{why}\nDo not try to get the same done another way."
            )
        host = tool.host(call) if question.effect is Effect.NETWORK else None
        if host is not None:
            self._reached.add(host)
        elif answer.reply is Reply.ALWAYS:
            self._always.add(tool.name)


def _how_to_allow(tool: Tool[Any], effect: Effect) -> str:
    if effect is Effect.NETWORK:
        return "the setting `hosts`"
    return f"the setting `allow`, for example '{tool.name}: …', or another `mode`"


def read_pattern(text: str) -> tuple[str, str | None]:
    """`bash: pytest *` as the tool's name and the pattern; a name alone covers every call of that tool."""
    name, colon, pattern = text.partition(":")
    name, pattern = name.strip(), pattern.strip()
    if not name or (colon and not pattern):
        raise HeadwayError(f"'{shown(text)}' is no allow pattern; write it like 'bash: pytest *'.")
    return name, pattern or None
