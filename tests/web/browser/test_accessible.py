"""Everyone can use the page: axe finds nothing, and what axe cannot see is looked at here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import Any, Protocol

import pytest
from playwright.async_api import Page, expect
from tests.support.processes import Form

from ..conftest import Begun
from ..serving import item
from .knowing import Own
from .story import DIFF, Story
from .tabs import VIEWS, Tabs, lock, row, show

LIGHT_AND_WIDE: Form = {"color_scheme": "light", "viewport": {"width": 1280, "height": 800}}
DARK_AND_NARROW: Form = {"color_scheme": "dark", "viewport": {"width": 390, "height": 800}, "has_touch": True}
LIGHT = pytest.param(LIGHT_AND_WIDE, id="light-wide")
DARK = pytest.param(DARK_AND_NARROW, id="dark-narrow")
_OPTIONS: Form = {"resultTypes": ["violations"], "rules": {"target-size": {"enabled": True}}}
"""All rules that are on, with those for best practice, and one that is off."""


class _Found(Protocol):
    response: dict[str, Any]


class _Axe(Protocol):
    async def run(self, page: Page, context: Form, options: Form) -> _Found: ...


_MAKE: Callable[..., _Axe] = import_module("axe_playwright_python.async_playwright").Axe
_axe, _axe_again = _MAKE(), _MAKE("0")
"""The second does not load what is there already, which takes most of the time."""


async def flaws(page: Page, within: str = "html") -> list[str]:
    """What axe finds: each rule with where it is broken. Of all the sessions on the left only the first few."""
    axe = _axe_again if await page.evaluate("'axe' in window") else _axe
    where = {"include": [[within]], "exclude": [["#sessions li:nth-child(n + 4)"]]}
    found = (await axe.run(page, context=where, options=_OPTIONS)).response["violations"]
    return [
        f"{rule['id']}: {node['html'][:160]} ({node['failureSummary']})" for rule in found for node in rule["nodes"]
    ]


# axe


@pytest.mark.smoke
async def test_the_list_and_what_is_asked_have_no_flaws(tabs: Tabs, name: str, begun: Begun) -> None:
    Story(begun("a"))
    page = await tabs.open(name, context=await tabs.person(**DARK_AND_NARROW))
    await expect(page.get_by_role("article")).to_have_count(2)
    assert await flaws(page) == []


@pytest.mark.parametrize("person", [pytest.param(LIGHT_AND_WIDE, id="light-wide", marks=pytest.mark.slow), DARK])
async def test_views_and_items_have_no_flaws(tabs: Tabs, name: str, begun: Begun, person: Form) -> None:
    story = Story(begun("a"))
    page = await tabs.open(name, context=await tabs.person(**person))
    await expect(page.get_by_role("article")).to_have_count(2)
    for view in VIEWS:
        panel = await show(page, view)
        await panel.locator("details").evaluate_all("all => all.slice(-6).forEach((one) => (one.open = true))")
        assert await flaws(page) == [], view
    await show(page, "list")
    await row(page, story.ids["stuck"]).locator(".open").click()
    detail = page.locator("#detail")
    await detail.locator("details").evaluate_all("all => all.forEach((one) => (one.open = true))")
    assert await flaws(page) == []
    await detail.locator("button.status").click()
    await expect(page.get_by_role("menu")).to_be_visible()
    assert await flaws(page, ".menu") == []
    await page.keyboard.press("Escape")
    await detail.get_by_role("button", name="Edit", exact=True).click()
    await expect(detail.locator("form")).to_be_visible()
    assert await flaws(page, "#detail") == []


@pytest.mark.parametrize("person", [LIGHT, pytest.param(DARK_AND_NARROW, id="dark-narrow", marks=pytest.mark.slow)])
async def test_dialogs_have_no_flaws(tabs: Tabs, name: str, begun: Begun, person: Form) -> None:
    story = Story(begun("a"))
    story.end()
    page = await tabs.open(name, context=await tabs.person(**person), item=story.ids["stuck"])
    dialog = page.get_by_role("dialog")

    async def look(press: Callable[[], Awaitable[None]]) -> None:
        await press()
        await expect(dialog).to_be_visible()
        assert await flaws(page, "dialog") == []
        await page.keyboard.press("Escape")
        await expect(dialog).to_have_count(0)

    for button in ("Execute…", "Roll back…"):
        await look(page.locator("#detail").get_by_role("button", name=button).click)
    await page.keyboard.press("Escape")
    for key in "xm?":
        await look(lambda key=key: page.keyboard.press(key))
    await page.keyboard.press("s")
    await look(page.get_by_role("button", name="New session…").click)
    await page.keyboard.press("Escape")
    await show(page, "plan")
    for button in ("Turn into list…", "Edit…"):
        await look(page.locator("#view-plan").get_by_role("button", name=button).click)


async def test_empty_and_refused_pages_have_no_flaws(tabs: Tabs, name: str, begun: Begun) -> None:
    begun("a").clear()
    context = await tabs.person(**LIGHT_AND_WIDE)
    page = await tabs.open(name, context=context)
    for view in VIEWS:
        await show(page, view)
        assert await flaws(page, "#session") == [], view
    tabs.expect_error("404")
    await page.goto(page.url.partition("#")[0] + "#session=not+there")
    await expect(page.get_by_role("heading", level=1)).to_have_text("Session not found")
    assert await flaws(page) == []


async def test_a_project_without_sessions_and_a_page_that_is_locked_have_no_flaws(
    own: Own,
) -> None:
    page = await own.tabs.blank(await own.tabs.person(**DARK_AND_NARROW))
    await page.goto(f"http://{own.server.host}/")
    await expect(page.get_by_role("heading", level=1)).to_have_text("No sessions yet")
    assert await flaws(page) == []
    page = await own.tabs.blank(await own.tabs.stranger(**DARK_AND_NARROW))
    await page.goto(f"http://{own.server.host}/")
    await expect(page.get_by_role("heading", level=1)).to_have_text("This page is locked")
    assert await flaws(page) == []


async def test_what_is_said_above_a_session_is_no_second_title(tabs: Tabs, name: str, begun: Begun) -> None:
    begun("a")
    page = await tabs.open(name, context=await tabs.person())
    await lock(tabs, page)
    await expect(page.get_by_role("heading", name="This page is locked")).to_be_visible()
    assert await page.get_by_role("heading", level=1).count() == 1


# by hand


async def test_the_page_is_told_by_its_landmarks_headings_tabs_and_progress(
    tabs: Tabs, name: str, begun: Begun
) -> None:
    begun(item("a", status="completed"), item("b", status="cancelled"), item("c", "a"))
    page = await tabs.open(name, item="c")
    await expect(page.get_by_role("complementary", name="Item")).to_be_visible()
    for landmark in ("banner", "main", "complementary"):
        await expect(page.get_by_role(landmark)).to_have_count(1)
    await expect(page.get_by_role("navigation", name="Sessions")).to_be_visible()
    await expect(page.get_by_role("heading", level=1)).to_have_text([name])
    assert await page.title() == f"2/3 {name} — Headway"
    progress = page.get_by_role("progressbar", name="1 of 3 completed · 1 pending · 1 cancelled")
    now = [await progress.get_attribute(f"aria-value{which}") for which in ("min", "now", "max")]
    assert now == ["0", "2", "3"]
    await expect(page.get_by_role("tab", selected=True)).to_have_text(["List"])
    for view in ("Graph", "Timeline", "Plan", "Log", "List"):
        tab = page.get_by_role("tab", name=view)
        await tab.click()
        await expect(tab).to_have_attribute("aria-selected", "true")
        await expect(page.get_by_role("tabpanel")).to_have_count(1)
        controlled = await tab.get_attribute("aria-controls")
        await expect(page.get_by_role("tabpanel", name=view)).to_have_id(str(controlled))
    opened = row(page, "c").get_by_role("button", name="Pending: Do c")
    await expect(opened).to_have_attribute("aria-current", "true")
    await expect(page.get_by_role("status").filter(has_text="Live")).to_have_count(1)


async def test_what_others_do_is_announced(tabs: Tabs, name: str, begun: Begun) -> None:
    session = begun("a", "b", "c", "d", "e")
    page = await tabs.open(name)
    live = page.locator("#live[aria-live=polite]")
    session.update("a", status="completed")
    await expect(live).to_have_text("a: completed.")
    session.write([{"id": each, "status": "cancelled"} for each in "bcde"])
    await expect(live).to_have_text("4 items changed status.")
    Story(session)
    await expect(live).to_contain_text("The agent needs an answer: line. And 1 more.")


_FOCUS = """() => {
  const seen = (element) => {
    const { outlineStyle, outlineWidth, outlineColor } = getComputedStyle(element);
    const box = element.querySelector?.(":scope > .box");
    if (box) return parseFloat(getComputedStyle(box).strokeWidth) >= 3;
    return outlineStyle !== "none" && parseFloat(outlineWidth) >= 2 && !/, 0\\)$/.test(outlineColor);
  };
  const all = [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex]")];
  const able = all.filter((element) => element.tabIndex >= 0 && element.checkVisibility({ visibilityProperty: true }));
  const bad = able.filter((element) => {
    element.focus({ focusVisible: true });
    return document.activeElement !== element || !seen(element);
  });
  return [able.length, bad.map((element) => element.outerHTML.slice(0, 120))];
}"""


async def test_whatever_has_the_focus_shows_it(tabs: Tabs, name: str, begun: Begun) -> None:
    story = Story(begun("a"))
    page = await tabs.open(name, item=story.ids["stuck"])
    await page.locator("#detail").get_by_role("button", name="Edit", exact=True).click()
    for view in VIEWS:
        panel = await show(page, view)
        await panel.locator("details").evaluate_all("all => all.slice(-3).forEach((one) => (one.open = true))")
        number, bad = await page.evaluate(_FOCUS)
        assert number > 20
        assert bad == [], view


_CONTRAST = """() => {
  const probe = document.body.appendChild(document.createElement("i"));
  const light = (colour) => {
    probe.style.color = colour;
    const parts = getComputedStyle(probe).color.match(/[\\d.]+/g).slice(0, 3).map((part) => part / 255);
    const [red, green, blue] = parts.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const ratio = (one, other) => {
    const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const low = [];
  for (const kind of ["done", "reported", "blocked", "conflict", "running", "quiet"]) {
    probe.className = `k-${kind}`;
    for (const [text, ground] of [["c", "t"], ["c", "paper"], ["ink", "t"], ["muted", "t"]]) {
      const found = ratio(`var(--${text})`, `var(--${ground})`);
      if (found < 4.5) low.push(`${kind}: --${text} on --${ground} ${found.toFixed(2)}`);
    }
  }
  const plain = [["muted", "faint"], ["muted", "raised"]];
  const others = [...plain, ["on-accent", "accent"], ["on-accent", "blocked"], ["paper", "ink"]];
  for (const [text, ground, least = 4.5] of [...others, ["control", "paper", 3]]) {
    const found = ratio(`var(--${text})`, `var(--${ground})`);
    if (found < least) low.push(`--${text} on --${ground} ${found.toFixed(2)}`);
  }
  return low;
}"""


async def test_text_can_be_read_on_every_colour(tabs: Tabs, name: str, begun: Begun) -> None:
    """Also where axe cannot tell: in pictures, and on stripes."""
    begun("a")
    page = await tabs.open(name)
    for scheme in ("light", "dark"):
        await page.emulate_media(color_scheme=scheme)
        assert await page.evaluate(_CONTRAST) == [], scheme


async def test_nothing_moves_for_those_who_want_no_motion(tabs: Tabs, name: str, begun: Begun) -> None:
    story = Story(begun("a"))
    page = await tabs.open(name)
    executing = row(page, story.ids["now"]).locator(".mark")
    await executing.scroll_into_view_if_needed()
    await page.emulate_media(reduced_motion="no-preference")
    await expect(executing).to_have_css("animation-name", "breathe")
    await page.emulate_media(reduced_motion="reduce")
    await expect(executing).to_have_css("animation-name", "none")


async def test_with_few_colours_everything_is_still_told_apart(tabs: Tabs, name: str, begun: Begun) -> None:
    story = Story(begun("a"))
    page = await tabs.open(name, context=await tabs.person(forced_colors="active"))
    marks = page.locator("#view-list .mark span")
    shown = await marks.evaluate_all("all => all.map((one) => [one.textContent, getComputedStyle(one).visibility])")
    assert {tuple(each) for each in shown} == {(mark, "visible") for mark in ("✓", "✓?", "●", "✗", "○", "⊘")}
    ground = "all => all.map((one) => getComputedStyle(one).background)"
    pieces = await page.locator(".strip span").evaluate_all(ground)
    kinds = await page.locator(".strip span").evaluate_all("all => all.map((one) => one.className)")
    assert len(set(pieces)) == len(set(kinds)) == 5
    edge = "all => all.map((one) => getComputedStyle(one).borderBottomColor)"
    paper = await page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    chosen, *others = await page.get_by_role("tab").evaluate_all(edge)
    assert others == [paper] * 4
    assert chosen != paper
    await row(page, story.ids["done"]).locator(".open").click()
    for view in VIEWS:
        await show(page, view)
        _, bad = await page.evaluate(_FOCUS)
        assert bad == [], view


async def test_on_a_phone_everything_is_large_enough_and_nothing_is_cut_off(
    tabs: Tabs, name: str, begun: Begun
) -> None:
    story = Story(begun("a"))
    page = await tabs.open(name, context=await tabs.person(viewport={"width": 320, "height": 640}, has_touch=True))
    small = """() => [...document.querySelectorAll("button, input:not([type=checkbox]), select, textarea, a")]
      .filter((one) => one.checkVisibility() && !one.matches(".link, .mark, .skip, .stretch"))
      .filter((one) => one.getBoundingClientRect().height < 40 || one.getBoundingClientRect().width < 24)
      .map((one) => one.outerHTML.slice(0, 120))"""
    wide = """() => [...document.querySelectorAll("html, main, aside")]
      .filter((one) => one.checkVisibility() && one.scrollWidth > one.clientWidth).map((one) => one.tagName)"""
    for view in VIEWS:
        await show(page, view)
        assert (await page.evaluate(small), await page.evaluate(wide)) == ([], []), view
    await show(page, "list")
    around = (
        "one => [getComputedStyle(one, '::before').width, getComputedStyle(one, '::before').height].map(parseFloat)"
    )
    width, height = await row(page, story.ids["off"]).locator(".mark").evaluate(around)
    assert (width >= 26, height >= 40) == (True, True)  # with what is around the mark
    await row(page, story.ids["stuck"]).locator(".open").click()
    await page.locator("#detail").get_by_role("button", name="Edit", exact=True).click()
    assert (await page.evaluate(small), await page.evaluate(wide)) == ([], [])


# looks


async def test_what_is_verified_looks_so_on_the_timeline_too(tabs: Tabs, name: str, begun: Begun) -> None:
    session = begun("a")
    session.update("a", status="in_progress")
    session.update(
        "a", status="completed", evidence={"level": "verified", "command": "true", "exit_code": 0, "seconds": 1}
    )
    page = await tabs.open(name, view="timeline")
    bar = page.locator("#view-timeline .lane").filter(has_text="You").locator(".stretch")
    await expect(bar).to_have_count(1)
    assert "k-done" in str(await bar.get_attribute("class"))


async def test_a_diff_has_as_many_lines_as_it_has(tabs: Tabs, name: str, begun: Begun) -> None:
    Story(begun("a"))
    page = await tabs.open(name)
    lines = page.locator("#questions .diff > span")
    await expect(lines.first).to_be_visible()
    assert await lines.count() == DIFF.count("\n")
