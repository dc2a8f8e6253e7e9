"""Who may do what without being asked, and the question when somebody must be: one `Approvals` per run.

The question is async and carries what a person needs; its answer counts once, for the rest of the run, or is a no with
a reason that the model sees. With nobody to ask, the answer is no.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from inspect import isawaitable, iscoroutinefunction
from traceback import format_exc
from typing import Any, Literal, TypeAlias, cast
from uuid import uuid4

from headway.core.errors import HeadwayError
from headway.core.logs import logger
from headway.core.secrets import redact
from headway.core.text import sanitize_for_display
from headway.tools.base import Context, Preview, Tool, ToolFault
from headway.tools.effects import UNASKED, Effect, Mode, ModeName
from headway.tools.web.addresses import to_ascii_pattern

_WITH_PORT = re.compile(r"(\[[^\]]*\]|[^:]*):[0-9]+")
"""`localhost:8000`, `[::1]:8000`; not `::1`, in which colons are part of the address."""
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Reply(StrEnum):
    ONCE = "once"
    ALWAYS = "always"
    """For this tool, or this host, as long as the run lasts."""
    OFFLINE = "offline"
    """Once, in the sandbox without the network."""
    NO = "no"


ReplyName: TypeAlias = Literal["once", "always", "offline", "no"]


@dataclass(frozen=True, slots=True)
class Answer:
    reply: Reply | ReplyName
    reason: str = ""
    """Why not; the model is told."""

    def __post_init__(self) -> None:
        if self.reply not in list(Reply):
            raise HeadwayError(
                f"'{sanitize_for_display(self.reply)}' is not a valid reply; choose from: {', '.join(Reply)}."
            )


@dataclass(frozen=True, slots=True)
class Question:
    id: str
    tool: str
    effect: Effect
    preview: Preview
    call_id: str | None = None
    always: str | None = None
    """What `Reply.ALWAYS` allows in the run; None: all calls of the tool, or all requests to the host."""
    in_sandbox: bool = False
    """Whether the call runs in the sandbox, so that `Reply.OFFLINE` can be the answer."""

    @property
    def allowed_by_always(self) -> str:
        host = self.preview.host and f"all requests to {sanitize_for_display(self.preview.host, 60)}"
        return f"{self.always or host or f'all {self.tool} calls'} in this run"


Ask: TypeAlias = Callable[[Question], Awaitable[Answer]]
NOT_ASKED = "the question could not be asked"
_NOT_VALID = "the answer was not valid"
_STOPPED = "the run was stopped"


class Denied(ToolFault):
    """The call may not run."""

    code = "denied"


class Approvals:
    """What one run may do, and what was answered in it."""

    def __init__(
        self,
        ask: Ask | Callable[[Question], Answer] | None = None,
        *,
        mode: Mode | ModeName = Mode.DEFAULT,
        allow: Iterable[str] = (),
        hosts: Iterable[str] = (),
        has_sandbox: bool = False,
        on_asked: Callable[[Question], None] = lambda question: None,
        on_answered: Callable[[Question, Answer], None] = lambda question, answer: None,
    ) -> None:
        self._mode = check_mode(mode)
        self.ask: Ask | None = None if ask is None else _to_async(ask)
        """Puts a question to a person; None if nobody is there. A function that is not `async` runs in a thread."""
        self._allow = [parse_pattern(text) for text in check_texts(allow, "allow")]
        self._hosts = [to_ascii_pattern(host) for host in check_texts(hosts, "hosts")]
        self._has_sandbox = has_sandbox
        """Whether commands run in one, which the mode `sandboxed` needs."""
        self._on_asked = on_asked
        self._on_answered = on_answered
        self._always: set[str] = set()
        self._reached: set[str] = set()
        """Hosts that a person let this run reach."""
        self._refused: dict[str, Answer] = {}
        """Hosts that a person did not let it reach."""
        self._one_at_a_time = asyncio.Lock()

    @property
    def mode(self) -> Mode:
        return self._mode

    @mode.setter
    def mode(self, mode: Mode | ModeName) -> None:
        self._mode = check_mode(mode)

    @property
    def lacks_sandbox(self) -> bool:
        """Whether the mode asks more than its name says, since there is no sandbox."""
        return self.mode is Mode.SANDBOXED and not self._has_sandbox

    async def require(
        self,
        tool: Tool[Any],
        call: Any,
        effect: Effect,
        context: Context,
        call_id: str | None = None,
        *,
        ask: Ask | None = None,
    ) -> bool:
        """Return whether the call, which may run, may reach the network too: a person approved it, and did not say no.

        Raises `Denied` if it may not run.

        `ask` stands in for the one it was made with.
        """
        if self._may(tool, call, effect):
            return tool.name in self._always
        ask = ask or self.ask
        if ask is None:
            await tool.preview(call, context)
            raise Denied(
                f"{tool.name} was not run: it needs approval, and nobody is there to give it. Continue without it, "
                f"or tell the user to allow it ({_explain_how_to_allow(tool, call, effect)})."
            )
        host = _find_host(tool, call, effect)
        async with self._one_at_a_time:
            # What was answered while this call waited may cover it.
            if self._may(tool, call, effect):
                return tool.name in self._always
            if host in self._refused:
                raise _to_denied(tool, self._refused[host])
            # Only now, so that the question shows the files as the calls before this one left them.
            preview = await tool.preview(call, context)
            in_sandbox = tool.runs_in_sandbox(call)
            question = Question(uuid4().hex, tool.name, effect, preview, call_id, in_sandbox=in_sandbox)
            answer, is_from_person = await self._ask(question, ask)
            self._settle(tool, host, answer, is_from_person)
        if await tool.preview(call, context) != preview:
            raise Denied(
                f"{tool.name} was not run: what it would do changed while the user was being asked; check the "
                "current state, then call it again."
            )
        return answer.reply != Reply.OFFLINE

    def allows(self, tool: str, covers: Callable[[str], bool]) -> bool:
        """Return whether a call of a tool that does not come from a model may be made unasked."""
        if self.mode is Mode.YOLO or tool in self._always or (tool == "bash" and self._is_sandboxed()):
            return True
        return any(name == tool and (pattern in (None, "*") or covers(pattern or "")) for name, pattern in self._allow)

    async def ask_outside_call(self, question: Question, ask: Ask | None = None) -> Answer:
        """Put a question that belongs to no call; the answer is no if nobody is there."""
        ask = ask or self.ask
        if ask is None:
            return Answer(Reply.NO, "there was nobody to answer")
        async with self._one_at_a_time:
            return (await self._ask(question, ask))[0]

    def _may(self, tool: Tool[Any], call: Any, effect: Effect) -> bool:
        if effect in UNASKED or self.mode is Mode.YOLO:
            return True
        if effect is Effect.WRITE and self._may_edit() and tool.edits_project(call):
            return True
        if effect is Effect.EXECUTE and self._is_sandboxed() and tool.runs_in_sandbox(call):
            return True
        host = _find_host(tool, call, effect)
        # Always counts for the host where there is one: a tool that reaches any host would reach them all.
        if tool.name in self._always if host is None else self._may_reach(host):
            return True
        names = (tool.name, *tool.aliases)
        return any(
            name in names and (pattern in (None, "*") or tool.matches(pattern or "", call))
            for name, pattern in self._allow
        )

    def _may_edit(self) -> bool:
        return self.mode is Mode.AUTO_EDIT or self._is_sandboxed()

    def _is_sandboxed(self) -> bool:
        return self.mode is Mode.SANDBOXED and self._has_sandbox

    def _may_reach(self, host: str) -> bool:
        with_port = _WITH_PORT.fullmatch(host)
        bare = with_port[1] if with_port else host
        forms = {host, bare, bare.removeprefix("[").removesuffix("]")}
        return host in self._reached or any(
            # Brackets stand around addresses here, not around choices of characters.
            fnmatchcase(form, pattern.replace("[", "[[]"))
            for form in forms
            for pattern in self._hosts
        )

    async def _ask(self, question: Question, ask: Ask) -> tuple[Answer, bool]:
        """The answer, and whether a person gave it."""
        said, answer = False, Answer(Reply.NO, _STOPPED)
        _call_hook(self._on_asked, question)
        try:
            said, answer = _parse_answer(question, await ask(question))
        except Exception:
            logger().error("Asking for approval failed:\n%s", redact(format_exc()))
            answer = Answer(Reply.NO, NOT_ASKED)
        finally:
            _call_hook(self._on_answered, question, answer)
        return answer, said

    def _settle(self, tool: Tool[Any], host: str | None, answer: Answer, said: bool) -> None:
        if answer.reply is Reply.NO:
            if host is not None and said:
                self._refused[host] = answer
            raise _to_denied(tool, answer)
        if host is not None:
            self._reached.add(host)
        elif answer.reply is Reply.ALWAYS:
            self._always.add(tool.name)


def _find_host(tool: Tool[Any], call: Any, effect: Effect) -> str | None:
    host = tool.host(call) if effect is Effect.NETWORK else None
    return None if host is None else host.lower()


def _parse_answer(question: Question, answer: object) -> tuple[bool, Answer]:
    """Whether it is an answer, and the answer. Whatever else a front end gives back is a no."""
    if isinstance(answer, Answer):
        try:
            reply = Reply(answer.reply)
            if reply is Reply.OFFLINE and not question.in_sandbox:
                return True, Answer(Reply.NO, "it would have the network, since it does not run in a sandbox")
            return True, Answer(reply, str(answer.reason or ""))
        except ValueError:
            pass
    logger().error("An answer must be Answer('once'), 'always', 'offline' or Answer('no', reason=…).")
    return False, Answer(Reply.NO, _NOT_VALID)


def _to_async(ask: Ask | Callable[[Question], Answer]) -> Ask:
    if iscoroutinefunction(ask) or iscoroutinefunction(getattr(ask, "__call__", None)):  # noqa: B004
        return cast("Ask", ask)

    async def ask_in_thread(question: Question) -> Answer:
        answer = await asyncio.to_thread(ask, question)
        return await answer if isawaitable(answer) else answer

    return ask_in_thread


def _to_denied(tool: Tool[Any], answer: Answer) -> Denied:
    if answer.reason in (NOT_ASKED, _NOT_VALID, _STOPPED):
        return Denied(f"{tool.name} was not run: {answer.reason}.\nDo not try to do the same thing another way.")
    why = f": {sanitize_for_display(answer.reason.strip(), 500)}" if answer.reason.strip() else "."
    return Denied(f"The user declined {tool.name}{why}\nDo not try to do the same thing another way.")


def _call_hook(hook: Callable[..., None], *about: object) -> None:
    try:
        hook(*about)
    except Exception:  # whoever keeps a record must not decide the call
        logger().error("Reporting a question failed:\n%s", redact(format_exc()))


def _explain_how_to_allow(tool: Tool[Any], call: Any, effect: Effect) -> str:
    if effect is Effect.NETWORK and tool.host(call) is not None:
        return "the setting `hosts`"
    example = tool.name if tool.subject(call) is None else f"{tool.name}: {tool.subject(call)}"
    return f"the setting `allow`, for example '{sanitize_for_display(example, 200)}', or another `mode`"


def parse_pattern(text: str) -> tuple[str, str | None]:
    """`bash: pytest *` as the tool's name and the pattern; a name alone covers every call of that tool."""
    name, colon, pattern = text.partition(":")
    name, pattern = name.strip(), pattern.strip()
    if not _NAME.fullmatch(name) or (colon and not pattern):
        raise HeadwayError(
            f"'{sanitize_for_display(text)}' is not a valid allow pattern; write it like 'bash: pytest *'."
        )
    return name, pattern or None


def check_texts(texts: Iterable[str], name: str) -> list[str]:
    """The texts of a setting; a single text is a mistake that would be read letter by letter."""
    found: list[object] = [texts] if isinstance(texts, str) else [*texts]
    if isinstance(texts, str) or not all(isinstance(text, str) for text in found):
        raise HeadwayError(f"`{name}` must be a list of strings, not '{sanitize_for_display(texts)}'.")
    return [*texts]


def check_mode(mode: Mode | str) -> Mode:
    try:
        return Mode(mode)
    except ValueError:
        raise HeadwayError(
            f"'{sanitize_for_display(mode)}' is not a valid mode; choose from: {', '.join(Mode)}."
        ) from None
