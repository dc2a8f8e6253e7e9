"""A question on the page: what a person reads there is what runs, all of it, or it cannot be allowed there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from playwright.async_api import Locator, Page, expect
from tests.support import scripts
from tests.support.processes import Form, until

from headway import Session
from headway.agent import run_loop
from headway.core.clock import now
from headway.core.exact_text import exact_lines
from headway.core.run_events import ApprovalAsked
from headway.planner.recorder import Recorder
from headway.testing import ScriptedModel
from headway.tools import Answer, Approvals, Question

from ..conftest import Begun
from ..running import turn
from ..serving import Server, item
from .tabs import Tabs

NASTY = (
    "pytest -q # -----BEGIN PRIVATE KEY-----\nid > f\n#-----END PRIVATE KEY-----",
    "token=a1b2c3`id>f`",
    "ls \x1b[2J\u202efdp.exe\u202c\u200b\u2028 \u3164\ufe0f\U000e0041\xa0\r\n\tid\x07\x9b",
    "ls" + " " * 3_000 + ";" + "\n" * 300 + "id",
    f"echo {'z' + chr(0x301) * 50} ⟨U+202E⟩ ␛ \U0001f469\u200d\U0001f4bb \u0645\u06cc\u200c\u0631",
    "<img src=x onerror=pwned=1>",
)


def questions(page: Page) -> Locator:
    return page.get_by_role("region", name="Questions for you").get_by_role("article")


async def _nobody(question: Question) -> Answer:
    return await asyncio.get_running_loop().create_future()


@asynccontextmanager
async def asking(session: Session, server: Server, *turns: Form) -> AsyncGenerator[None]:
    """A run outside of the server, whose calls nobody answers there."""
    work = run_loop(
        session,
        "Ask",
        model=ScriptedModel([*turns, "Done."]),
        approvals=Approvals(_nobody),
        project=server.folder,
    )
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


@pytest.mark.smoke
async def test_a_command_is_read_on_the_page_as_it_runs(tabs: Tabs, server: Server, name: str, begun: Begun) -> None:
    session = begun(item("a", status="completed"))
    page = await tabs.open(name)
    async with asking(session, server, *(turn(command) for command in NASTY)):
        for command in NASTY:
            shown = questions(page).get_by_label("Command")
            await expect(shown).to_have_js_property("textContent", exact_lines(command))
            await expect(questions(page).get_by_role("button", name="Allow once")).to_be_visible()
            assert await page.evaluate("window.pwned") is None
            await questions(page).get_by_role("button", name="No", exact=True).click()
        await expect(questions(page)).to_have_count(0)
    assert not (server.folder / "f").exists()


async def test_a_long_diff_can_be_read_to_its_end_and_is_then_written(
    tabs: Tabs, server: Server, name: str, begun: Begun
) -> None:
    session = begun(item("a", status="completed"))
    page = await tabs.open(name)
    content = "".join(f"key_{number} = 'ghp_{number:036}'\n" for number in range(1_000)) + "\u202e\n"
    async with asking(session, server, scripts.turn("", scripts.write("long.txt", content))):
        await expect(questions(page).get_by_role("button", name="Allow once")).to_be_visible()
        await questions(page).get_by_role("button", name="more lines").click()
        added = questions(page).locator(".diff-added")
        await expect(added).to_have_count(1_001)
        assert await added.all_text_contents() == [f"+{line}\n" for line in exact_lines(content).splitlines()]
        await questions(page).get_by_role("button", name="Allow once").click()
        await expect(questions(page)).to_have_count(0)
        await asyncio.to_thread(until, (server.folder / "long.txt").exists)
    assert (server.folder / "long.txt").read_text(encoding="utf-8") == content


async def test_what_the_page_does_not_have_whole_can_only_be_declined(tabs: Tabs, name: str, begun: Begun) -> None:
    session = begun(item("a", status="completed"))
    page = await tabs.open(name)
    recorder = Recorder(session, now)
    recorder.begin("Ask", "scripted", 5)
    try:
        recorder.record(
            ApprovalAsked(question_id="q1", tool="bash", effect="execute", line="Run: [redacted]", command="[redacted]")
        )
        await expect(questions(page)).to_contain_text("can only be declined here")
        for one in ("Allow once", "Always allow"):
            await expect(questions(page).get_by_role("button", name=one)).to_be_hidden()
        await page.keyboard.press("q")
        await expect(questions(page).get_by_role("button", name="No", exact=True)).to_be_focused()
        await page.keyboard.press("Enter")
        await expect(questions(page)).to_have_count(0)
        assert session.run is not None
        (answer,) = [answer for _, answer in session.run.questions.values()]
        assert answer is not None and answer.reply == "no"
    finally:
        recorder.end("cancelled", None)
