"""The page as a person sees it first."""

from __future__ import annotations

from playwright.async_api import expect

from ..conftest import Begun
from .tabs import Tabs, row, shown


async def test_a_list_is_shown(tabs: Tabs, name: str, begun: Begun) -> None:
    begun("a", "b")
    page = await tabs.open(name)
    await expect(row(page, "a")).to_contain_text("Do a")
    assert await shown(page) == ["a", "b"]
