"""The page as a person finds it, and finds it again."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from ..conftest import Begun
from .tabs import Tabs, row, shown


@pytest.mark.smoke
async def test_a_list_is_shown(tabs: Tabs, name: str, begun: Begun) -> None:
    begun("a", "b")
    page = await tabs.open(name)
    await expect(row(page, "a")).to_contain_text("Do a")
    assert await shown(page) == ["a", "b"]


async def test_what_is_typed_outlives_a_reload(tabs: Tabs, name: str, begun: Begun) -> None:
    session = begun("a")
    page = await tabs.open(name)
    adding = page.get_by_role("textbox", name="New item")
    await adding.type("Half of 一句话")
    await page.reload()
    await expect(adding).to_have_value("Half of 一句话")
    await adding.press("Enter")
    await expect(page.locator("#notice")).to_contain_text("Added")
    await expect(adding).to_have_value("")
    await page.reload()
    await expect(row(page, session.todos[1].id)).to_be_visible()
    await expect(adding).to_have_value("")


async def test_before_an_edit_is_lost_in_a_reload_the_browser_asks(tabs: Tabs, name: str, begun: Begun) -> None:
    begun("a")
    page = await tabs.open(name, item="a")
    await page.get_by_role("button", name="Edit", exact=True).click()
    await page.get_by_role("textbox", name="What to do").type(" and more")
    async with page.expect_event("dialog") as asked:
        await page.evaluate("void setTimeout(() => location.reload())")
    dialog = await asked.value
    assert dialog.type == "beforeunload"
    await dialog.dismiss()  # it is not left
    await expect(page.get_by_role("textbox", name="What to do")).to_have_value("Do a and more")
