"""The page with keys alone, and with fingers on a phone: everything can be reached, and the focus is never lost."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.async_api import Locator, Page, expect

import headway

from ..conftest import Begun
from ..serving import Server, item
from .tabs import Tabs, detail, form, new_item, row

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
SEEN = """() => {
  const one = document.activeElement;
  const isMarked = one.matches(":focus-visible") && getComputedStyle(one).outlineStyle !== "none";
  return one !== document.body && one.checkVisibility() && isMarked;
}"""
HERE = """() => {
  const one = document.activeElement;
  return one.getAttribute("aria-label") ?? one.textContent.trim();
}"""
COMPOSING = "(one, key) => one.dispatchEvent(new KeyboardEvent('keydown', { key, isComposing: true, bubbles: true }))"
CAPS_LOCK = "(one, key) => one.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }))"


def opener(page: Page, todo_id: str) -> Locator:
    """What has the focus in the row of an item."""
    return row(page, todo_id).locator(".open")


def contents(session: headway.Session) -> list[str]:
    return [todo.content for todo in session.todos]


async def keys(page: Page, *pressed: str) -> None:
    for key in pressed:
        await page.keyboard.press(key)


async def focused(control: Locator) -> None:
    """It has the focus, and one sees that."""
    await expect(control).to_be_focused()
    assert await control.page.evaluate(SEEN)


async def test_a_session_is_begun_with_keys_alone(tabs: Tabs, name: str, begun: Begun, server: Server) -> None:
    begun("x")
    page = await tabs.open(name)
    begin = page.get_by_role("button", name="New session…")
    await keys(page, "Tab", "Enter", "Shift+Tab")
    await focused(begin)
    await keys(page, "Enter")
    await focused(page.get_by_label("Name"))
    await page.keyboard.type(f"{name} new")
    await keys(page, "Tab")
    await page.keyboard.type("First")
    await keys(page, "Control+Enter")
    await expect(page.get_by_role("heading", name=f"{name} new")).to_be_visible()
    await focused(begin)
    await keys(page, "n")
    for text in ("Second", "Third"):
        await page.keyboard.type(text)
        await keys(page, "Enter")
        await expect(page.get_by_role("list", name="Items")).to_contain_text(text)
    await focused(new_item(page))
    await keys(page, "Escape")
    await focused(opener(page, "t1"))
    assert contents(headway.open(server.folder, f"{name} new")) == ["First", "Second", "Third"]


@pytest.mark.smoke
async def test_a_list_is_worked_on_with_keys_alone(tabs: Tabs, name: str, begun: Begun) -> None:
    session = begun("a", "b", "c")
    page = await tabs.open(name)
    await keys(page, "l", "End")
    await focused(opener(page, "c"))
    await keys(page, "ArrowUp", "Space", "ArrowDown", "Enter")
    await focused(opener(page, "b"))
    await expect(opener(page, "b")).to_have_accessible_name(re.compile("In progress: Do b b"))
    await keys(page, "Space", "c")
    await focused(page.get_by_role("menuitemradio", name="Completed"))
    await keys(page, "Tab")
    await focused(opener(page, "b"))
    await keys(page, "Alt+ArrowUp")
    await expect(page.locator("#view-list li").first).to_have_attribute("data-id", "b")
    await focused(opener(page, "b"))
    await keys(page, "e")
    await focused(form(page).get_by_label("What to do"))
    await keys(page, "End")
    await page.keyboard.type("y")
    await keys(page, "Control+Enter")
    await focused(detail(page).get_by_role("button", name="Edit"))
    await keys(page, "Escape")
    await focused(opener(page, "b"))
    await keys(page, "End", "Delete")
    await expect(opener(page, "c")).to_have_count(0)
    await focused(opener(page, "a"))
    await keys(page, "u")
    await expect(opener(page, "c")).to_be_visible()
    await focused(opener(page, "a"))
    assert (contents(session), session.todos[0].status) == (["Do by", "Do a", "Do c"], "in_progress")


async def test_one_goes_everywhere_with_keys_alone(tabs: Tabs, name: str, begun: Begun) -> None:
    begun("a", "b", "c")
    page = await tabs.open(name)
    await keys(page, "l", "Enter")
    await focused(detail(page).get_by_role("heading", name="Do a"))
    await keys(page, "Escape", "2")
    await focused(page.get_by_role("tab", name="Graph"))
    await keys(page, "ArrowRight", "4")
    await focused(page.get_by_role("tab", name="Plan"))
    await keys(page, "l")
    await focused(opener(page, "a"))
    await keys(page, "/")
    await page.keyboard.type("do c")
    await keys(page, "ArrowDown")
    await focused(opener(page, "c"))
    await keys(page, "3", "n")
    await focused(new_item(page))


async def test_tab_goes_through_the_page_in_its_order(tabs: Tabs, name: str, begun: Begun) -> None:
    begun("a", "b")
    page = await tabs.open(name)
    await keys(page, "Tab")
    await focused(page.get_by_role("button", name="Skip to the session"))
    await keys(page, "Enter", "Tab")
    assert await page.evaluate("document.activeElement.closest('#head') !== null")
    await page.get_by_role("tab", name="List").focus()
    seen: list[str] = []
    for _ in range(8):
        await keys(page, "Tab")
        seen.append(await page.evaluate(HERE))
        assert await page.evaluate(SEEN), seen
    lists = ["Find in the list", "Which items", "Pending: Do aa", "Clear the list…"]
    check = "Check: a command that fails until the item is done"
    assert seen == [*lists, "New item", check, "Priority of the new item", "Add"]
    await opener(page, "b").focus()
    await keys(page, "Enter", "Tab")
    await focused(detail(page).get_by_role("button", name="Pending"))
    await keys(page, "Shift+Tab")
    await focused(detail(page).get_by_role("button", name="Close the item"))
    await keys(page, *["Shift+Tab"] * 4)
    await focused(page.get_by_label("after b"))


async def test_escape_closes_what_is_on_top(tabs: Tabs, name: str, begun: Begun) -> None:
    begun("a", "b")
    page = await tabs.open(name)
    await opener(page, "b").focus()
    await keys(page, "Enter", "e")
    await expect(form(page)).to_be_visible()
    status = detail(page).get_by_role("button", name="Pending")
    await status.focus()
    await keys(page, "Enter")
    await expect(page.get_by_role("menu")).to_be_visible()
    await keys(page, "Escape")
    await expect(page.get_by_role("menu")).to_have_count(0)
    await focused(status)
    await keys(page, "?")
    await expect(page.get_by_role("heading", name="Keyboard shortcuts")).to_be_focused()  # where reading begins
    await keys(page, "Escape")
    await expect(page.get_by_role("dialog")).to_have_count(0)
    await focused(status)
    await expect(form(page)).to_be_visible()
    await form(page).get_by_label("Notes").focus()
    await keys(page, "Escape")
    await expect(form(page)).to_have_count(0)
    await focused(detail(page).get_by_role("button", name="Edit"))
    await keys(page, "Escape")
    await expect(detail(page)).to_be_hidden()
    await focused(opener(page, "b"))
    await keys(page, "Escape", "Escape")
    await focused(opener(page, "b"))


async def test_keys_that_are_typed_do_nothing_else(tabs: Tabs, name: str, begun: Begun) -> None:
    session = begun("a", "b")
    page = await tabs.open(name)
    await opener(page, "a").focus()
    await keys(page, "e")
    before = session.version
    for control in (new_item(page), page.get_by_role("searchbox"), form(page).get_by_label("Module")):
        await control.fill("")
        await page.keyboard.type("nuU/?2lsemxq")
        await keys(page, "Delete", "Control+u", "Meta+n", "Alt+ArrowUp")
        await expect(control).to_be_focused()
        await expect(control).to_have_value("nuU/?2lsemxq")
    await page.get_by_role("searchbox").fill("")
    for pressed in ("Control+u", "Meta+u", "Control+2", "Control+Delete", "Meta+Delete"):
        await opener(page, "b").focus()
        await keys(page, pressed)
    await expect(page.get_by_role("tab", name="List")).to_have_attribute("aria-selected", "true")
    await expect(page.get_by_role("dialog")).to_have_count(0)

    await new_item(page).evaluate(COMPOSING, "Enter")
    await new_item(page).evaluate(COMPOSING, "Escape")
    await form(page).get_by_label("Module").fill("")
    await form(page).get_by_label("Module").evaluate(COMPOSING, "Escape")
    await opener(page, "b").evaluate(COMPOSING, "?")
    await expect(form(page)).to_be_visible()
    await expect(page.get_by_role("dialog")).to_have_count(0)
    await new_item(page).focus()
    await keys(page, "Enter")
    await expect(row(page, "t1")).to_be_visible()
    assert (session.version, contents(session)) == (before + 1, ["Do a", "Do b", "nuU/?2lsemxq"])

    await opener(page, "a").focus()
    await page.evaluate(
        "document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: 'U', bubbles: true }))"
    )
    await expect(row(page, "t1")).to_have_count(0)  # with Caps Lock it is still undo


async def test_dialogs_keep_the_focus_and_give_it_back(tabs: Tabs, name: str, begun: Begun) -> None:
    begun("a", "b")
    page = await tabs.open(name)
    dialog = page.get_by_role("dialog")
    for key, title in (("x", "Execute"), ("m", "Message"), ("?", "Keyboard shortcuts")):
        await opener(page, "b").focus()
        await keys(page, key)
        await expect(dialog).to_be_visible()
        assert title in (await dialog.get_by_role("heading", level=2).inner_text())
        for pressed in ["Tab"] * 8 + ["Shift+Tab"] * 9:
            await keys(page, pressed)
            assert await page.evaluate("document.activeElement.closest('#app') === null")
        await keys(page, "Escape")
        await expect(dialog).to_have_count(0)
        await focused(opener(page, "b"))


async def test_a_dialog_that_is_closed_takes_the_focus_from_nothing(tabs: Tabs, name: str, begun: Begun) -> None:
    begun("a", "b")
    page = await tabs.open(name)
    await opener(page, "b").focus()
    await keys(page, "?")
    await expect(page.get_by_role("dialog")).to_be_visible()
    await opener(page, "a").evaluate("(one) => { document.querySelector('dialog').close(); one.focus(); }")
    await expect(page.locator("dialog")).to_have_count(0)
    await focused(opener(page, "a"))


async def test_the_focus_stays_near_when_its_place_goes(tabs: Tabs, name: str, begun: Begun) -> None:
    session = begun("a", "b", item("c", "a"), "d", "e")
    page = await tabs.open(name)
    session.move("e", 1)
    await expect(page.locator("#view-list li").first).to_have_attribute("data-id", "e")
    await opener(page, "b").focus()
    session.drop("b")
    await expect(opener(page, "b")).to_have_count(0)
    await focused(opener(page, "c"))

    await keys(page, "Space")
    await expect(page.get_by_role("menu")).to_be_visible()
    session.drop("d")
    await expect(opener(page, "d")).to_have_count(0)
    await keys(page, "Escape")
    await focused(opener(page, "c"))
    await page.get_by_label("Which items").select_option("Open")
    await opener(page, "a").focus()
    await keys(page, "Space", "c", "Enter")
    await expect(row(page, "a")).to_be_hidden()
    await focused(opener(page, "c"))
    session.update("c", status="cancelled")
    await expect(row(page, "c")).to_be_hidden()
    await focused(opener(page, "e"))
    session.update("e", status="completed")
    await expect(row(page, "e")).to_be_hidden()
    await focused(page.get_by_role("searchbox"))


async def test_the_focus_comes_back_from_what_was_done(tabs: Tabs, name: str, begun: Begun) -> None:
    session = begun("a", item("c", "a"))
    page = await tabs.open(name)
    await opener(page, "c").focus()
    await keys(page, "Enter")
    link = detail(page).locator(".facts").get_by_role("button", name="a")
    await link.focus()
    session.update("a", status="blocked")
    await expect(link).to_have_text("✗ a")
    await focused(link)
    await keys(page, "Enter")
    await focused(detail(page).get_by_role("heading", name="Do a"))
    await keys(page, "Escape")
    await focused(opener(page, "a"))
    await keys(page, "Delete")
    await expect(opener(page, "a")).to_have_count(0)
    await page.locator("#notice").get_by_role("button", name="Undo").focus()
    await keys(page, "Enter")
    await expect(opener(page, "a")).to_be_visible()
    await expect(opener(page, "c")).to_be_focused()
    session.clear()
    await expect(opener(page, "c")).to_have_count(0)
    await focused(new_item(page))


# in other files than those of the list


NOWHERE = "document.activeElement === document.body"


async def test_the_focus_is_not_lost_in_the_drawer(tabs: Tabs, name: str, begun: Begun) -> None:
    begun("a")
    page = await tabs.open(name, size=(900, 700))
    await expect(page.locator("#sessions [aria-current]")).to_have_count(1)
    await keys(page, "s", "Enter")
    await expect(page.get_by_role("navigation", name="Sessions")).to_be_hidden()
    await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert not await page.evaluate(NOWHERE)


async def test_escape_closes_nothing_that_is_not_seen(tabs: Tabs, name: str, begun: Begun) -> None:
    begun("a")
    page = await tabs.open(name)
    await keys(page, "s", "l", "Enter")
    await expect(detail(page)).to_be_visible()
    await keys(page, "Escape")
    assert await detail(page).is_hidden()


async def test_the_focus_is_not_lost_when_the_browser_goes_back(tabs: Tabs, name: str, begun: Begun) -> None:
    begun("a")
    page = await tabs.open(name, view="graph")
    await keys(page, "l")
    await focused(opener(page, "a"))
    await page.go_back()
    await expect(page.locator("#view-list")).to_be_hidden()
    await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert not await page.evaluate(NOWHERE)


async def test_keys_reach_the_list_under_an_item_on_a_narrow_page(tabs: Tabs, name: str, begun: Begun) -> None:
    begun("a")
    page = await tabs.open(name, size=(900, 700), item="a")
    await expect(detail(page)).to_be_visible()
    await keys(page, "n")
    assert await new_item(page).evaluate("(one) => one === document.activeElement")


# fingers


@pytest.mark.smoke
async def test_an_item_is_edited_on_a_phone(tabs: Tabs, name: str, begun: Begun, server: Server) -> None:
    session = begun("a", "b", "c")
    headway.open(server.folder, f"{name} other").write([item("x")])
    page = await tabs.open(name, context=await tabs.person(**PHONE))
    await opener(page, "b").tap()
    await expect(detail(page)).to_be_visible()
    await expect(detail(page).get_by_role("heading", name="Do b")).to_be_focused()
    await detail(page).get_by_role("button", name="Edit").tap()
    await form(page).get_by_label("Notes").fill("by thumb")
    await form(page).get_by_role("button", name="Save").tap()
    await expect(detail(page).locator(".facts")).to_contain_text("by thumb")
    assert await page.evaluate("document.documentElement.scrollWidth") == 390
    await detail(page).get_by_role("button", name="Pending").tap()
    await page.get_by_role("menuitemradio", name="Blocked").tap()
    await expect(detail(page).get_by_role("button", name="Blocked")).to_be_visible()
    await detail(page).get_by_role("button", name="Close the item").tap()
    await expect(detail(page)).to_be_hidden()
    await expect(row(page, "b")).to_contain_text("by thumb")
    assert (session.todos[1].notes, session.todos[1].status) == ("by thumb", "blocked")

    sessions = page.get_by_role("navigation", name="Sessions")
    await expect(sessions).to_be_hidden()
    await page.get_by_role("button", name="Sessions").tap()
    await sessions.get_by_text(f"{name} other", exact=True).tap()
    await expect(sessions).to_be_hidden()
    await expect(row(page, "x")).to_be_visible()


async def test_a_row_is_dragged_with_a_finger(tabs: Tabs, name: str, begun: Begun) -> None:
    session = begun("a", "b", "c")
    page = await tabs.open(name, context=await tabs.person(**PHONE))
    start = await row(page, "c").locator(".grip").bounding_box()
    end = await row(page, "a").bounding_box()
    assert start is not None and end is not None
    finger: Any = await page.context.new_cdp_session(page)
    for kind, y in (("Start", start["y"] + 20), ("Move", start["y"]), ("Move", end["y"] + 5)):
        point = {"x": start["x"] + start["width"] / 2, "y": y}
        await finger.send("Input.dispatchTouchEvent", {"type": f"touch{kind}", "touchPoints": [point]})
        assert await page.locator(".is-dragged").count() == 1
    await finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    await expect(page.locator("#view-list li").first).to_have_attribute("data-id", "c")
    assert [todo.id for todo in session.todos] == ["c", "a", "b"]
