"""Tabs are let in by the link, stay in when the server is started again, and tell no other server what lets them in."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlencode

import pytest
from playwright.async_api import Locator, Page, expect
from tests.support.processes import WAIT

from ..conftest import Begun
from ..serving import JSON, Server, at
from .knowing import Own, until_known
from .tabs import NO_ANSWER, Tabs, row


@asynccontextmanager
async def listening(port: int = 0, answer: bytes = b"") -> AsyncGenerator[tuple[int, list[bytes]]]:
    """Another server of this machine, and all that it receives."""
    received: list[bytes] = []

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, EOFError):
            received.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(answer)
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(take, "127.0.0.1", port)
    try:
        yield server.sockets[0].getsockname()[1], received
    finally:
        server.close()
        await server.wait_closed()


def said(body: str) -> bytes:
    head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode()


async def let_in(page: Page, server: Server, session: str) -> None:
    """By the link, as a person is."""
    await page.goto(f"http://{server.host}/?token={server.token}")
    await expect(page.locator("#connection")).to_have_text("Live")
    await page.evaluate("hash => (location.hash = hash)", urlencode({"session": session}))
    await until_known(page, server, session)


def locked(page: Page) -> Locator:
    return page.get_by_role("heading", name="This page is locked")


async def secret_of(page: Page) -> str:
    return await page.evaluate("JSON.parse(sessionStorage.getItem('headway.tab')).secret")


async def until(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(WAIT):
        while not holds():
            await asyncio.sleep(0.02)


@pytest.mark.smoke
async def test_what_another_port_receives_from_the_browser_lets_nobody_in(
    tabs: Tabs, server: Server, name: str, begun: Begun
) -> None:
    begun("a")
    person = await tabs.stranger()
    page = await person.new_page()
    await let_in(page, server, name)
    assert "tab=" not in page.url and server.token not in page.url
    assert [(one.get("httpOnly"), one.get("sameSite")) for one in await person.cookies()] == [(True, "Strict")]
    tabs.expect_error("404|favicon")
    tabs.expect_error("asked elsewhere")
    other = await person.new_page()
    async with listening(answer=said("{}")) as (port, received):
        await other.goto(f"http://127.0.0.1:{port}/")
        await until(lambda: received)
    (cookie,) = [line[8:] for line in received[0].decode().splitlines() if line.lower().startswith("cookie: ")]
    assert f"headway-{server.port}=" in cookie, "cookies go to every port"
    seen = {"Host": server.host, "Cookie": cookie, "Origin": f"http://{server.host}", **JSON}
    for path in ("", "/events", "/stream", "/report"):
        assert server.send("GET", f"{at(name)}{path}", seen).status == 401, path
    assert server.send("POST", f"{at(name)}/changes", seen, b'{"kind": "add", "content": "x"}').status == 401
    assert server.send("POST", "/api/entry", seen, b"{}").status == 401


async def test_a_tab_goes_on_with_a_server_that_was_started_again_and_tells_no_other_one(own: Own) -> None:
    own.begun("mine", "One")
    person = await own.tabs.stranger()
    page = await person.new_page()
    await let_in(page, own.server, "mine")
    secret, (before,) = await secret_of(page), await person.cookies()
    own.tabs.expect_error(NO_ANSWER)
    own.server.stop()
    async with listening(own.server.port, said('{"start": "s", "proof": "p"}')) as (_, received):
        await until(lambda: [one for one in received if b"/api/entry?tab=" in one])
        await expect(locked(page)).to_be_visible()
        told = b"".join(received)
        assert secret.encode() not in told and b"uthorization" not in told
    own.server.start()
    await page.evaluate("dispatchEvent(new Event('focus'))")
    await expect(page.locator("#connection")).to_have_text("Live")
    (after,) = await person.cookies()
    assert before.get("value") != after.get("value")
    old = {"Host": own.server.host, "Cookie": f"{before.get('name')}={before.get('value')}"}
    assert own.server.send("GET", at("mine"), old).status == 401
    own.begun("mine", "Two")
    await expect(row(page, "t2")).to_contain_text("Two")
    await page.reload()
    await until_known(page, own.server, "mine")


async def test_an_open_tab_lets_in_another_one_of_the_same_browser(
    tabs: Tabs, server: Server, name: str, begun: Begun
) -> None:
    begun("a")
    person = await tabs.stranger()
    address = f"http://{server.host}/#{urlencode({'session': name})}"
    second = await person.new_page()
    await second.goto(address)
    await expect(locked(second)).to_be_visible()
    await expect(second.locator("#connection")).to_have_text("No key")
    first = await person.new_page()
    await let_in(first, server, name)
    await second.evaluate("dispatchEvent(new Event('focus'))")
    await until_known(second, server, name)
    third = await person.new_page()
    await third.goto(address)
    await until_known(third, server, name)
    stranger = await (await tabs.stranger()).new_page()
    await stranger.goto(address)
    await expect(locked(stranger)).to_be_visible()


async def test_the_report_opens_in_a_tab_of_its_own(tabs: Tabs, server: Server, name: str, begun: Begun) -> None:
    begun("a")
    page = await tabs.open(name)
    async with page.context.expect_page() as opened:
        await page.get_by_role("link", name="Report").click()
    report = await opened.value
    await expect(report.locator("body")).to_contain_text("Do a")
    await report.reload()
    await expect(report.locator("body")).to_contain_text("Do a")
