from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, async_playwright

from ..serving import Server
from .tabs import FLAGS, Tabs, chromium


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One event loop and one worker for all of them, as one browser serves all."""
    here = __file__.rpartition("/")[0]
    for item in items:
        if str(item.path).startswith(here):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)
            item.add_marker(pytest.mark.xdist_group("browser"))


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    path = chromium()
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        await browser.close()


@pytest_asyncio.fixture(loop_scope="session")
async def tabs(browser: Browser, server: Server) -> AsyncIterator[Tabs]:
    tabs = Tabs(browser, server)
    yield tabs
    await tabs.close()
    assert tabs.heard == []
