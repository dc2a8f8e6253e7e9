from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, async_playwright
from tests.support import projects

from ..conftest import SCRIPT
from ..serving import Server
from .knowing import Own
from .tabs import FLAGS, Tabs, chromium, let_in

SECOND = ("test_accessible", "test_convergence", "test_hostile", "test_live", "test_page")
"""The modules that take one half of the time."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One event loop and one worker for all that share a browser. There are two of them; one has the smoke tests."""
    here = __file__.rpartition("/")[0]
    for item in items:
        if str(item.path).startswith(here):
            is_second = item.path.stem in SECOND and item.get_closest_marker("smoke") is None
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)
            item.add_marker(pytest.mark.xdist_group("second browser" if is_second else "browser"))
            item.add_marker(pytest.mark.more)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """As for all others, but what a browser has loaded it may keep."""
    folder = projects.repository(tmp_path_factory.mktemp("browsed") / "project")
    made = Server(folder, "serve_files_to_keep", HEADWAY_MODEL=f"scripted:{SCRIPT}")
    yield made
    written = made.stop()
    assert "Traceback" not in written, written


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    path = chromium()
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        await browser.close()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def profile(browser: Browser, server: Server) -> AsyncIterator[BrowserContext]:
    """A profile for the tabs of all tests, in which one tab is always open, so that its process goes on."""
    context = await let_in(browser, server)
    page = await context.new_page()
    await page.goto(f"http://{server.host}/static/favicon.svg")
    yield context
    await context.close()


@pytest_asyncio.fixture(loop_scope="session")
async def tabs(browser: Browser, server: Server, profile: BrowserContext) -> AsyncIterator[Tabs]:
    tabs = Tabs(browser, server, profile)
    yield tabs
    await tabs.close()
    assert tabs.heard == []


@pytest_asyncio.fixture(loop_scope="session")
async def own(browser: Browser, tmp_path: Path) -> AsyncIterator[Own]:
    """A server of its own, as it is."""
    own = Own(browser, tmp_path / "project")
    try:
        yield own
    finally:
        await own.tabs.close()
        written = own.server.stop()
    assert own.tabs.heard == []
    assert "Traceback" not in written, written
