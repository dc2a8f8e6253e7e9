"""Text from outside, in a real browser: nothing in it is obeyed, nothing is hidden by it, nothing around it moves."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from itertools import count
from urllib.parse import unquote

import pytest
from playwright.async_api import Locator, Page, expect
from tests.support.processes import Form

import headway

from ..conftest import Begun
from ..serving import Server, item
from .story import Story
from .tabs import VIEWS, Tabs, row, show

MARKUP = "<x-a><img src=x onerror=pwned=1>"
OTHERS = (
    "</script><script>pwned=2</script>",
    '"><svg onload=pwned=3>',
    "' autofocus onfocus=pwned=4 '",
    "<a href='javascript:pwned=5'>here</a>",
    "javascript:pwned=6",
    "{{7*7}} ${7*7} <%= 7*7 %>",
    "<style>*{display:none}</style><base href=//elsewhere.invalid>",
    "<!--<iframe srcdoc='<script>parent.pwned=7</script>'>",
    "&lt;b&gt; &amp;amp; &#x202e;",
    "__proto__",
)
FINE = "\U0001f469\u200d\U0001f4bb \u0645\u06cc\u200c\u0631\u0648\u0645 e\u0301"
"""Joiners where they belong."""
CONTROLS = {
    "\x1b[31m": "⟨ESC⟩[31m",
    "\x1b]8;;http://x\x07": "⟨ESC⟩]8;;http://x⟨BEL⟩",
    "\x1b]52;c;eA==\x1b\\": "⟨ESC⟩]52;c;eA==⟨ESC⟩\\",
    "\x9b2J": "⟨U+009B⟩2J",
    "\0": "⟨NUL⟩",
    "\b\x7f": "⟨BS⟩⟨DEL⟩",
    "\u202e": "⟨U+202E⟩",
    "\u2066\u2067\u2068\u2069": "⟨U+2066⟩⟨U+2067⟩⟨U+2068⟩⟨U+2069⟩",
    "\u200e\u200f\u061c": "⟨U+200E⟩⟨U+200F⟩⟨U+061C⟩",
    "\u200b\u2060\ufeff\u00ad": "⟨U+200B⟩⟨U+2060⟩⟨U+FEFF⟩⟨U+00AD⟩",
    "a\u200db": "a⟨U+200D⟩b",
    "\U000e0041": "⟨U+E0041⟩",
    "z" + "\u0301" * 50: "z" + "\u0301" * 5 + "⟨+45 marks⟩",
    FINE: FINE,
}
"""What is written, and how it is to be read."""

_MADE = """() => [...document.querySelectorAll("*")].filter((element) =>
  ["X-A", "IFRAME", "STYLE", "BASE", "OBJECT", "EMBED"].includes(element.tagName.toUpperCase())
  || (element.tagName === "IMG" && !element.closest(".wordmark"))
  || (element.tagName === "SCRIPT" && !element.src.endsWith("/static/app.js"))
  || (element.tagName === "svg" && !element.matches(".picture"))
  || [...element.attributes].some(({ name, value }) => name.startsWith("on") || /^\\s*javascript:/i.test(value))
).map((element) => element.outerHTML.slice(0, 120))"""
_UNSEEN = """() => {
  const odd = /[\\0-\\x08\\x0b-\\x1f\\x7f-\\x9f\\xad\\u061c\\u200b\\u200e\\u200f\\u202a-\\u202e\\u2060-\\u2069\\ufeff]/;
  const found = odd.test(document.title) ? ["title"] : [];
  for (const element of document.querySelectorAll("body *")) {
    const texts = [...element.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data);
    for (const name of ["title", "aria-label", "placeholder", "alt"]) texts.push(element.getAttribute(name) ?? "");
    if (texts.some((text) => odd.test(text))) found.push(element.outerHTML.slice(0, 120));
  }
  return found;
}"""
_WIDE = """() => [...document.querySelectorAll("html, main, nav, aside, .bar, dialog, .question, .menu, #notice p")]
  .filter((element) => element.checkVisibility() && element.scrollWidth > Math.min(element.clientWidth, innerWidth))
  .map((element) => `${element.tagName} ${element.id || element.className}: ${element.scrollWidth}`)"""

_numbers = count(1)


def hostile(place: str) -> str:
    return f"{place} {MARKUP}"


async def reads(where: Locator, *places: str) -> None:
    """Whether the texts of these places are there to be read; long ones may be cut."""
    for place in places:
        await expect(where).to_contain_text(f"{place} {MARKUP[:9]}")


async def open_all(where: Locator) -> None:
    await where.locator("details").evaluate_all("all => all.forEach((one) => (one.open = true))")


async def unharmed(page: Page) -> None:
    """Nothing was made of a text, and nothing in one was run."""
    assert (await page.evaluate(_MADE), await page.evaluate("window.pwned")) == ([], None)


async def visit(page: Page, look: Callable[[], Awaitable[None]]) -> None:
    """Every view, alone and with an item beside it, with everything in it opened, and every dialog about an item."""
    detail = page.locator("#detail")
    for view in VIEWS:
        panel = await show(page, view)
        await open_all(panel)
        await look()
    await show(page, "list")
    await page.locator("#view-list .open").filter(has_text="content stuck").click()
    await expect(detail).to_be_visible()
    await open_all(detail)
    await look()
    await detail.locator("button.status").click()
    await expect(page.get_by_role("menu")).to_be_visible()
    await look()
    await page.keyboard.press("Escape")
    await detail.get_by_role("button", name="Edit", exact=True).click()
    await expect(detail.locator("form")).to_be_visible()
    await look()
    await detail.locator("form").get_by_role("button", name="Cancel").click()


async def visit_dialogs(page: Page, look: Callable[[], Awaitable[None]]) -> None:
    """The dialogs about an item that is shown, once no run goes on."""
    for name in ("Execute…", "Roll back…"):
        await page.locator("#detail").get_by_role("button", name=name).click()
        await expect(page.get_by_role("dialog")).to_be_visible()
        await look()
        await page.keyboard.press("Escape")
        await expect(page.get_by_role("dialog")).to_have_count(0)


# markup


async def test_markup_is_text_in_the_list_the_detail_and_what_is_asked(tabs: Tabs, server: Server) -> None:
    name = hostile(f"name {next(_numbers)}")
    story = Story(headway.open(server.folder, name), hostile)
    page = await tabs.open(name, context=await tabs.person(bypass_csp=True))
    await reads(page.locator("#head"), "title")
    await expect(page.locator("#head")).to_contain_text(name)
    assert await page.title() == f"? 3/7 {name} — Headway"
    await expect(page.locator("#sessions")).to_contain_text(name)
    await reads(page.locator("#run"), "id-now", "model")
    asked = page.locator("#questions")
    await reads(asked, "asking tool", "asked command", "writer", "effect", "other line", "path", "host", "asked diff")
    items = page.locator("#view-list")
    await reads(items, "content", "active", "module", "evidence", "owner", "estimated_time", "reason")
    await reads(items, *[f"content {which}" for which in ("said", "stuck", "next", "off", "mine")])
    await reads(items, *[f"id-{which}" for which in story.ids])
    detail = page.locator("#detail")
    await row(page, story.ids["done"]).locator(".open").click()
    await reads(detail, "id-done", "content", "evidence", "file", "module", "estimated_time", "notes", "id-next")
    await reads(detail, "check", "check output", "evidence note")
    await row(page, story.ids["stuck"]).locator(".open").click()
    await open_all(detail)
    await reads(detail, "id-stuck", "content stuck", "reason", "risk", "other risk", "last words", "its file")
    await reads(detail, "tool", "command", "output", "editor", "diff", "changed file", "agent stuck")
    story.end()
    await expect(page.locator("#run")).to_contain_text("main error <x-a>")
    await visit_dialogs(page, lambda: unharmed(page))


@pytest.mark.smoke
async def test_markup_that_comes_while_one_looks_is_text_in_every_view(tabs: Tabs, name: str, begun: Begun) -> None:
    session = begun("a")
    page = await tabs.open(name, context=await tabs.person(bypass_csp=True))
    Story(session, hostile)
    await reads(await show(page, "graph"), "id-done", "id-now", "id-next", "content", "content now", "content next")
    await reads(await show(page, "timeline"), "id-now", "id-stuck", "id-mine", "owner")
    plan = await show(page, "plan")
    await reads(
        plan, "plan title", "overview", "step", "step module", "other step", "id-step", "step risk", "step time"
    )
    await reads(plan, "plan risk", "testing", "duration", "id-done")
    log = await show(page, "log")
    await log.get_by_label("Which events").select_option("all")
    await open_all(log)
    await reads(log, "actor", "plan title", "task", "model", "note", "agent stuck", "tool", "command", "output", "diff")
    await reads(log, "error", "run error", "reason", "line", "other line", "effect", "said", "changed file", "host")
    await visit(page, lambda: unharmed(page))


async def test_other_markup_is_text_too_and_every_item_can_be_opened_everywhere(
    tabs: Tabs, name: str, begun: Begun
) -> None:
    texts = {f"{number}{text}": text for number, text in enumerate(OTHERS)}
    first = next(iter(texts))
    begun(*[item(todo_id, *([first] if todo_id != first else []), content=text) for todo_id, text in texts.items()])
    page = await tabs.open(name, context=await tabs.person(bypass_csp=True))
    detail = page.locator("#detail")
    for todo_id, text in texts.items():
        shown = page.locator("#view-list li .open").filter(has_text=text).first
        await shown.click()
        await expect(detail.locator("h2")).to_have_text(text)
        await expect(detail.locator(".eyebrow")).to_have_text(todo_id)
        assert await page.evaluate("new URLSearchParams(location.hash.slice(1)).get('item')") == todo_id
    graph = await show(page, "graph")
    for todo_id, text in texts.items():
        await graph.get_by_role("button", name=f"{todo_id}: {text}"[:40]).first.click()
        await expect(detail.locator("h2")).to_have_text(text)
    await page.reload()
    await expect(detail.locator("h2")).to_have_text(OTHERS[-1])
    await unharmed(page)


async def test_what_is_typed_into_the_page_is_kept_as_it_is_and_shown_as_text(
    tabs: Tabs, server: Server, name: str, begun: Begun
) -> None:
    session = begun("a")
    page = await tabs.open(name, context=await tabs.person(bypass_csp=True))
    await page.get_by_label("New item", exact=True).fill(MARKUP)
    await page.keyboard.press("Enter")
    await expect(page.locator("#view-list")).to_contain_text(MARKUP)
    (added,) = [todo for todo in session.todos if todo.id != "a"]
    assert added.content == MARKUP
    await row(page, added.id).locator(".open").click()
    detail = page.locator("#detail")
    await detail.get_by_role("button", name="Edit", exact=True).click()
    for label, text in (("What to do", "what"), ("Module", "module"), ("Estimated time", "time"), ("Notes", "notes")):
        await detail.get_by_label(label).fill(hostile(text))
    await detail.get_by_label("Depends on", exact=True).fill(f"a\n{MARKUP}")
    tabs.expect_error("422")
    await page.keyboard.press("Control+Enter")
    await expect(detail.locator("form .problem")).to_contain_text(MARKUP)
    await detail.get_by_label("Depends on", exact=True).fill("a")
    await page.keyboard.press("Control+Enter")
    await expect(detail.locator("form")).to_have_count(0)
    await reads(detail, "what", "module", "time", "notes")
    changed = session.todo_list.items[added.id]
    assert [changed.content, changed.notes] == [hostile("what"), hostile("notes")]
    await page.get_by_role("button", name="New session…").click()
    await page.get_by_label("Name").fill(f"{MARKUP[:-1]} {next(_numbers)}>")
    await page.get_by_label("First item").fill(OTHERS[0])
    await page.get_by_role("button", name="Create", exact=True).click()
    await expect(page.get_by_role("heading", level=1)).to_contain_text(MARKUP[:-1])
    await expect(page.locator("#view-list")).to_contain_text(OTHERS[0])
    await page.get_by_label("New item", exact=True).fill(OTHERS[1])
    await page.keyboard.press("Enter")
    await expect(page.locator("#view-list li")).to_have_count(2)
    await page.get_by_label("Find in the list").fill(OTHERS[1])
    await expect(page.locator("#view-list li:visible")).to_have_text([re.compile(re.escape(OTHERS[1]))])
    await page.locator("#view-list li:visible .open").click()
    await detail.get_by_role("button", name="Drop").click()
    await expect(page.locator("#notice")).to_contain_text(f"Dropped “{OTHERS[1]}”.")
    await unharmed(page)


# the policy


async def test_the_policy_lets_no_script_in_and_nothing_out(tabs: Tabs, name: str, begun: Begun) -> None:
    begun("a")
    tabs.expect_error("Content Security Policy")
    tabs.expect_error(r"asked elsewhere: http://elsewhere\.invalid/")
    page = await tabs.open(name)
    broken = await page.evaluate(
        """async () => {
          const broken = [];
          document.addEventListener("securitypolicyviolation", (event) => broken.push(event.effectiveDirective));
          const make = (tag, given) => document.body.append(Object.assign(document.createElement(tag), given));
          make("script", { textContent: "window.pwned = 1" });
          make("script", { src: "data:text/javascript,window.pwned=2" });
          make("script", { src: "http://elsewhere.invalid/x.js" });
          make("img", { src: "http://elsewhere.invalid/x.png" });
          make("iframe", { srcdoc: "<script>parent.pwned = 3</script>" });
          make("iframe", { src: "http://elsewhere.invalid/" });
          make("link", { rel: "stylesheet", href: "http://elsewhere.invalid/x.css" });
          document.body.insertAdjacentHTML("beforeend", "<b id=b onclick='window.pwned = 4'>b</b>");
          document.getElementById("b").click();
          document.body.insertAdjacentHTML("beforeend", "<a id=a href='javascript:window.pwned = 5'>a</a>");
          document.getElementById("a").click();
          await fetch("http://elsewhere.invalid/", { mode: "no-cors" }).catch(() => {});
          navigator.sendBeacon("http://elsewhere.invalid/");
          const later = () => new Promise((next) => setTimeout(next, 20));
          for (let turn = 0; turn < 500 && new Set(broken).size < 6; turn += 1) await later();
          return [...new Set(broken)].sort();
        }"""
    )
    assert broken == ["connect-src", "frame-src", "img-src", "script-src-attr", "script-src-elem", "style-src-elem"]
    assert await page.evaluate("window.pwned") is None
    await expect(row(page, "a")).to_be_visible()


# characters


async def test_control_direction_and_unseen_characters_are_named_everywhere(tabs: Tabs, server: Server) -> None:
    written, read = " ".join(CONTROLS), " ".join(CONTROLS.values())
    name = f"characters {next(_numbers)}"
    story = Story(headway.open(server.folder, name), lambda place: f"{place} {written}")
    story.session.add("alone: \ud83d")
    page = await tabs.open(name)

    async def look() -> None:
        assert await page.evaluate(_UNSEEN) == []

    await expect(page.locator("#view-list li").last).to_contain_text("alone: \ufffd")

    await visit(page, look)
    await expect(page.locator("#detail h2")).to_have_text(f"content stuck {read}")
    await expect(page.locator("#detail .facts")).to_contain_text(f"reason {read}")
    await expect(page.locator("#detail .output").first).to_contain_text(f"output {read}")
    await expect(page.locator("#questions pre.command")).to_contain_text(f"asked command {read}")
    await expect((await show(page, "plan")).locator(".overview")).to_have_text(f"overview {read}")
    story.end()
    await expect(page.locator("#run")).to_contain_text("main error ⟨ESC⟩[31m")
    await visit_dialogs(page, look)


RTL = "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd"
_BOXES = "all => all.map((one) => [one.className, Math.round(one.getBoundingClientRect().left)])"


async def test_text_from_right_to_left_moves_nothing_around_it(tabs: Tabs, name: str, begun: Begun) -> None:
    """Rows, events and lines with such a text have everything where it is without it."""
    session = begun(
        {"id": "a", "content": "Plain", "module": "abcd", "estimated_time": "1 h"},
        {"id": "b", "content": RTL, "module": "abcd", "estimated_time": "1 h"},
        {"id": "c", "content": "\u202e" + RTL + "\u202d abc", "module": "abcd", "estimated_time": "1 h"},
    )
    page = await tabs.open(name)
    rows = [row(page, todo_id).locator(".mark, .about-module, .about-lasted") for todo_id in "abc"]
    places: list[Form] = [await one.evaluate_all(_BOXES) for one in rows]
    assert len(places[0]) == 3
    assert places[1:] == places[:1] * 2
    session.update("a", notes=RTL, module=RTL)
    session.advance(block={"b": RTL})
    log = await show(page, "log")
    await expect(log.locator("li")).to_have_count(3)
    events = log.locator("li summary").locator("time, .event-who, .event-words")
    lefts = [left for _, left in await events.evaluate_all(_BOXES)]
    assert lefts == lefts[:3] * 3
    await show(page, "list")
    await row(page, "b").locator(".open").focus()
    await page.keyboard.press("Delete")
    notice = page.locator("#notice")
    await expect(notice).to_contain_text(f"Dropped “{RTL}”.")
    text, button = notice.locator(".said"), notice.get_by_role("button")
    ends = [await one.evaluate("one => one.getBoundingClientRect().left") for one in (text, button)]
    assert ends == sorted(ends)


# size


@pytest.mark.parametrize("width", [390, pytest.param(1280, marks=pytest.mark.slow)])
async def test_texts_of_any_length_stay_within_the_page(tabs: Tabs, server: Server, width: int) -> None:
    name = f"{next(_numbers)}" + "x" * 190
    story = Story(
        headway.open(server.folder, name), lambda place: place + "x" * (1_500 if place.startswith("id-") else 10_000)
    )
    wide = (
        "long words " * 1_000,
        "\u6c49" * 10_000,
        "e\u0301\u0302\u0303" * 3_000,
        "\U0001f469\u200d\U0001f4bb" * 2_000,
    )
    for text in wide:
        story.session.add(text, notes=text, module=text)
    page = await tabs.open(name, size=(width, 800))

    async def look() -> None:
        assert await page.evaluate(_WIDE) == []

    await visit(page, look)
    if width > 1000:
        for view in VIEWS:
            await show(page, view)
            await look()
        await show(page, "list")
    more = page.locator("#detail h2").get_by_role("button")
    await expect(more).to_have_text(re.compile(r"Show all \(10,013 characters\)"))
    await more.click()
    await expect(page.locator("#detail h2")).to_contain_text("content stuck" + "x" * 10_000)
    await look()
    story.end()
    await expect(page.locator("#run")).to_contain_text("Last run")
    await visit_dialogs(page, look)
    await page.keyboard.press("Escape")
    await row(page, story.ids["next"]).locator(".open").press("Delete")
    await expect(page.locator("#notice")).to_contain_text("Dropped")
    await look()


# names of sessions

NAMES = (
    "a#b?c=d&e",
    "100% a%2Fb",
    "'\"`<img src=x>",
    "fix/it\\that",
    "#session=other&view=log",
    "\U0001f469 \u4f1a\u8bdd \u05e9\u05dc\u05d5\u05dd",
    "__proto__",
    "a+b c;|$(x)",
)


async def test_sessions_of_any_name_are_shown_and_changed(tabs: Tabs, server: Server) -> None:
    for name in NAMES:
        headway.open(server.folder, name).write([item("a")], replace=True)
    page = await tabs.open(NAMES[0])
    for name in NAMES:
        await page.locator("#sessions li button").filter(has_text=name).click()
        await expect(page.get_by_role("heading", level=1)).to_have_text(name)
        await expect(page.locator("#connection")).to_have_text("Live")
        await page.get_by_label("New item", exact=True).fill(f"Of {name}")
        await page.keyboard.press("Enter")
        await expect(page.locator("#view-list")).to_contain_text(f"Of {name}")
        assert [todo.content for todo in headway.open(server.folder, name).todos] == ["Do a", f"Of {name}"]
        assert await page.title() == f"0/2 {name} — Headway"
        report = await page.get_by_role("link", name="Report").get_attribute("href")
        assert unquote(report or "").startswith(f"/api/sessions/{name}/report?format=html&")
    await page.reload()
    await expect(page.get_by_role("heading", level=1)).to_have_text(NAMES[-1])


async def test_an_item_that_comes_while_one_types_into_the_search_breaks_nothing(
    tabs: Tabs, name: str, begun: Begun
) -> None:
    """Between what is told and the next frame an item is known and has no row."""
    begun("a")
    page = await tabs.open(name)
    tabs.expect_error("uncaught")
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    await page.evaluate(
        """async () => {
          const { store } = await import("/static/store.js");
          store.session.items.set("b", { ...store.session.items.get("a"), id: "b" });
          document.querySelector("#view-list input").dispatchEvent(new Event("input"));
        }"""
    )
    assert wrong == []
