"""Ask the person at the terminal whether a call may run: yes, always, or no with a reason. Can be given up."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from dataclasses import replace

import click

from headway.cli.live import has_unicode
from headway.cli.run_view import RunView
from headway.core.exact_text import exact_in_ascii
from headway.core.text import neutralize_lines
from headway.tools.approvals import Answer, Question, Reply
from headway.tools.base import Preview
from headway.views.terminal import to_visible


class TerminalQuestioner:
    def __init__(self, view: RunView) -> None:
        self._view = view

    async def __call__(self, question: Question) -> Answer:
        with self._view.pause_for_question():
            discard_typed()
            click.echo(question_text(to_printable(question.preview, ascii=not has_unicode(sys.stdout))))
            while True:
                offline = " · o: yes, without the network" if question.in_sandbox else ""
                always = f"a: allow {question.allowed_by_always}"
                click.echo(f"  y: yes{offline} · {always} · n: no, or n REASON > ", nl=False)
                line = await _read_line()
                if line is None:
                    click.echo()
                    return Answer(Reply.NO, "the input ended")
                if answer := parse_reply(line, in_sandbox=question.in_sandbox):
                    return answer


def to_printable(preview: Preview, *, ascii: bool) -> Preview:
    """Return the question in characters that the terminal has, none of which stands for another one."""
    if not ascii:
        return preview
    line, command, diff = (text and exact_in_ascii(text) for text in (preview.line, preview.command, preview.diff))
    return replace(preview, line=line or "", command=command, diff=diff)


def question_text(preview: Preview) -> str:
    """Return all that a person approves, as it is printed."""
    details = (line for text in preview.details for line in neutralize_lines(text).split("\n"))
    return "\n".join([f"? {to_visible(preview.line)}", *(f"    {line}" for line in details)])


def discard_typed() -> None:
    """What was typed before the question was there cannot be meant as its answer."""
    with suppress(ImportError, OSError):
        import termios

        with suppress(termios.error):
            termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


def parse_reply(line: str, *, in_sandbox: bool = False) -> Answer | None:
    """The answer that a line means; None if it means none. To a command in the sandbox there is one more."""
    word, _, rest = line.strip().partition(" ")
    match word.lower().rstrip(",:"), bool(rest.strip()):
        case ("y" | "yes" | "是", False):
            return Answer(Reply.ONCE)
        case ("a" | "always" | "总是", False):
            return Answer(Reply.ALWAYS)
        case ("o" | "offline", False) if in_sandbox:
            return Answer(Reply.OFFLINE)
        case ("n" | "no" | "否" | "不", _):
            return Answer(Reply.NO, rest.strip())
        case _:
            return None


async def _read_line() -> str | None:
    """The next line of the terminal; waiting for it can be cancelled, which a thread in `input` could not."""
    loop = asyncio.get_running_loop()
    came: asyncio.Future[str] = loop.create_future()
    descriptor = sys.stdin.fileno()

    def ready() -> None:
        loop.remove_reader(descriptor)
        if not came.done():
            came.set_result(sys.stdin.readline())

    loop.add_reader(descriptor, ready)
    try:
        return await came or None
    finally:
        loop.remove_reader(descriptor)
