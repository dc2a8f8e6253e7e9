"""What others do is seen at once, in every tab, whatever becomes of the tab meanwhile."""

from __future__ import annotations

import asyncio
import json
import signal
import sqlite3
from contextlib import closing
from urllib.parse import urlencode

import pytest
from playwright.async_api import Locator, Page, expect
from tests.support.processes import WAIT

from ..conftest import Begun
from ..serving import Server, writer
from .knowing import Own, logged, run_program, until_known, versions
from .tabs import Tabs, detail, lock, row, shown

ODD_NAMES = ["a/b", "../up", "100% of #1? & %2F", "汉字 🚀 é", "a\\b"]


def in_list(page: Page, name: str) -> Locator:
    """A session on the left."""
    names = page.get_by_role("navigation").get_by_role("listitem")
    return names.filter(has=page.get_by_text(name, exact=True))


@pytest.mark.smoke
async def test_what_other_processes_do_is_shown_everywhere(tabs: Tabs, server: Server, name: str, begun: Begun) -> None:
    session = begun("a", "b")
    page = await tabs.open(name, item="a")
    await expect(page).to_have_title(f"0/2 {name} — Headway")
    run_program(server, name, "headway", "todos", "update", "a", "completed")
    await expect(row(page, "a")).to_contain_text("Completed")
    await expect(page.get_by_text("1 of 2 completed")).to_be_visible()
    await expect(page).to_have_title(f"1/2 {name} — Headway")
    await expect(in_list(page, name)).to_contain_text("1 of 2")
    await expect(detail(page).get_by_role("button", name="Completed")).to_be_visible()
    todos = [
        {"content": "Do b", "activeForm": "Doing b", "status": "in_progress"},
        {"content": "New", "activeForm": "N", "status": "pending"},
    ]
    run_program(server, name, "TodoWrite", json.dumps({"todos": todos}))
    await expect(row(page, "b")).to_contain_text("Doing b")
    await expect(row(page, "a")).to_have_count(0)
    await page.get_by_role("tab", name="Log").click()
    session.add("At last")
    await expect(logged(page)).to_have_count(session.version)
    assert await versions(page) == [*range(1, session.version + 1)]
    await until_known(page, server, name)


async def test_many_changes_of_two_processes_are_each_seen_once(
    tabs: Tabs, server: Server, name: str, begun: Begun
) -> None:
    session = begun("a", "b")
    page = await tabs.open(name, "log")
    await page.get_by_label("Which events").select_option("all")
    writers = [writer(server.folder, name, 100) for _ in range(2)]
    assert [await asyncio.to_thread(process.wait) for process in writers] == [0, 0]
    assert [one["version"] for one in await until_known(page, server, name)] == [*range(1, session.version + 1)]
    await expect(logged(page).last).to_have_attribute("data-version", str(session.version))
    assert await versions(page) == [*range(1, session.version + 1)]
    await page.get_by_role("tab", name="List").click()
    await expect(page.locator("#view-list li[data-id]")).to_have_count(len(session.todos))
    assert await shown(page) == [todo.id for todo in session.todos]


async def test_a_reload_in_the_middle_finds_everything_again(
    tabs: Tabs, server: Server, name: str, begun: Begun
) -> None:
    session = begun("a", "b")
    page = await tabs.open(name, "log", item="a")
    process = writer(server.folder, name, 1_000_000, pause=0.01)
    for _ in range(2):
        await expect(logged(page).nth(10)).to_be_attached()
        await page.reload()
        await expect(page.get_by_role("tab", name="Log")).to_have_attribute("aria-selected", "true")
        await expect(detail(page).get_by_role("heading", name="Do a")).to_be_visible()
    process.signal(signal.SIGTERM)
    process.wait()
    assert [one["version"] for one in await until_known(page, server, name)] == [*range(1, session.version + 1)]
    drawn = await versions(page)
    assert drawn == sorted({*drawn})


async def test_two_tabs_and_two_persons_see_each_other(tabs: Tabs, server: Server, name: str, begun: Begun) -> None:
    begun("a", "b")
    one, two = await tabs.open(name), await tabs.open(name, "plan")
    other = await tabs.open(name, context=await tabs.person())
    await one.get_by_role("textbox", name="New item").fill("From one")
    await one.get_by_role("textbox", name="New item").press("Enter")
    await expect(other.get_by_text("From one")).to_be_visible()
    await other.get_by_role("textbox", name="New item").fill("From the other")
    await other.get_by_role("textbox", name="New item").press("Enter")
    await two.get_by_role("tab", name="List").click()
    for page in (one, two, other):
        await expect(page.locator("#view-list li[data-id]")).to_have_count(4)
        await until_known(page, server, name)
    assert await shown(one) == await shown(two) == await shown(other)


_LOOKED_AT = """(isSo) => {
  Object.defineProperty(document, "hidden", { value: !isSo, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}"""


async def resting(pages: list[Page], number: int) -> list[Page]:
    """Those that have no stream, once there are that many."""
    async with asyncio.timeout(WAIT):
        while len(found := [page for page in pages if await page.locator(".is-resting").count()]) != number:
            await asyncio.sleep(0.1)
    return found


async def test_eight_tabs_converge_and_the_one_that_is_looked_at_is_live(
    tabs: Tabs, server: Server, name: str, begun: Begun
) -> None:
    session = begun("a", "b")
    person = await tabs.person()
    pages = [await person.new_page() for _ in range(8)]
    await asyncio.gather(*(page.goto(f"http://{server.host}/#{urlencode({'session': name})}") for page in pages))
    for page in pages:
        await expect(row(page, "b")).to_be_visible()
    await resting(pages, 4)
    for page in pages:
        await page.evaluate(_LOOKED_AT, False)
    asleep = await resting(pages, 6)
    session.update("a", status="completed")
    for page in asleep:
        await page.evaluate(_LOOKED_AT, True)
        await expect(page.locator("#connection")).to_have_text("Live")
    for page in pages:
        await page.evaluate(_LOOKED_AT, True)
    session.add("For all")
    for page in pages:
        await expect(row(page, "a")).to_contain_text("Completed")
        await expect(page.get_by_text("For all")).to_be_visible()
        await until_known(page, server, name)
    for page in pages[:5]:
        await page.close()
    await resting(pages[5:], 0)


# sessions


def message(page: Page) -> Locator:
    """What is said in place of a session."""
    return page.locator("#message")


async def begin(page: Page, name: str, content: str) -> None:
    await page.get_by_role("button", name="New session…").click()
    await page.get_by_role("textbox", name="Name").fill(name)
    await page.get_by_role("textbox", name="First item").fill(content)
    await page.get_by_role("button", name="Create", exact=True).click()


async def test_an_empty_list_says_in_which_other_sessions_items_are_open(own: Own) -> None:
    own.begun("first", "One").clear()
    page = await own.tabs.open("first")
    about = page.get_by_text("The list is empty.")
    await expect(about).to_be_visible()
    await expect(about).not_to_contain_text("other sessions")
    second = own.begun("second", "Two", "Three")
    await expect(about).to_contain_text("Other sessions have open items: second (2).")
    second.update("t1", status="completed")
    await expect(about).to_contain_text("Other sessions have open items: second (1).")


async def test_sessions_of_others_come_and_go_by_themselves(own: Own) -> None:
    page = await own.tabs.blank()
    await page.goto(f"http://{own.server.host}/")
    await expect(message(page)).to_contain_text("No sessions yet")
    first = own.begun("first", "One")
    await expect(page).to_have_title("0/1 first — Headway")
    assert "#session=first&" in page.url
    run_program(own.server, "second", "headway", "todos", "add", "Two")
    await expect(in_list(page, "second")).to_contain_text("0 of 1")
    own.begun("second").update("t1", status="completed")
    await expect(in_list(page, "second")).to_contain_text("1 of 1")
    first.store.set_current("second")
    await expect(in_list(page, "second")).to_contain_text("current")
    with closing(sqlite3.connect(own.server.folder / ".headway" / "headway.db")) as db:
        found = "session_id = (SELECT id FROM sessions WHERE name = ?)"
        own.begun("newer", "Three")
        db.execute(f"UPDATE events SET type = 'FromTheFuture' WHERE {found}", ("newer",))
        db.commit()
    await expect(in_list(page, "newer")).to_contain_text("cannot be read")
    own.tabs.expect_error("503")
    await in_list(page, "newer").get_by_role("button").click()
    await expect(message(page)).to_contain_text("written by a newer Headway")
    await expect(in_list(page, "first")).to_contain_text("0 of 1")
    await in_list(page, "first").get_by_role("button").click()
    await expect(message(page)).to_be_hidden()
    run_program(own.server, "first", "headway", "sessions", "delete", "second", "--yes")
    await expect(in_list(page, "second")).to_have_count(0)
    first.add("Still told")
    await expect(page.get_by_text("Still told")).to_be_visible()
    await until_known(page, own.server, "first")


async def test_a_session_that_is_deleted_says_so_and_is_shown_when_it_is_begun_again(own: Own) -> None:
    session = own.begun("mine", "Before", "Long before")
    own.begun("other", "Else")
    page = await own.tabs.open("mine", item="t1")
    own.tabs.expect_error("404")
    session.store.delete("mine")
    await expect(message(page)).to_contain_text("There is no session 'mine' in this project.")
    await expect(page.get_by_text("Before", exact=True)).to_have_count(2)
    for before in await page.get_by_text("Before", exact=True).all():
        await expect(before).to_be_hidden()
    await expect(in_list(page, "mine")).to_have_count(0)
    own.begun("mine", "After")
    await expect(row(page, "t1")).to_contain_text("After")
    assert [one["version"] for one in await until_known(page, own.server, "mine")] == [1]
    for content in ("Another", "One more"):  # at once: the same name and the same version, but another session
        session.store.delete("mine")
        own.begun("mine", content)
        await expect(row(page, "t1")).to_contain_text(content)
        await until_known(page, own.server, "mine")


async def test_sessions_of_any_name_are_begun_here_and_found_again(tabs: Tabs, server: Server, name: str) -> None:
    page = await tabs.blank()
    await page.goto(f"http://{server.host}/#{urlencode({'session': 'nobody has this one'})}")
    tabs.expect_error("404")
    await expect(message(page)).to_contain_text("Session not found")
    names = [f"{name} {odd}" if "/up" not in odd else f"../{name}" for odd in ODD_NAMES]
    for number, odd in enumerate(names):
        await begin(page, odd, f"First of {number}")
        await expect(page.get_by_role("heading", name=odd, exact=True)).to_be_visible()
        assert await shown(page) == ["t1"]
        assert page.url.endswith(f"#{urlencode({'session': odd, 'view': 'list'})}")
        await until_known(page, server, odd)
    await page.go_back()
    await expect(page.get_by_role("heading", name=names[-2], exact=True)).to_be_visible()
    await until_known(page, server, names[-2])
    await page.go_forward()
    await expect(page.get_by_role("heading", name=names[-1], exact=True)).to_be_visible()
    await page.reload()
    await until_known(page, server, names[-1])
    await in_list(page, names[0]).get_by_role("button").click()
    await until_known(page, server, names[0])
    tabs.expect_error("400")
    for bad in ("..", "x\u0000y"):
        await begin(page, bad, "No")
        await expect(page.get_by_role("dialog").locator(".problem")).to_contain_text("name")
        await page.get_by_role("button", name="Cancel").click()


# the key


@pytest.mark.smoke
async def test_without_the_key_the_page_is_locked_until_it_is_there_again(
    tabs: Tabs, server: Server, name: str, begun: Begun
) -> None:
    session = begun("a")
    page = await tabs.open(name, context=await tabs.person())
    await page.context.clear_cookies()  # the browser gave them up: the tab gets another
    tabs.expect_error("401")
    box = page.get_by_role("textbox", name="New item")
    await box.fill("Not locked")
    await box.press("Enter")
    await expect(page.get_by_text("Not locked")).to_be_visible()
    await lock(tabs, page)
    await box.fill("Not lost")
    await box.press("Enter")
    await expect(message(page)).to_contain_text("This page is locked")
    await expect(message(page)).to_contain_text("Open the link that “headway web” printed in the terminal.")
    await expect(page.locator("#connection")).to_have_text("No key")
    await expect(box).to_have_value("Not lost")
    session.add("Meanwhile")
    await page.unroute("**/api/entry*")
    await page.evaluate("dispatchEvent(new Event('focus'))")
    await expect(message(page)).to_be_hidden()
    await expect(page.get_by_text("Meanwhile")).to_be_visible()
    await expect(box).to_have_value("Not lost")
    await box.press("Enter")
    await expect(page.get_by_text("Not lost")).to_be_visible()
    await until_known(page, server, name)
