"""Tabs of a real browser, each listened to: no error may be said in any, and nothing be asked of anyone else."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Locator, Page, Request, expect

from ..serving import WAIT, Server

FLAGS = ["--no-sandbox", "--disable-dev-shm-usage"]
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


class Tabs:
    """All tabs of one person; `person(...)` is another one, with another screen or other colours."""

    def __init__(self, browser: Browser, server: Server) -> None:
        self._browser = browser
        self._server = server
        self._contexts: list[BrowserContext] = []
        self._expected: list[str] = []
        self.heard: list[str] = []
        """What went wrong in any tab."""

    async def person(self, **options: Any) -> BrowserContext:
        """A browser profile of its own that has been let in."""
        given: dict[str, Any] = {"viewport": {"width": 1280, "height": 800}, "reduced_motion": "reduce", **options}
        context = await self._browser.new_context(**given)
        self._contexts.append(context)
        context.set_default_timeout(WAIT * 1000)
        context.on("console", self._console)
        context.on("weberror", lambda error: self._hear(f"uncaught: {error.error}"))
        context.on("request", self._request)
        cookie, _, value = self._server.cookie.partition("=")
        address = f"http://{self._server.host}"
        await context.add_cookies(
            [{"name": cookie, "value": value, "url": address, "httpOnly": True, "sameSite": "Strict"}]
        )
        return context

    async def open(self, session: str, view: str = "list", context: BrowserContext | None = None, **more: str) -> Page:
        """A new tab that shows the session, live."""
        page = await self.blank(context)
        await page.goto(f"http://{self._server.host}/#{urlencode({'session': session, 'view': view, **more})}")
        await expect(page.locator("#connection")).to_have_text("Live")
        return page

    async def blank(self, context: BrowserContext | None = None) -> Page:
        """A new tab, of the first person unless another is named."""
        if context is None:
            context = self._contexts[0] if self._contexts else await self.person()
        return await context.new_page()

    def expect_error(self, pattern: str) -> None:
        """From now on, errors that match are none: the test brings them about."""
        self._expected.append(pattern)

    def _hear(self, text: str) -> None:
        if not any(re.search(pattern, text) for pattern in self._expected):
            self.heard.append(text)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self._hear(f"{message.type}: {message.text}")

    def _request(self, request: Request) -> None:
        if not request.url.startswith((f"http://{self._server.host}/", "data:", "blob:", "about:")):
            self._hear(f"asked elsewhere: {request.url}")

    async def close(self) -> None:
        for context in self._contexts:
            await context.close()


# where things are on the page


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
