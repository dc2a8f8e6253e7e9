"""`headway` alone: which session, on which kind of terminal."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import TYPE_CHECKING

from headway.app.session_choice import explain_left_behind
from headway.cli.logs import keep_logs_off_the_screen
from headway.cli.new_session import choose_or_name
from headway.core.text import sanitize_for_display
from headway.project import choose_session_name, open_store
from headway.repl.conversation import Conversation

if TYPE_CHECKING:
    from headway.cli.options import CommandContext


def start(chosen: CommandContext, *, go_on: bool, new: str | None, plan: bool, mode: str | None, memory: bool) -> int:
    """Run the terminal session to its end; return the exit code."""
    keep_logs_off_the_screen(debug=chosen.debug)
    store = open_store(chosen.folder(), memory=memory)
    name = choose_or_name(chosen, store, go_on=go_on, new=new)
    work = Conversation(chosen, store, name, go_on=go_on, mode=mode, memory=memory)

    def enter() -> None:
        """Do what the flags say, as soon as it is certain that somebody is there."""
        if new is not None:
            if left := explain_left_behind(store, choose_session_name(store, os.environ)):
                sys.stderr.write(f"Note: {left}\n")
            work.make_current()
        if plan:
            work.session.set_plan_mode(True)

    try:
        if _has_screen():
            enter()
            return asyncio.run(_run_on_screen(work, resumes=go_on, memory=memory))
        from headway.repl.plain_screen import run_conversation

        return asyncio.run(run_conversation(work, enter))
    except KeyboardInterrupt:
        return 130


def _has_screen() -> bool:
    """Whether the terminal can be drawn on, and somebody types at it."""
    if sys.stdin is None or sys.stdout is None:
        return False  # closed
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "dumb") not in ("dumb", "unknown", "")


async def _run_on_screen(work: Conversation, *, resumes: bool, memory: bool) -> int:
    from headway.repl.renderer import Renderer
    from headway.repl.screen import TerminalScreen
    from headway.views.terminal import has_unicode

    screen = TerminalScreen(work, Renderer(ascii=not has_unicode(sys.stdout)), None if memory else _find_history_file())
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, screen.interrupt)
    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, screen.leave)
    screen.greet(resumes=resumes)
    await screen.run()
    if work.session.version and not memory:
        sys.stdout.write(f"Resume with: {work.how_to_continue}   (session {sanitize_for_display(work.session.name)})\n")
    return 0


def _find_history_file() -> str | None:
    """The file in which what was typed is kept for the next time; None where there can be none."""
    from platformdirs import user_state_dir

    folder = user_state_dir("headway")
    path = os.path.join(folder, "history")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
    except OSError:
        return None
    return path
