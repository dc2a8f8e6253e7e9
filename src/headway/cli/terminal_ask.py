"""Ask the person at the terminal whether a call may run: yes, always, or no with a reason. Can be given up."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress

import click

from headway.app.questions import parse_reply, question_text, to_printable
from headway.cli.run_view import RunView
from headway.tools.approvals import Answer, Question, Reply
from headway.views.terminal import has_unicode


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


def discard_typed() -> None:
    """What was typed before the question was there cannot be meant as its answer."""
    with suppress(ImportError, OSError):
        import termios

        with suppress(termios.error):
            termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


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
