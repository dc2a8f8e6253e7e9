"""Whatever becomes of the connection, the server or the tab: in the end the page knows what is so, all of it, once."""

from __future__ import annotations

import asyncio
import os
import random
import re
import signal
from collections.abc import AsyncIterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

import pytest
import pytest_asyncio
from playwright.async_api import BrowserContext, Locator, Page, expect
from tests.support.processes import WAIT

import headway
from headway.core.errors import HeadwayError

from ..conftest import Begun
from ..running import asking
from ..serving import Server
from .knowing import Own, logged, run_program, until_known, versions
from .line import NO_LINE, Line
from .tabs import NO_ANSWER, Tabs, row, shown

SEEDS = 10
AWAY = re.compile("Reconnecting…|Server not responding")


@pytest_asyncio.fixture(loop_scope="session")
async def line() -> AsyncIterator[Line]:
    line = Line()
    async with line.laid():
        yield line


async def over(line: Line, tabs: Tabs) -> BrowserContext:
    """A person whose browser is at the other end of the line."""
    tabs.expect_error(NO_LINE)
    return await tabs.person(proxy={"server": line.address})


async def mended(line: Line, page: Page) -> None:
    """The line is there again, and the browser notices."""
    line.mend()
    await page.evaluate("dispatchEvent(new Event('online'))")


def connection(page: Page) -> Locator:
    return page.locator("#connection")


def adding(page: Page) -> Locator:
    return page.get_by_role("textbox", name="New item")


async def test_a_connection_that_was_cut_goes_on_where_it_ended(
    tabs: Tabs, server: Server, name: str, begun: Begun, line: Line
) -> None:
    session = begun("a", "b")
    page = await tabs.open(name, context=await over(line, tabs))
    await adding(page).fill("Half a thought")
    for number in range(3):
        line.cut()
        await expect(connection(page)).to_have_text(AWAY)
        session.update("a", notes=f"Note {number}")
        session.move("b", 1)
        session.add(f"Meanwhile {number}")
        line.mend()
        await expect(connection(page)).to_have_text("Live")
        await expect(page.get_by_text(f"Meanwhile {number}")).to_be_visible()
        assert len(await until_known(page, server, name)) == session.version
    await expect(adding(page)).to_have_value("Half a thought")
    await expect(adding(page)).to_be_focused()


async def test_another_session_of_the_same_name_is_noticed_after_a_cut(
    tabs: Tabs, server: Server, name: str, begun: Begun, line: Line
) -> None:
    session = begun("a", "b")
    page = await tabs.open(name, context=await over(line, tabs))
    for contents in (["c", "d"], ["e"]):
        line.cut()
        await expect(connection(page)).to_have_text(AWAY)
        version = session.version
        session.store.delete(name)
        session = begun(*contents)
        assert session.version == version
        line.mend()
        await expect(row(page, contents[-1])).to_be_visible()
        await until_known(page, server, name)
        assert await shown(page) == contents


async def test_a_connection_that_falls_silent_is_noticed(
    tabs: Tabs, server: Server, name: str, begun: Begun, line: Line
) -> None:
    session = begun("a")
    page = await tabs.blank(await over(line, tabs))
    await page.clock.install()
    await page.goto(f"http://{server.host}/#{urlencode({'session': name})}")
    await expect(connection(page)).to_have_text("Live")
    line.silence()
    session.add("Unheard")
    await page.clock.fast_forward(40_000)
    await expect(connection(page)).to_have_text(AWAY)
    await mended(line, page)
    await expect(page.get_by_text("Unheard")).to_be_visible()
    await expect(connection(page)).to_have_text("Live")
    await until_known(page, server, name)


async def test_a_server_that_hangs_is_noticed_and_nothing_can_be_allowed_meanwhile(own: Own) -> None:
    session = own.begun("mine", "One")
    page = await own.tabs.blank(await own.tabs.person())
    await page.clock.install()
    await page.goto(f"http://{own.server.host}/#{urlencode({'session': 'mine'})}")
    question = page.get_by_role("region", name="Questions for you").get_by_role("article")
    allow = question.get_by_role("button", name="Allow once")
    reason = question.get_by_text("The page is not connected to the server")
    async with asking(session, own.server.folder, "main"):
        await expect(allow).to_be_enabled()
        await page.clock.fast_forward(1_000)
        await expect(connection(page)).to_have_text("Live")
        os.kill(own.server.pid, signal.SIGSTOP)
        try:
            await page.clock.fast_forward(13_000)
            await expect(connection(page)).to_have_text("Server not responding")
            await expect(allow).to_be_disabled()
            await expect(reason).to_be_visible()
            await allow.focus()
            await page.keyboard.press("Enter")
        finally:
            os.kill(own.server.pid, signal.SIGCONT)
        await page.clock.run_for(10_000)
        await expect(connection(page)).to_have_text("Live")
        await expect(reason).to_be_hidden()
        assert len(own.server.state("mine")["questions"]) == 1, "nothing was allowed"
        await allow.click()
        await expect(question).to_have_count(0)


@pytest.mark.parametrize(
    "how", [pytest.param(signal.SIGTERM, marks=pytest.mark.slow), pytest.param(signal.SIGKILL, marks=pytest.mark.smoke)]
)
async def test_a_server_that_was_started_again_is_found_again(own: Own, how: signal.Signals) -> None:
    session = own.begun("mine", "One", "Two")
    page = await own.tabs.open("mine", item="t1")
    await adding(page).fill("Typed before")
    own.tabs.expect_error(NO_ANSWER)
    os.kill(own.server.pid, how)
    own.server.stop()
    await expect(connection(page)).to_have_text(AWAY)
    await adding(page).press("Enter")
    await expect(page.get_by_text("The server is not responding.")).to_be_visible()
    await expect(adding(page)).to_have_value("Typed before")
    run_program(own.server, "mine", "headway", "todos", "add", "While it was down")
    session.update("t1", status="completed")
    before = own.server.host
    own.server.start()
    assert own.server.host == before
    await expect(connection(page)).to_have_text("Live")
    await expect(page.get_by_text("While it was down")).to_be_visible()
    await expect(page).to_have_title("1/3 mine — Headway")
    await expect(adding(page)).to_have_value("Typed before")
    await adding(page).press("Enter")
    await expect(row(page, "t4")).to_contain_text("Typed before")
    assert len(await until_known(page, own.server, "mine")) == session.version == 5


def many(session: headway.Session, number: int) -> None:
    """Events that come in one go, as nobody could make them one by one in a test."""
    session.set_plan_mode(True)
    session.set_plan_mode(False)
    pair = session.store.events(session.name, session.version - 2)
    first = session.version + 1
    events = [replace(pair[index % 2], version=first + index) for index in range(number)]
    session.store.append(session.name, session.version, events, None)


async def test_a_tab_that_slept_for_long_knows_it_all_when_it_wakes(
    tabs: Tabs, server: Server, name: str, begun: Begun, line: Line
) -> None:
    session = begun("a", "b")
    person = await over(line, tabs)
    page = await tabs.open(name, "log", context=person)
    await page.get_by_label("Which events").select_option("all")
    devtools: Any = await person.new_cdp_session(page)
    await devtools.send("Page.setWebLifecycleState", {"state": "frozen"})
    many(session, 700)
    session.add("While it slept")
    await devtools.send("Page.setWebLifecycleState", {"state": "active"})
    assert len(await until_known(page, server, name)) == session.version
    line.cut()
    await expect(connection(page)).to_have_text(AWAY)
    many(session, 1_200)
    session.add("And then")
    await mended(line, page)
    known = await until_known(page, server, name)
    assert len(known) < session.version
    older = page.locator("#view-log").get_by_text("Show earlier events")
    while await older.is_visible():
        number = await logged(page).count()
        await older.click()
        async with asyncio.timeout(WAIT):  # `expect` takes long where there are so many rows
            while await logged(page).count() == number:
                await asyncio.sleep(0.02)
    assert await versions(page) == [*range(1, session.version + 1)]
    assert len(await until_known(page, server, name)) == session.version


_NOTED = """() => {
  window.opened = [];
  const ask = window.fetch;
  window.fetch = (address, ...given) => {
    if (address.includes("/stream?")) opened.push(performance.now());
    return ask(address, ...given);
  };
  import("/static/store.js").then(({ store }) => store.open(store.wanted));
}"""


async def test_a_session_that_is_gone_again_and_again_is_not_asked_for_in_haste(
    tabs: Tabs, server: Server, name: str, begun: Begun
) -> None:
    session = begun("a")
    page = await tabs.open(name)
    gone = "event: gone\ndata: {}\n\n"
    await page.route("**/stream?*", lambda route: route.fulfill(content_type="text/event-stream", body=gone))
    await page.evaluate(_NOTED)
    async with asyncio.timeout(WAIT):
        while len(opened := await page.evaluate("opened")) < 3:
            await asyncio.sleep(0.02)
    first, second, third = opened[:3]
    assert second - first > 200 and third - second > 400
    await page.unroute("**/stream?*")
    await page.evaluate("dispatchEvent(new Event('online'))")
    session.add("In the end")
    await expect(page.get_by_text("In the end")).to_be_visible()
    await until_known(page, server, name)


def changed(session: headway.Session, choose: random.Random) -> None:
    """One change of any kind; some cannot be made."""
    ids = [todo.id for todo in session.todos] or ["none"]
    one = choose.choice(ids)
    kinds = [
        lambda: session.add(f"Item {choose.random()}", after=choose.choice([None, one])),
        lambda: session.update(one, notes=f"Note {choose.random()}", priority=choose.choice(["high", "low"])),
        lambda: session.update(one, status=choose.choice(["pending", "in_progress", "completed", "blocked"])),
        lambda: session.move(one, choose.randint(1, len(ids))),
        lambda: session.drop(one),
        lambda: session.undo(choose.randint(1, 3)),
        lambda: session.redo(),
        lambda: session.set_plan_mode(choose.random() < 0.5),
        lambda: session.set_plan(
            {"title": f"Plan {choose.random()}", "overview": "O", "steps": [{"id": "s", "description": "Step"}]}
        ),
        lambda: session.clear_plan(),
        lambda: session.plan_to_todos(),
        lambda: session.write([{"content": f"Written {choose.random()}", "activeForm": "W", "status": "pending"}]),
        lambda: session.update(one, depends_on=[choose.choice(ids)]),
    ]
    with suppress(HeadwayError):
        choose.choice(kinds)()


async def test_whatever_happens_the_page_ends_with_what_is_so(
    tabs: Tabs, server: Server, name: str, begun: Begun, line: Line
) -> None:
    session = begun("a", "b")
    page = await tabs.open(name, context=await over(line, tabs))
    for seed in range(SEEDS):
        choose = random.Random(seed)
        with ExitStack() as stack:
            if seed % 2:  # someone else watches too: the server keeps what is new, and need not tell everything
                stack.enter_context(server.stream(name))
            for _ in range(choose.randint(1, 3)):
                for _ in range(choose.randint(1, 12)):
                    changed(session, choose)
                if choose.random() < 0.4:
                    line.cut()
                    changed(session, choose)
                    await mended(line, page)
            events = await until_known(page, server, name)
        assert [one["version"] for one in events] == [*range(1, session.version + 1)], seed
