"""What a person sees at a glance is so, and nothing is in the way of anything."""

from __future__ import annotations

import re
from itertools import pairwise

from playwright.async_api import Page, expect

from ..conftest import Begun
from ..running import Door, Scripted, ended, started, states, turn
from ..serving import Server, at, item
from .story import Story
from .tabs import Tabs, row

_OVER = """() => {
  const root = document.documentElement;
  return [root.scrollHeight - innerHeight, root.scrollWidth - innerWidth];
}"""
_COVERED = """() => {
  const over = document.querySelector("#notice p").getBoundingClientRect();
  return [...document.querySelectorAll("button, input, select, textarea, a")]
    .filter((one) => one.checkVisibility() && !one.closest("#notice, main") && one.id !== "skip")
    .filter((one) => {
      const { left, right, top, bottom } = one.getBoundingClientRect();
      return left < over.right && right > over.left && top < over.bottom && bottom > over.top;
    }).map((one) => one.outerHTML.slice(0, 80));
}"""


async def _rows_in_sight(page: Page) -> int:
    inside = """rows => rows.filter((one) => {
      const { left, top, bottom } = one.getBoundingClientRect();
      return bottom <= innerHeight && one.contains(document.elementFromPoint(left + 60, (top + bottom) / 2));
    }).length"""
    return await page.locator("#view-list .stop").evaluate_all(inside)


async def test_only_what_has_to_scrolls_and_a_notice_covers_no_control(tabs: Tabs, name: str, begun: Begun) -> None:
    story = Story(begun("a"))
    page = await tabs.open(name)
    adding = page.get_by_role("form", name="Add an item")
    await expect(page.get_by_role("button", name="Allow once")).to_have_count(2)
    await expect(adding).to_have_css("position", "static")
    await page.get_by_role("textbox", name="New item").fill("One more")
    await page.keyboard.press("Enter")
    await expect(page.locator("#notice")).to_contain_text("Added")
    await page.locator("#notice button").hover()  # it stays
    for width, height in ((1280, 800), (780, 437), (390, 844)):
        await page.set_viewport_size({"width": width, "height": height})
        assert (await page.evaluate(_OVER), await page.evaluate(_COVERED)) == ([0, 0], []), (width, height)
        bar, notice = await page.locator(".bar").bounding_box(), await page.locator("#notice p").bounding_box()
        assert bar is not None and notice is not None
        assert notice["y"] + notice["height"] <= bar["height"]
    story.end()


async def test_where_there_is_little_room_the_list_has_it(tabs: Tabs, name: str, begun: Begun) -> None:
    begun(*"abcdefgh")
    page = await tabs.open(name, size=(780, 437))
    adding = page.get_by_role("form", name="Add an item")
    await expect(adding).to_have_css("position", "static")
    await row(page, "a").locator(".open").hover()
    assert await _rows_in_sight(page) >= 1
    await page.keyboard.press("n")
    await expect(adding).to_be_in_viewport(ratio=1)
    await expect(page.get_by_role("textbox", name="New item")).to_be_focused()


async def test_what_is_in_progress_does_not_look_done(tabs: Tabs, name: str, begun: Begun) -> None:
    begun(item("a", status="completed"), item("b", status="in_progress"), "c")
    page = await tabs.open(name)
    ground = """(piece) => {
      const probe = piece.ownerDocument.body.appendChild(document.createElement("i"));
      const colour = (name) => ((probe.style.color = `var(--${name})`), getComputedStyle(probe).color);
      const names = ["running", "running-tint"].map((name) => [colour(name), name]);
      probe.remove();
      return new Map(names).get(getComputedStyle(piece).backgroundColor);
    }"""
    for scheme in ("light", "dark"):
        await page.emulate_media(color_scheme=scheme)
        assert await page.locator(".strip .k-running").evaluate(ground) == "running-tint", scheme


async def test_a_list_without_matches_says_so(tabs: Tabs, server: Server, name: str, begun: Begun) -> None:
    begun("a", "b")
    page = await tabs.open(name)
    await expect(page.locator(".bar")).to_contain_text(server.folder.name)
    clear = page.get_by_role("button", name="Clear the list")
    await expect(clear).to_be_visible()
    search = page.get_by_role("searchbox", name="Find in the list")
    await search.fill("nothing has this")
    await expect(page.locator("#view-list")).to_contain_text("No item matches.")
    await expect(clear).to_be_hidden()
    await search.fill("Do b")
    await expect(row(page, "b")).to_be_visible()
    await expect(page.get_by_text("No item matches.")).to_be_hidden()
    await expect(clear).to_be_visible()


# the timeline


SIDES = "all => all.map((one) => one.getBoundingClientRect()).map(({ left, right }) => [left, right])"


async def test_a_clock_that_is_set_back_spoils_nothing(tabs: Tabs, name: str, begun: Begun) -> None:
    session = begun("a")
    times = iter([f"2026-01-02T03:04:{second:02}.000Z" for second in (5, 9, 7, 8, 40, 30, 50, 20, 10, 59, 5)])
    clocked = session.store.session(session.name, clock=lambda: next(times))
    for evidence in (None, {"level": "verified", "command": "true", "seconds": 1}):
        clocked.update("a", status="in_progress", actor="worker")
        clocked.update("a", status="completed", actor="worker", evidence=evidence)
    page = await tabs.open(name, view="timeline")
    bars = page.get_by_role("list", name="Who worked on what").get_by_role("listitem").get_by_role("button")
    await expect(bars).to_have_class([re.compile("k-reported"), re.compile("k-done")])
    for number in range(5):
        clocked.update("a", notes=f"{number}")
    clocked.update("a", status="in_progress", actor="worker")
    clocked.update("a", status="blocked", actor="worker")
    await expect(bars).to_have_class(
        [re.compile(f"k-{kind}") for kind in ("reported", "blocked", "reported")]
    )  # lane by lane
    await expect(page.locator(".dot")).not_to_have_count(1)
    dots = await page.locator(".dot").evaluate_all(SIDES)
    assert all(one[1] < other[0] for one, other in pairwise(dots))


async def test_what_was_done_one_after_the_other_is_in_one_line_of_the_timeline(
    tabs: Tabs, server: Server, name: str, begun: Begun
) -> None:
    session = begun(*[f"t{number}" for number in range(9)])
    for todo in session.todos[:8]:
        session.update(todo.id, status="in_progress", actor="worker")
        session.update(todo.id, status="completed", actor="worker")
    session.update("t0", status="in_progress", actor="worker")
    session.update(
        "t0", status="completed", actor="worker", evidence={"level": "verified", "command": "true", "seconds": 1}
    )
    session.update("t8", status="in_progress", actor="worker")
    for number in range(12):
        server.made(name, "edit", id="t8", content=f"Do it {number}")
    page = await tabs.open(name, view="timeline")
    lanes = page.get_by_role("list", name="Who worked on what").get_by_role("listitem")
    await expect(lanes).to_have_count(2)
    bars = lanes.filter(has_text="worker").get_by_role("button")
    kinds = ["reported"] * 8 + ["done", "running"]
    await expect(bars).to_have_class([re.compile(f"k-{kind}") for kind in kinds])
    await page.wait_for_function("document.querySelectorAll('.dot').length > 0")
    dots = await page.locator(".dot").evaluate_all(SIDES)
    assert all(one[1] < other[0] for one, other in pairwise(dots))
    places = await bars.evaluate_all(SIDES)
    assert all(right - left >= 6 for left, right in places)


# after a run was interrupted


async def test_an_interrupted_execution_is_resumed_as_it_was(
    tabs: Tabs, server: Server, name: str, begun: Begun, scripted: Scripted, door: Door
) -> None:
    begun("a", "b")
    scripted(a=[turn(door.command), "Done."], b=["Done."])
    page = await tabs.open(name)
    resume = page.get_by_role("button", name="Resume")
    await expect(resume).to_be_hidden()
    started(server, name, mode="yolo", retries=3)
    door.reached()
    server.run(name, "stop")
    ended(server, name)
    await expect(resume).to_have_attribute("title", re.compile("never asks"))
    door.let()
    await resume.click()
    await expect(page.get_by_role("region", name="Run")).to_contain_text("Last run complete")
    await expect(resume).to_be_hidden()
    assert states(server, name) == {"a": "completed", "b": "completed"}
    begun_with = [one for one in server.get(f"{at(name)}/events?limit=1000").data if one["type"] == "BatchStarted"]
    assert [(one["mode"], one["retries"]) for one in begun_with] == [("yolo", 3)] * 2


async def test_an_agent_that_was_stopped_goes_on_where_it_was(
    tabs: Tabs, server: Server, name: str, begun: Begun, scripted: Scripted, door: Door
) -> None:
    begun(item("a", status="completed"))
    scripted(said=[turn(door.command), "That is\nall of it."])
    page = await tabs.open(name)
    started(server, name, "message", text="I said it", mode="yolo")
    door.reached()
    server.run(name, "stop")
    ended(server, name)
    door.let()
    await expect(page.get_by_role("button", name="Resume")).to_have_attribute("title", re.compile("yolo: never asks"))
    await page.get_by_role("button", name="Resume").click()
    said = page.get_by_role("group", name="The agent’s last message")
    await expect(said.locator(".lines")).to_have_text(re.compile("That is\\s+all of it"))
    await expect(said).to_contain_text("That is\nall of it.", use_inner_text=True)
    await expect(page.get_by_role("button", name="Resume")).to_be_hidden()
