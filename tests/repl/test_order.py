"""A question never overtakes what happened before it, however slowly the screen is told."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from tests.support.scripts import bash, call, script, turn

from headway.cli.options import CommandContext
from headway.core.events import Event
from headway.core.run_events import ToolFinished
from headway.project import open_store
from headway.repl.conversation import Conversation
from headway.repl.plain_screen import PlainScreen
from headway.tools.approvals import Answer, Question, Reply


class SlowScreen(PlainScreen):
    """Takes its time over every event, as a thread that waits for a processor does."""

    def __init__(self, work: Conversation) -> None:
        super().__init__(work)
        self.asks = True
        self.order: list[str] = []

    def handle(self, event: Event) -> None:
        time.sleep(0.05)
        if isinstance(event.data, ToolFinished):
            self.order.append(f"finished {event.data.tool}")
        super().handle(event)

    async def ask(self, question: Question) -> Answer:
        self.order.append(f"asked {question.tool}")
        return Answer(Reply.NO)


async def test_a_question_comes_after_the_line_of_the_call_before_it(project: Path) -> None:
    Path("a.txt").write_text("a\n")
    model = script(turn("", call("read_file", path="a.txt")), turn("", bash("rm a.txt")), "Done.")
    work = Conversation(
        CommandContext(project=str(project), model=model),
        open_store(project),
        "mine",
        go_on=False,
        mode=None,
        memory=False,
    )
    screen = SlowScreen(work)
    work.begin(screen)
    async with asyncio.timeout(60):
        work.send("Look, then remove it")
        while work.is_running:
            await asyncio.sleep(0.02)
    await work.end()
    assert screen.order[:2] == ["finished read_file", "asked bash"]
