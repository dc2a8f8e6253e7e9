"""What a page knows, compared with what is so; and other processes that change it."""

from __future__ import annotations

import asyncio
from pathlib import Path

from playwright.async_api import Browser, Locator, Page
from tests.support.processes import WAIT, Form, run_to_end

import headway

from ..serving import Server, at, program
from .tabs import Tabs

_KNOWN = """async ([name, log, least]) => {
  const { store } = await import("/static/store.js");
  const { session } = store;
  const isThere = session?.name === name && session.log === log && session.version >= least;
  if (!isThere || store.log.last !== session.version) return null;
  const { items, name: _, ...rest } = session;
  return { state: { ...rest, session: name, todos: [...items.values()] }, events: store.log.events };
}"""


def events(server: Server, name: str, after: int = 0) -> list[Form]:
    """The log, however long."""
    found: list[Form] = []
    while more := server.get(f"{at(name)}/events?limit=1000&after={found[-1]['version'] if found else after}").data:
        found += more
    return found


async def until_known(page: Page, server: Server, name: str) -> list[Form]:
    """Waits until the page knows the session as it is now: all of it, and its log without a hole. The events it has."""
    state = server.state(name)
    async with asyncio.timeout(WAIT):
        while (known := await page.evaluate(_KNOWN, [name, state["log"], state["version"]])) is None:
            await asyncio.sleep(0.02)
    assert known["state"] == server.state(name)
    assert known["events"] == events(server, name, known["events"][0]["version"] - 1)
    return known["events"]


def logged(page: Page) -> Locator:
    """The events in the log."""
    return page.locator("#view-log li[data-version]")


async def versions(page: Page) -> list[int]:
    """The events in the log, as they are shown."""
    return await logged(page).evaluate_all("rows => rows.map((row) => Number(row.dataset.version))")


def run_program(server: Server, session: str, name: str, *words: str) -> None:
    """A command of a shell in the project, to its end."""
    done = run_to_end(program(server.folder, name, *words, HEADWAY_SESSION=session))
    assert done.code == 0, done.err


class Own:
    """A server of its own, for a project without sessions, and tabs that look at it."""

    def __init__(self, browser: Browser, folder: Path) -> None:
        folder.mkdir()
        self.server = Server(folder)
        self.tabs = Tabs(browser, self.server)

    def begun(self, name: str, *contents: str) -> headway.Session:
        session = headway.open(self.server.folder, name)
        for content in contents:
            session.add(content)
        return session
