"""Tabs of a real browser, each listened to: no error may be said in any, and nothing be asked of anyone else."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Locator, Page, Request, WebError, expect
from tests.support.processes import WAIT, Form

from ..serving import Server

FLAGS = ["--no-sandbox", "--disable-dev-shm-usage", "--process-per-site"]
"""Tabs of one profile share a process: to start another takes as long as to open the page."""
SCREEN: Form = {"viewport": {"width": 1280, "height": 800}, "reduced_motion": "reduce"}
_FIND = Path(__file__).resolve().parents[3] / "scripts" / "chromium"
NO_ANSWER = (
    r"net::ERR_(CONNECTION_REFUSED|CONNECTION_RESET|EMPTY_RESPONSE|INCOMPLETE_CHUNKED_ENCODING|INTERNET_DISCONNECTED)"
)
"""What the browser itself says of a server that was stopped."""
expect.set_options(timeout=WAIT * 1000)


def chromium() -> str:
    """Where it is. Without one the tests are skipped, but never where they are run for everyone."""
    found = subprocess.run([_FIND], capture_output=True, text=True, check=False)
    if found.returncode:
        words = "There is no Chromium: install it (for example 'apt-get install chromium'), or set HEADWAY_CHROMIUM."
        pytest.fail(words) if os.environ.get("CI") else pytest.skip(words)
    return found.stdout.strip()


async def new_profile(browser: Browser, **options: Any) -> BrowserContext:
    context = await browser.new_context(**{**SCREEN, **options})
    context.set_default_timeout(WAIT * 1000)
    return context


async def let_in(browser: Browser, server: Server, **options: Any) -> BrowserContext:
    """A browser profile in which every tab has been let in."""
    context = await new_profile(browser, **options)
    await context.add_init_script(server.tab_script())
    return context


class Tabs:
    """All tabs of one person; `person(...)` is another one, with another screen or other colours.

    With `shared` that person has the profile of other tests, too, and with it what that has loaded: what a test changes
    beyond its own tabs (cookies, scripts for every tab) it changes for a person of its own.
    """

    def __init__(self, browser: Browser, server: Server, shared: BrowserContext | None = None) -> None:
        self._browser = browser
        self._server = server
        self._shared = shared
        self._contexts: list[BrowserContext] = []
        self._pages: list[Page] = []
        self._expected: list[str] = []
        self.heard: list[str] = []
        """What went wrong in any tab."""
        if shared is not None:
            self._listen(shared)
            shared.on("page", self._opened)

    async def person(self, **options: Any) -> BrowserContext:
        """A browser profile of its own that has been let in."""
        return self._joined(await let_in(self._browser, self._server, **options))

    async def stranger(self, **options: Any) -> BrowserContext:
        """A browser profile that has not been let in."""
        return self._joined(await new_profile(self._browser, **options))

    def _joined(self, context: BrowserContext) -> BrowserContext:
        self._contexts.append(context)
        self._listen(context)
        return context

    def _listen(self, context: BrowserContext) -> None:
        context.on("console", self._console)
        context.on("weberror", self._error)
        context.on("request", self._request)

    async def open(
        self,
        session: str,
        view: str = "list",
        context: BrowserContext | None = None,
        size: tuple[int, int] | None = None,
        **more: str,
    ) -> Page:
        """A new tab that shows the session, live."""
        page = await self.blank(context)
        if size is not None:
            await page.set_viewport_size({"width": size[0], "height": size[1]})
        await page.goto(f"http://{self._server.host}/#{urlencode({'session': session, 'view': view, **more})}")
        await expect(page.locator("#connection")).to_have_text("Live")
        return page

    async def blank(self, context: BrowserContext | None = None) -> Page:
        """A new tab, of the first person unless another is named."""
        first = self._shared or next(iter(self._contexts), None)
        return await (context or first or await self.person()).new_page()

    def expect_error(self, pattern: str) -> None:
        """From now on, errors that match are none: the test brings them about."""
        self._expected.append(pattern)

    def _opened(self, page: Page) -> None:
        self._pages.append(page)

    def _hear(self, text: str) -> None:
        if not any(re.search(pattern, text) for pattern in self._expected):
            self.heard.append(text)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self._hear(f"{message.type}: {message.text} ({message.location['url']})")

    def _error(self, error: WebError) -> None:
        self._hear(f"uncaught: {error.error}")

    def _request(self, request: Request) -> None:
        if not request.url.startswith((f"http://{self._server.host}/", "data:", "blob:", "about:")):
            self._hear(f"asked elsewhere: {request.url}")

    async def close(self) -> None:
        for context in self._contexts:
            await context.close()
        if self._shared is None:
            return
        for page in self._pages:
            await page.close()
        self._shared.remove_listener("console", self._console)
        self._shared.remove_listener("weberror", self._error)
        self._shared.remove_listener("request", self._request)
        self._shared.remove_listener("page", self._opened)


async def lock(tabs: Tabs, page: Page) -> None:
    """The server does not let this tab in any more."""
    tabs.expect_error("401")
    await page.route("**/api/entry*", lambda route: route.fulfill(status=401, json={}))
    await page.context.clear_cookies()
    await page.evaluate("dispatchEvent(new Event('online'))")


# where things are on the page

VIEWS = ("list", "graph", "timeline", "plan", "log")


async def show(page: Page, view: str) -> Locator:
    await page.locator(f"#tab-{view}").click()
    panel = page.locator(f"#view-{view}")
    await expect(panel).to_be_visible()
    await expect(panel).not_to_have_attribute("aria-busy", "true")
    return panel


def row(page: Page, todo_id: str) -> Locator:
    """An item in the list."""
    return page.locator(f'#view-list [data-id="{todo_id}"]')


async def shown(page: Page) -> list[str]:
    """The ids of the items in the list, as they are shown."""
    return await page.locator("#view-list li[data-id]").evaluate_all("rows => rows.map((row) => row.dataset.id)")


def new_item(page: Page) -> Locator:
    return page.get_by_role("textbox", name="New item")


def detail(page: Page) -> Locator:
    return page.get_by_role("complementary", name="Item")


def form(page: Page) -> Locator:
    return page.get_by_role("form", name="Edit the item")
