"""Changing the list on the page: each change is on the page and in the store, and what is refused is still there."""

from __future__ import annotations

import asyncio
import re

import pytest
from playwright.async_api import Locator, Page, Route, expect

import headway

from ..conftest import Begun
from ..serving import Server, item
from .tabs import Tabs, detail, form, new_item, row

TOO_LONG = 333_334
"""Times six bytes, as such characters are sent."""
STATUSES = ["In progress", "Blocked", "Completed", "Cancelled", "Pending"]


def session_button(page: Page, name: str) -> Locator:
    return page.get_by_role("navigation").get_by_role("button").filter(has=page.get_by_text(name, exact=True))


def notice(page: Page) -> Locator:
    return page.locator("#notice")


def ids(session: headway.Session) -> list[str]:
    return [todo.id for todo in session.todos]


def of(session: headway.Session, todo_id: str) -> headway.Todo:
    return next(todo for todo in session.todos if todo.id == todo_id)


async def shows(page: Page, *wanted: str) -> None:
    """Waits until the list has these items in this order."""
    rows = page.locator("#view-list li[data-id]")
    await expect(rows).to_have_count(len(wanted))
    for place, todo_id in enumerate(wanted):
        await expect(rows.nth(place)).to_have_attribute("data-id", todo_id)


async def edit(page: Page, todo_id: str) -> Locator:
    await row(page, todo_id).locator(".open").click()
    await page.keyboard.press("e")
    await expect(form(page)).to_be_visible()
    return form(page)


class Held:
    """Changes that the page sends, or only the answers to them, wait until they are let through."""

    def __init__(self, page: Page, *, answers: bool = False) -> None:
        self._page = page
        self._answers = answers
        self._open = asyncio.Event()
        self.came = asyncio.Event()

    async def __aenter__(self) -> Held:
        await self._page.route("**/changes", self._hold)
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._open.set()
        await self._page.unroute_all(behavior="wait")

    async def _hold(self, route: Route) -> None:
        answer = await route.fetch() if self._answers else None
        self.came.set()
        await self._open.wait()
        await (route.fulfill(response=answer) if answer else route.continue_())

    def let(self) -> None:
        self._open.set()


# adding


@pytest.mark.smoke
async def test_items_are_added_at_the_end_or_after_the_one_that_is_open(tabs: Tabs, name: str, begun: Begun) -> None:
    session = begun("a", "b")
    page = await tabs.open(name)
    text = new_item(page)
    await text.click()
    await page.keyboard.type("Write it")
    await page.keyboard.press("Shift+Enter")
    await page.keyboard.type("and read it")
    await page.keyboard.press("Enter")
    await shows(page, "a", "b", "t1")
    await expect(row(page, "t1")).to_contain_text("Write it and read it")
    await expect(notice(page)).to_contain_text("Added t1.")
    await expect(text).to_have_value("")
    await expect(text).to_be_focused()
    assert of(session, "t1").content == "Write it\nand read it"

    await row(page, "a").locator(".open").click()
    await page.get_by_label("after a").check()
    await page.get_by_label("Priority of the new item").select_option("High")
    await text.fill("Urgent")
    await page.get_by_role("button", name="Add", exact=True).click()
    await shows(page, "a", "t2", "b", "t1")
    await expect(row(page, "t2")).to_contain_text("high priority")
    await expect(page.get_by_label("Priority of the new item")).to_have_value("")
    await notice(page).get_by_role("button", name="Open").click()
    await expect(detail(page).get_by_role("heading", name="Urgent")).to_be_visible()
    assert (ids(session), of(session, "t2").priority) == (["a", "t2", "b", "t1"], "high")


async def test_what_cannot_be_added_is_refused_in_words_and_stays(tabs: Tabs, name: str, begun: Begun) -> None:
    session = begun("a")
    tabs.expect_error("400")
    page = await tabs.open(name)
    problem = page.locator(".adding .problem")
    await new_item(page).fill("  ")
    await page.get_by_role("button", name="Add", exact=True).click()
    await expect(problem).to_have_text("Describe the item first.")
    await expect(new_item(page)).to_be_focused()
    await page.keyboard.type("x")
    await expect(problem).to_be_hidden()

    await new_item(page).evaluate(f"(area) => (area.value = 'x' + '\\u0001'.repeat({TOO_LONG}))")
    await page.keyboard.press("Enter")
    await expect(problem).to_contain_text("longer than 2,000,000 bytes")
    assert await new_item(page).evaluate("(area) => area.value.length") == 1 + TOO_LONG
    assert ids(session) == ["a"]


async def test_what_is_typed_while_a_change_is_under_way_stays(tabs: Tabs, name: str, begun: Begun) -> None:
    session = begun("a")
    page = await tabs.open(name)
    async with Held(page) as held:
        await new_item(page).fill("First")
        await page.keyboard.press("Enter")
        await held.came.wait()
        await page.keyboard.type("Second")
        held.let()
        await shows(page, "a", "t1")
        await expect(new_item(page)).to_have_value("Second")
        await page.keyboard.press("Enter")
        await shows(page, "a", "t1", "t2")
    assert [todo.content for todo in session.todos] == ["Do a", "First", "Second"]

    await edit(page, "a")
    async with Held(page) as held:
        await page.keyboard.type("!")
        await page.keyboard.press("Control+Enter")
        await held.came.wait()
        await page.keyboard.type("?")
        held.let()
        await expect(row(page, "a")).to_contain_text("Do a!")
        await expect(form(page).get_by_label("What to do")).to_have_value("Do a!?")
        await expect(form(page).locator(".changed")).to_have_text([""] * 7)
        await page.keyboard.press("Control+Enter")
        await expect(form(page)).to_have_count(0)
    assert of(session, "a").content == "Do a!?"


async def test_answers_may_come_after_what_they_are_about(tabs: Tabs, name: str, begun: Begun) -> None:
    session = begun("a")
    page = await tabs.open(name)
    async with Held(page, answers=True) as held:
        await new_item(page).fill("First")
        await page.keyboard.press("Enter")
        await shows(page, "a", "t1")
        await page.keyboard.type("Second")
        await page.keyboard.press("Enter")
        await page.keyboard.type("Third")
        await page.keyboard.press("Enter")
        await page.keyboard.type("Not yet")
        held.let()
        await shows(page, "a", "t1", "t2", "t3")
        await expect(new_item(page)).to_have_value("Not yet")
    assert [todo.content for todo in session.todos] == ["Do a", "First", "Second", "Third"]

    await edit(page, "a")
    async with Held(page, answers=True) as held:
        await page.keyboard.type("!")
        await page.keyboard.press("Control+Enter")
        await page.keyboard.type("?")
        await expect(row(page, "a")).to_contain_text("Do a!")
        await expect(form(page).locator(".changed")).to_have_text([""] * 7)
        held.let()
        await expect(notice(page)).to_contain_text("Saved a.")
        await expect(form(page).get_by_label("What to do")).to_have_value("Do a!?")
    assert of(session, "a").content == "Do a!"


async def test_what_could_not_be_added_comes_back_before_what_was_typed_since(
    tabs: Tabs, name: str, begun: Begun
) -> None:
    session = begun("a")
    page = await tabs.open(name)
    asked = asyncio.Event()
    refused = asyncio.Event()

    async def refuse(route: Route) -> None:
        asked.set()
        await refused.wait()
        await route.fulfill(status=503, body="Not now.")

    tabs.expect_error("503")
    await page.route("**/changes", refuse)
    await new_item(page).fill("First")
    await page.keyboard.press("Enter")
    await asked.wait()
    await page.keyboard.type("Second")
    await page.keyboard.press("Enter")
    await page.keyboard.type("Third")
    refused.set()
    await expect(new_item(page)).to_have_value("First\nSecond\nThird")
    await expect(page.get_by_role("form", name="Add an item")).to_contain_text("Not now.")
    await page.unroute("**/changes")
    assert ids(session) == ["a"]


# editing


@pytest.mark.smoke
async def test_every_field_can_be_set_and_taken_away(tabs: Tabs, name: str, begun: Begun) -> None:
    session = begun("a", "b", "c")
    page = await tabs.open(name)
    fields = await edit(page, "c")
    await fields.get_by_label("What to do").fill("Do c,\nthen rest")
    await fields.get_by_label("Priority").select_option("Low")
    await fields.get_by_label("Estimated time").fill("2 days")
    await fields.get_by_label("Module").fill(" core ")
    await fields.get_by_label("Depends on").fill("a")
    await fields.get_by_label("Add a dependency").select_option("b")
    await expect(fields.get_by_label("Depends on")).to_have_value("a\nb")
    await fields.get_by_label("Notes").fill("See <b>here</b>")
    await fields.get_by_role("button", name="Save").click()
    await expect(fields).to_have_count(0)
    await expect(detail(page).get_by_role("button", name="Edit")).to_be_focused()
    facts = detail(page).locator(".facts")
    for text in ("low", "2 days", "core", "See <b>here</b>"):
        await expect(facts).to_contain_text(text)
    await expect(row(page, "c")).to_contain_text("waits for a, b")
    todo = of(session, "c")
    assert (todo.content, todo.priority, todo.estimated_time) == ("Do c,\nthen rest", "low", "2 days")
    assert (todo.module, todo.depends_on, todo.notes) == ("core", ("a", "b"), "See <b>here</b>")

    fields = await edit(page, "c")
    await fields.get_by_label("Priority").select_option("None")
    for label in ("Estimated time", "Module", "Depends on", "Notes"):
        await fields.get_by_label(label, exact=True).fill("")
    await page.keyboard.press("Control+Enter")
    await expect(fields).to_have_count(0)
    await expect(row(page, "c")).not_to_contain_text("waits")
    todo = of(session, "c")
    assert (todo.priority, todo.estimated_time, todo.module) == (None, None, None)
    assert (todo.depends_on, todo.notes) == ((), None)


async def test_what_breaks_the_rules_is_refused_and_stays(tabs: Tabs, name: str, begun: Begun) -> None:
    session = begun("a", item("b", "a"))
    tabs.expect_error("422")
    page = await tabs.open(name)
    fields = await edit(page, "a")
    problem = fields.locator(".problem")
    await fields.get_by_label("Notes").fill("kept")
    for wrong, words in (("b", "Dependency cycle a → b → a"), ("nobody", "Depends on: Unknown id 'nobody'")):
        await fields.get_by_label("Depends on").fill(wrong)
        await fields.get_by_role("button", name="Save").click()
        await expect(problem).to_have_text(f"Not saved. Correct this first:{words}")
    await fields.get_by_label("Depends on").fill("")
    await fields.get_by_label("What to do").fill("  ")
    await page.keyboard.press("Control+Enter")
    await expect(problem).to_contain_text("Content:")
    await expect(fields.get_by_label("Notes")).to_have_value("kept")
    assert (of(session, "a").content, of(session, "a").depends_on, of(session, "a").notes) == ("Do a", (), None)

    await fields.get_by_label("What to do").fill("Do it")
    await page.keyboard.press("Control+Enter")
    await expect(fields).to_have_count(0)
    await expect(row(page, "a")).to_contain_text("Do it")
    assert (of(session, "a").content, of(session, "a").notes) == ("Do it", "kept")


async def test_nothing_is_written_where_nothing_was_typed(tabs: Tabs, name: str, begun: Begun) -> None:
    """Also where a text box cannot hold what the item has: line ends of another kind, lines in one line."""
    session = begun(item("a", content="One\r\ntwo", module="x\ny"), "b")
    before = session.version
    page = await tabs.open(name)
    fields = await edit(page, "a")
    await page.keyboard.press("Escape")
    await expect(fields).to_have_count(0)
    await edit(page, "a")
    await page.keyboard.press("Control+Enter")
    await expect(fields).to_have_count(0)
    assert session.version == before
    await edit(page, "a")
    await fields.get_by_label("Notes").fill("n")
    await page.keyboard.press("Escape")
    await expect(notice(page)).to_contain_text("Save your changes")
    await expect(fields.get_by_label("Notes")).to_have_value("n")
    await page.keyboard.press("Control+Enter")
    await expect(detail(page).locator(".facts")).to_contain_text("Notes")
    assert (of(session, "a").content, of(session, "a").module) == (of(session, "a").content, "x\ny")
    assert "\r" in of(session, "a").content


# statuses, dropping, undo


@pytest.mark.smoke
async def test_each_status_can_be_set(tabs: Tabs, name: str, begun: Begun) -> None:
    session = begun(item("a", status="in_progress"), "b")
    page = await tabs.open(name)
    for status in STATUSES:
        await row(page, "b").get_by_role("button", name="change the status").click()
        menu = page.get_by_role("menu", name="Status of b")
        await menu.get_by_role("menuitemradio", name=status).click()
        await expect(notice(page)).to_contain_text(f"b: {status.lower()}.")
        await expect(row(page, "b").get_by_role("button", name=f"{status}")).to_have_count(2)
        assert of(session, "b").status == status.lower().replace(" ", "_")
    assert of(session, "a").status == "in_progress"

    await row(page, "b").locator(".open").click()
    await detail(page).get_by_role("button", name="Pending").click()
    await expect(page.get_by_role("menuitemradio", name="Pending")).to_be_checked()
    await page.get_by_role("menuitemradio", name="Blocked").click()
    await expect(detail(page).get_by_role("button", name="Blocked")).to_be_focused()
    await detail(page).get_by_role("button", name="Cancel item").click()
    await expect(detail(page).get_by_role("button", name="Cancelled")).to_be_focused()
    assert of(session, "b").status == "cancelled"
    await notice(page).get_by_role("button", name="Undo").click()
    await expect(row(page, "b").get_by_role("button", name="Blocked")).to_have_count(2)
    assert of(session, "b").status == "blocked"


async def test_what_is_dropped_comes_back(tabs: Tabs, name: str, begun: Begun) -> None:
    session = begun("a", "b", item("c", "b"))
    page = await tabs.open(name)
    undo, redo = (page.locator("#head").get_by_role("button", name=one) for one in ("Undo", "Redo"))
    await row(page, "b").locator(".open").click()
    await detail(page).get_by_role("button", name="Drop").click()
    await shows(page, "a", "c")
    await expect(detail(page)).to_be_hidden()
    await expect(row(page, "c").locator(".open")).to_be_focused()
    assert (ids(session), of(session, "c").depends_on) == (["a", "c"], ())
    await notice(page).get_by_role("button", name="Undo").click()
    await shows(page, "a", "b", "c")
    assert of(session, "c").depends_on == ("b",)
    await redo.click()
    await shows(page, "a", "c")
    await undo.click()
    await shows(page, "a", "b", "c")
    await page.keyboard.press("Shift+U")
    await shows(page, "a", "c")
    await expect(redo).to_have_attribute("aria-disabled", "true")
    await page.keyboard.press("Shift+U")
    await expect(notice(page)).to_contain_text("Nothing to redo.")
    await page.keyboard.press("u")
    await shows(page, "a", "b", "c")
    assert ids(session) == ["a", "b", "c"]


async def test_undo_beside_what_was_done_takes_back_nothing_else(
    tabs: Tabs, name: str, begun: Begun, server: Server
) -> None:
    session = begun("a", "b", "c")
    other = headway.open(server.folder, f"{name} other")
    other.write([item("x")])
    page = await tabs.open(name)
    await row(page, "b").locator(".open").focus()
    await page.keyboard.press("Delete")
    await shows(page, "a", "c")
    session.update("a", status="completed")
    await expect(row(page, "a")).to_have_class(re.compile("is-completed"))
    await notice(page).get_by_role("button", name="Undo").click()
    await expect(notice(page)).to_contain_text("The list has changed since.")
    assert (ids(session), of(session, "a").status) == (["a", "c"], "completed")

    await page.keyboard.press("l")
    await page.keyboard.press("Delete")
    await expect(notice(page)).to_contain_text("Dropped")
    await session_button(page, f"{name} other").click()
    await shows(page, "x")
    await notice(page).get_by_role("button", name="Undo").click()
    await expect(notice(page)).to_contain_text(f"That was in “{name}”.")
    assert (ids(other), len(ids(session))) == (["x"], 1)


async def test_the_list_is_cleared_after_a_question(tabs: Tabs, name: str, begun: Begun) -> None:
    session = begun("a", item("b", status="completed"), "c")
    page = await tabs.open(name)
    clear = page.locator("#view-list").get_by_role("button", name="Clear the list")
    await clear.click()
    dialog = page.get_by_role("dialog", name="Clear the list")
    await expect(dialog).to_contain_text("All 3 items will be removed from the list")
    await expect(dialog.get_by_role("button", name="Cancel")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(dialog).to_have_count(0)
    await expect(clear).to_be_focused()
    assert ids(session) == ["a", "b", "c"]
    await page.keyboard.press("Enter")
    await dialog.get_by_role("button", name="Clear the list").click()
    await expect(page.get_by_text("The list is empty.")).to_be_visible()
    await expect(clear).to_be_hidden()
    await expect(new_item(page)).to_be_focused()
    assert ids(session) == []
    await notice(page).get_by_role("button", name="Undo").click()
    await shows(page, "a", "b", "c")
    assert of(session, "b").status == "completed"


# reordering


async def drag(page: Page, todo_id: str, y: float, x: float | None = None) -> None:
    """Takes a row at its grip to a height; the button is still down."""
    await row(page, todo_id).hover()
    box = await row(page, todo_id).locator(".grip").bounding_box()
    assert box is not None
    at = box["x"] + box["width"] / 2
    await page.mouse.move(at, box["y"] + 20)
    await page.mouse.down()
    await page.mouse.move(at, box["y"] + 30)
    await page.mouse.move(at if x is None else x, y, steps=3)


async def edges(page: Page, todo_id: str) -> tuple[float, float]:
    box = await row(page, todo_id).bounding_box()
    assert box is not None
    return box["y"], box["y"] + box["height"]


async def test_rows_are_dragged_to_any_place(tabs: Tabs, name: str, begun: Begun) -> None:
    session = begun("a", "b", "c", "d")
    page = await tabs.open(name)
    await drag(page, "c", (await edges(page, "a"))[0] - 40)
    await page.mouse.up()
    await shows(page, "c", "a", "b", "d")
    await expect(notice(page)).to_contain_text("c is now 1 of 4.")
    await drag(page, "a", (await edges(page, "d"))[1] + 200)
    await page.mouse.up()
    await shows(page, "c", "b", "d", "a")
    await drag(page, "c", (await edges(page, "b"))[1] - 6)
    await expect(row(page, "b")).to_have_class(re.compile("drop-after"))
    await page.mouse.up()
    await shows(page, "b", "c", "d", "a")
    await drag(page, "a", (await edges(page, "d"))[0] + 6)
    await page.mouse.up()
    await shows(page, "b", "c", "a", "d")
    assert ids(session) == ["b", "c", "a", "d"]

    before = session.version
    await drag(page, "d", (await edges(page, "b"))[0])
    await page.keyboard.press("Escape")
    await expect(page.locator(".is-dragged, .drop-before, .drop-after")).to_have_count(0)
    await page.mouse.up()
    await drag(page, "d", (await edges(page, "b"))[0], x=20)
    await expect(page.locator(".drop-before, .drop-after")).to_have_count(0)
    await page.mouse.up()
    await drag(page, "d", 5)
    await page.mouse.up()
    await drag(page, "d", (await edges(page, "d"))[0] + 25)
    await page.mouse.up()
    await notice(page).get_by_role("button", name="Undo").click()
    await shows(page, "b", "c", "d", "a")
    assert session.version == before + 1


async def test_moving_among_what_is_found_counts_what_is_seen(tabs: Tabs, name: str, begun: Begun) -> None:
    session = begun("x1", "b", "x2", "c", "d", "x3")
    page = await tabs.open(name)
    await page.get_by_role("searchbox", name="Find in the list").fill("x")
    await expect(page.get_by_text("3 of 6 items")).to_be_visible()
    await page.keyboard.press("ArrowDown")
    await expect(row(page, "x1").locator(".open")).to_be_focused()
    async with Held(page, answers=True) as held:
        await page.keyboard.press("Alt+ArrowDown")
        await page.keyboard.press("Alt+ArrowDown")
        await page.keyboard.press("Alt+ArrowDown")
        await held.came.wait()
        held.let()
        await shows(page, "b", "x2", "c", "d", "x3", "x1")
        await expect(notice(page)).to_contain_text("x1 is already the last.")
    await page.keyboard.press("Alt+ArrowUp")
    await shows(page, "b", "x2", "c", "d", "x1", "x3")
    await expect(row(page, "x1").locator(".open")).to_be_focused()
    await drag(page, "x3", (await edges(page, "x2"))[0] + 4)
    await page.mouse.up()
    await shows(page, "b", "x3", "x2", "c", "d", "x1")
    await expect(page.get_by_role("searchbox", name="Find in the list")).to_have_value("x")
    assert ids(session) == ["b", "x3", "x2", "c", "d", "x1"]


async def test_keys_that_are_held_move_as_often(tabs: Tabs, name: str, begun: Begun) -> None:
    session = begun(*(f"i{number}" for number in range(40)))
    page = await tabs.open(name)
    await row(page, "i0").locator(".open").focus()
    for _ in range(25):
        await page.keyboard.press("Alt+ArrowDown")
    await expect(notice(page)).to_contain_text("i0 is now 26 of 40.")
    await expect(page.locator("#view-list li[data-id]").nth(25)).to_have_attribute("data-id", "i0")
    await expect(row(page, "i0").locator(".open")).to_be_focused()
    await expect(row(page, "i0").locator(".open")).to_be_in_viewport(ratio=1)
    assert ids(session).index("i0") == 25


# others


async def test_what_others_change_is_shown_and_never_overwritten(tabs: Tabs, name: str, begun: Begun) -> None:
    session = begun(item("a", notes="old", module="m"), "b")
    page = await tabs.open(name)
    fields = await edit(page, "a")
    content, notes = fields.get_by_label("What to do"), fields.get_by_label("Notes")
    said = fields.locator(".changed:not(:empty)")
    await notes.fill("mine")
    await content.focus()
    session.update("a", content="Theirs", notes="theirs", module="n", priority="high")
    await expect(fields.get_by_label("Module")).to_have_value("n")
    await expect(fields.get_by_label("Priority")).to_have_value("high")
    await expect(said).to_have_text(
        ["Changed by someone else to: Theirs Use this value", "Changed by someone else to: theirs Use this value"]
    )
    await expect(content).to_have_value("Do a")
    await expect(content).to_be_focused()
    await expect(notes).to_have_value("mine")
    await expect(detail(page).get_by_role("heading", name="Theirs")).to_be_visible()
    await page.keyboard.press("Control+Enter")
    await expect(fields).to_have_count(0)
    todo = of(session, "a")
    assert (todo.content, todo.notes, todo.module, todo.priority) == ("Theirs", "mine", "n", "high")

    await edit(page, "a")
    session.update("a", content="Third")
    await expect(said).to_have_count(1)
    await notes.fill("mine again")
    await expect(content).to_have_value("Third")
    await expect(said).to_have_count(0)
    session.update("a", notes="theirs again")
    await said.get_by_role("button", name="Use this value").click()
    await expect(notes).to_have_value("theirs again")
    await expect(notes).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(fields).to_have_count(0)
    assert (of(session, "a").content, of(session, "a").notes) == ("Third", "theirs again")


async def test_what_is_typed_for_an_item_outlives_it(tabs: Tabs, name: str, begun: Begun) -> None:
    session = begun("a", "b", "c")
    tabs.expect_error("404")
    page = await tabs.open(name)
    fields = await edit(page, "b")
    await page.keyboard.type(", well")
    session.drop("b")
    gone = detail(page).get_by_text("This item is no longer in the list.")
    await expect(gone).to_be_visible()
    await expect(fields.get_by_label("What to do")).to_be_focused()
    await page.keyboard.press("Control+Enter")
    await expect(fields.locator(".problem")).to_contain_text("No todo has the id 'b'")
    await expect(fields.get_by_label("What to do")).to_have_value("Do b, well")
    session.undo()
    await expect(gone).to_be_hidden()
    await page.keyboard.press("Control+Enter")
    await expect(row(page, "b")).to_contain_text("Do b, well")
    assert of(session, "b").content == "Do b, well"

    await edit(page, "b")
    await page.keyboard.type("!")
    session.drop("b")
    await expect(gone).to_be_visible()
    await fields.get_by_role("button", name="Cancel").click()
    await expect(detail(page)).to_be_hidden()
    await expect(row(page, "c").locator(".open")).to_be_focused()

    await edit(page, "c")
    session.drop("c")
    await expect(detail(page)).to_be_hidden()
    await expect(row(page, "a").locator(".open")).to_be_focused()


def many_changes(session: headway.Session) -> None:
    """Fifty of all kinds, at whose end everything is where it was, but `a`."""
    session.move("a", 3)
    for number in range(44):
        session.update("bc"[number % 2], content=f"Now {number}", status=["pending", "in_progress"][number % 3 // 2])
    session.write([item(one) for one in ("a", "x", "y")])
    session.write([item(one) for one in ("y", "a", "b", "c")])
    session.drop("y")
    session.add("More")
    session.update("a", content=f"Do a {session.version}")


async def test_what_is_being_typed_is_not_touched_by_what_happens(tabs: Tabs, name: str, begun: Begun) -> None:
    session = begun("a", "b", "c")
    page = await tabs.open(name)
    fields = await edit(page, "a")

    async def stays(control: Locator) -> None:
        await control.fill("Half a sentence")
        await control.evaluate("(one) => one.setSelectionRange(5, 6)")
        many_changes(session)
        await expect(page.locator("#figures")).to_contain_text("0 of 4 completed")
        await expect(row(page, "a")).to_contain_text(of(session, "a").content)
        await expect(control).to_be_focused()
        await page.keyboard.type("o")
        await expect(control).to_have_value("Half o sentence")
        assert await control.evaluate("(one) => [one.selectionStart, one.selectionEnd]") == [6, 6]

    await stays(fields.get_by_label("Notes"))
    await stays(new_item(page))
    await stays(page.get_by_role("searchbox", name="Find in the list"))
    await page.get_by_role("button", name="Message…").click()
    dialog = page.get_by_role("dialog")
    await stays(dialog.get_by_role("textbox"))
    await page.keyboard.press("Escape")
    await expect(dialog).to_contain_text("Closing discards what you typed.")
    await page.keyboard.press("Escape")
    await expect(dialog).to_have_count(0)
    await expect(page.get_by_role("button", name="Message…")).to_be_focused()
    for control in (fields.get_by_label("Notes"), new_item(page), page.get_by_role("searchbox")):
        await expect(control).to_have_value("Half o sentence")


async def test_what_was_typed_is_there_when_one_comes_back(tabs: Tabs, name: str, begun: Begun, server: Server) -> None:
    session = begun("a", "b")
    headway.open(server.folder, f"{name} other").write([item("a")])
    page = await tabs.open(name)
    await edit(page, "a")
    await page.keyboard.type(" and more")
    await new_item(page).fill("for this one")
    await page.get_by_role("searchbox").fill("Do")
    for view in ("Graph", "Timeline", "Plan", "Log", "List"):
        await page.get_by_role("tab", name=view).click()
    await expect(page.get_by_role("searchbox")).to_have_value("Do")
    await row(page, "b").locator(".open").click()
    await expect(form(page)).to_have_count(0)
    await session_button(page, f"{name} other").click()
    await shows(page, "a")
    await expect(new_item(page)).to_have_value("")
    await new_item(page).fill("for that one")
    await row(page, "a").locator(".open").click()
    await expect(detail(page)).to_be_visible()
    await expect(form(page)).to_have_count(0)
    await session_button(page, name).click()
    await shows(page, "a", "b")
    await expect(new_item(page)).to_have_value("for this one")
    await row(page, "a").locator(".open").click()
    await expect(form(page).get_by_label("What to do")).to_have_value("Do a and more")
    await form(page).get_by_role("button", name="Save").click()
    await expect(row(page, "a")).to_contain_text("Do a and more")
    assert [todo.content for todo in session.todos] == ["Do a and more", "Do b"]
