"""What a person goes back to is as it was left: questions, attempts, drafts."""

from __future__ import annotations

import re

from playwright.async_api import Locator, Page, Route, expect
from tests.support.processes import until

import headway
from headway.core.clock import now
from headway.core.run_commands import StartRun
from headway.core.run_events import RunFinished, RunStarted, ToolStarted

from ..conftest import Begun
from ..running import Scripted, asked, ended, turn
from ..serving import Server, item
from .story import Story
from .tabs import Tabs, row


def questions(page: Page) -> Locator:
    return page.get_by_role("region", name="Questions for you").get_by_role("article")


def session_row(page: Page, name: str) -> Locator:
    return page.locator("#sessions").get_by_role("button", name=name)


def item_panel(page: Page) -> Locator:
    return page.get_by_role("complementary", name="Item")


def more_events(session: headway.Session, run: str, calls: int) -> None:
    begun, ended = (
        RunStarted(run_id=run, task="", model="scripted:scripted", max_rounds=9, holder="nobody"),
        RunFinished(run_id=run, reason="finished", rounds=1, tool_calls=calls),
    )
    made = [
        ToolStarted(round=1, call_id=f"{run}-{number}", tool="bash", summary=f"call {number}")
        for number in range(1, calls + 1)
    ]
    session.log.execute(lambda state: StartRun("main", "loop", now(), begun, [*made, ended]))


async def test_a_question_waits_in_its_own_session_with_what_was_typed(
    tabs: Tabs, server: Server, name: str, begun: Begun, scripted: Scripted
) -> None:
    begun("a")
    other = f"other of {name}"
    headway.open(server.folder, other).write([item("b")], title="Another title")
    scripted(a=[turn("echo asked"), "Done."])
    page = await tabs.open(other)
    assert server.run(name, "execute", mode="default").status == 200
    asked(server, name)
    await expect(session_row(page, name).filter(has_text="needs your answer").first).to_be_visible()
    await expect(page.locator("#live")).to_contain_text(f"{name} needs your answer.")
    await expect(session_row(page, other)).to_contain_text("Another title")
    await expect(session_row(page, other).get_by_text("needs your answer")).to_be_hidden()
    await page.locator(f'#sessions [data-name="{name}"]').click()
    reason = questions(page).get_by_label("Why not?")
    await reason.fill("Not now")
    await expect(questions(page).get_by_role("button", name="Always allow all bash calls in this run")).to_be_enabled()
    await session_row(page, other).click()
    await expect(row(page, "b")).to_be_visible()
    await expect(questions(page)).to_have_count(0)
    await page.go_back()
    await expect(reason).to_have_value("Not now")
    await expect(questions(page)).not_to_contain_text("answered elsewhere")
    await questions(page).get_by_role("button", name="Allow once").click()
    await expect(questions(page)).to_have_count(0)
    assert ended(server, name)["reason"] == "finished"


async def test_attempts_are_numbered_through_and_outlive_the_events_that_told_of_them(
    tabs: Tabs, server: Server, name: str, begun: Begun, scripted: Scripted
) -> None:
    session = begun("a", "b")
    scripted(a=[turn("echo a > again.txt"), "Done."])
    page = await tabs.open(name, item="a")
    panel = item_panel(page)
    past = panel.locator(".tries > li")
    back = panel.get_by_role("button", name="Roll back…")
    began = panel.locator(".facts > div", has_text="Started")
    await expect(back).to_be_hidden()
    until(lambda: server.run(name, "execute", mode="yolo", only="a").status == 200)
    ended(server, name)
    await expect(began).to_be_visible()
    await back.click()
    await page.get_by_role("dialog").get_by_role("button", name="Roll back").click()
    told = page.get_by_role("dialog", name="Rolled back")
    await expect(told.get_by_role("listitem")).to_have_text("again.txt")
    await told.get_by_role("button", name="Close").click()
    await expect(past).to_have_text([re.compile("Attempt 1 "), re.compile(r"Rolled back \(1 file\)")])
    await expect(back).to_be_hidden()
    await expect(began).to_have_count(0)
    until(lambda: server.run(name, "execute", mode="yolo", only="a").status == 200)
    ended(server, name)
    await expect(past).to_have_text([re.compile("Attempt 1 "), re.compile("Rolled back"), re.compile("Attempt 2 ")])
    for number in (0, 2):
        await expect(past.nth(number).get_by_role("list", name="Tool calls").get_by_role("listitem")).to_have_count(1)
    await past.nth(2).locator("summary").click()
    await expect(past.nth(2).get_by_label("Command")).to_be_visible()
    for number in range(3):
        more_events(session, f"r{number}", 900)
        session.update("b", content=f"Do it {number}")
        await expect(row(page, "b")).to_contain_text(f"Do it {number}")
    await expect(panel).to_contain_text("2 earlier calls not shown")
    await expect(past).to_have_text([re.compile("Attempt 1 "), re.compile("Rolled back"), re.compile("Attempt 2 ")])
    await expect(back).to_be_visible()
    page = await tabs.open(name, item="a")
    await expect(item_panel(page).get_by_role("button", name="Roll back…")).to_be_visible()
    await item_panel(page).get_by_role("button", name="Search earlier events").click()
    await expect(item_panel(page).locator(".tries > li")).to_have_count(3)
    await expect(item_panel(page).locator(".tries > li").last).to_contain_text("Attempt 2")
    await expect(item_panel(page).get_by_role("button", name="Roll back…")).to_be_visible()


async def test_a_call_that_was_broken_off_does_not_go_on_for_ever(tabs: Tabs, name: str, begun: Begun) -> None:
    story = Story(begun())
    story.work.record(ToolStarted(round=1, call_id="never", tool="bash", summary="sleep 1000"))
    page = await tabs.open(name, item=story.ids["now"])
    call = item_panel(page).get_by_role("list", name="Tool calls").get_by_role("listitem")
    await expect(call).to_contain_text("running")
    story.end()
    await expect(call).to_have_text(re.compile("⊘.*sleep 1000.*interrupted"))
    await expect(item_panel(page).locator(".try")).to_contain_text("interrupted")


async def test_what_is_typed_for_a_session_stays_there_without_the_browsers_storage(
    tabs: Tabs, server: Server, name: str, begun: Begun
) -> None:
    begun("a")
    other = f"other of {name}"
    headway.open(server.folder, other).write([item("b")])
    context = await tabs.person()
    await context.add_init_script("Storage.prototype.setItem = () => { throw new Error('full'); }")
    page = await tabs.open(name, context=context)
    adding = page.get_by_label("New item", exact=True)
    own = page.locator(f'#sessions [data-name="{name}"]')
    held: list[Route] = []
    await page.route("**/changes", lambda route: held.append(route))
    await adding.fill("Sent")
    await page.keyboard.press("Enter")
    await adding.press_sequentially(" and more")
    await session_row(page, other).click()
    await expect(adding).to_have_value("")
    await adding.fill("Of the other")
    await held[0].continue_()
    await expect(page.locator("#notice")).to_contain_text("Added")
    await expect(adding).to_have_value("Of the other")
    await own.click()
    await expect(adding).to_have_value(" and more")
    await page.unroute("**/changes")
    await page.get_by_role("button", name="New session…").click()
    dialog = page.get_by_role("dialog", name="New session")
    for label, words in (("Name", "Enter a name."), ("First item", "Enter the first item.")):
        await dialog.get_by_role("button", name="Create").click()
        await expect(dialog).to_contain_text(words)
        await expect(dialog.get_by_label(label)).to_be_focused()
        await page.keyboard.type("  b c ")
