"""The report as a page: complete in itself, harmless whatever the items say, and bounded however many there are."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from tests.support.counts import some
from tests.support.tables import check_rows

from headway.core.evidence import Evidence, EvidenceLevel
from headway.views.report.html import MOST_ITEMS, MOST_NOTES, MOST_PICTURES, report_html
from headway.views.report.model import Report

from .report_logs import Story, item
from .samples import HOSTILE, hostile_text

TAGS = {
    *("html", "head", "meta", "title", "style", "body", "div", "header", "main", "section", "footer", "figure"),
    *(
        "figcaption",
        "p",
        "pre",
        "br",
        "h1",
        "h2",
        "h3",
        "dl",
        "dt",
        "dd",
        "ul",
        "ol",
        "li",
        "span",
        "b",
        "bdi",
        "time",
        "table",
    ),
    *("thead", "tbody", "tr", "th", "td", "svg", "g", "desc", "defs", "pattern", "rect", "line", "path", "text"),
}
ATTRIBUTES = {
    *("lang", "charset", "http-equiv", "content", "name", "class", "id", "style", "aria-labelledby", "aria-label"),
    *("aria-hidden", "role", "tabindex", "scope", "data-name", "viewbox", "x", "y", "x1", "x2", "y1", "y2", "d"),
    *("width", "height", "rx", "fill", "text-anchor", "patternunits", "patterntransform"),
}
VOID = {"meta", "br"}


class Page(HTMLParser):
    """Reads a page and holds it to what it may contain."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.ids: list[str] = []
        self.text = ""
        self.metas: list[dict[str, str | None]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS, tag
        assert {name for name, _ in attrs} <= ATTRIBUTES, attrs
        values = dict(attrs)
        self.seen.append(tag)
        if "id" in values:
            self.ids.append(values["id"] or "")
        if tag == "meta":
            self.metas.append(values)
        if style := values.get("style"):
            assert re.fullmatch(r"flex:\d+|width:\d+px;min-width:\d+px;max-width:100%;height:auto", style)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_comment(self, data: str) -> None:
        raise AssertionError("a comment")

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text += data


def page_of(report: Report) -> Page:
    text = report_html(report)
    text.encode()
    assert "://" not in text and "url(http" not in text and "@import" not in text
    page = Page(text)
    assert len(page.ids) == len(set(page.ids))
    for svg in re.findall(r"<svg.*?</svg>", text, re.DOTALL):
        ET.fromstring(svg)
    return page


def eventful() -> Story:
    """Several at once, with a retry, a conflict, a failure, something dropped and something rolled back."""
    verified = Evidence(EvidenceLevel.VERIFIED, "pytest -q", 0, seconds=1.5, output="collected <2>\n2 passed")
    story = Story(
        item("a", "第一"), item("b", "Second"), item("c", "Third", "a", "b"), item("d", "Fourth"), item("e", "E")
    )
    story.session.drop("e")
    story.execution(3).start("a").start("b").start("d").wait(10).finish("a", evidence=verified, files=("a.py",))
    story.finish("b", "conflict", reason="Others changed x.py.", again=True)
    story.finish("d", "blocked", reason="It broke.", again=True, failed_calls=2, tool_calls=3)
    story.start("b", alone=True, again=True).wait(5).finish("b", input_tokens=1_000, output_tokens=10, cost=0.5)
    story.start("d").start("c").wait(5).finish("c").finish("d", "blocked", reason="It broke again.")
    return story.finish_all("failed", 3, 1, 20.0, "d").wait(5).roll_back("c", "c.py")


def test_an_empty_session_has_a_page() -> None:
    page = page_of(Story().report())
    assert "Nothing has happened in this session yet." in page.text
    assert not {"svg", "table"} & set(page.seen)


def test_the_page_is_complete_in_itself_and_says_so_to_the_browser() -> None:
    text = report_html(eventful().report())
    page = page_of(eventful().report())
    policy = next(meta["content"] for meta in page.metas if meta.get("http-equiv") == "Content-Security-Policy")
    assert policy == "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    assert text.replace("http-equiv", "").count("http") == 0
    assert "prefers-color-scheme:dark" in text and "@media print" in text and "max-width:46rem" in text


def test_everything_is_told_with_headings_and_pictures() -> None:
    page = page_of(eventful().report())
    for heading in ("Needs attention", "Timeline", "Dependencies", "Items", "Runs", "Execution 1: failed"):
        assert heading in page.text
    for word in (
        "第一",
        "pytest -q → exit code 0 in 1.5 s",
        "collected <2>",
        "2 passed",
        "a.py",
        "It broke again.",
        "Rolled back",
        "Dropped",
        "Conflict",
    ):
        assert word in page.text
    assert "✓?" in page.text and "2 failed" in page.text and "1,010" in page.text and "$0.5000" in page.text
    assert "Critical path" in page.text and "1.8× as fast" in page.text
    assert page.seen.count("svg") == 2 and page.seen.count("h1") == 1
    assert {"main", "header", "footer", "table", "th"} <= set(page.seen)


def test_a_run_and_work_by_hand_have_timelines_too() -> None:
    story = Story("First", "Second").run("Do it")
    story.session.update("t1", status="in_progress")
    story.wait(3).end()
    story.session.update("t2", status="in_progress")
    page = page_of(story.wait(2).report())
    assert "Run 1: Do it" in page.text and "Outside of runs" in page.text and page.seen.count("svg") == 2


def test_an_execution_that_goes_on_or_was_killed_has_a_page() -> None:
    story = Story(item("a", "First"), item("b", "Second", "a")).execution(2)
    assert "Execution 1: in progress" in page_of(story.report()).text
    story.start("a").wait(3)
    assert "in progress" in page_of(story.report()).text
    story.end("error", "The run was cut off: its process no longer exists.")
    assert "Execution 1: interrupted" in page_of(story.report()).text


WORSE = [
    "<script>alert(1)</script>",
    "</style><script>alert(1)</script>",
    "</title></svg></table><img src=x onerror=alert(1)>",
    "\" onload='alert(1)' x=\"",
    "<!-- --> ]]> &lt;script&gt; &#60;",
    "x" * 10_000,
    "\ufffe\uffff\U0001ffff",
    *(text for text in HOSTILE if text),
]


def everywhere(text: str) -> Story:
    """The text wherever one can come from outside."""
    story = Story(
        item(f"a{text}", f"b{text}", notes=f"n{text}"), item("c", "d", f"a{text}"), item(f"x{text}", "y"), session="s"
    )
    first = story.session.todos[0].id
    story.session.drop(story.session.todos[2].id, actor=f"u{text}"[:150].strip() or "u")
    story.session.set_plan({"title": f"p{text}", "overview": "o", "steps": [{"id": "a", "description": "x"}]})
    story.execution(2, note=text).start(first).wait(1)
    story.finish(first, "conflict", reason=text, again=True, files=(text,))
    story.start(first).wait(1)
    evidence = Evidence(EvidenceLevel.VERIFIED, f"c{text}", 1, (text,), 0.5, text, text)
    story.finish(first, "completed", evidence=evidence, reason=text, files=(text,))
    return story.end("error", text)


def test_no_text_gets_out_of_its_place() -> None:
    def check(text: str) -> None:
        story = everywhere(text)
        page = page_of(story.report(plan=story.session.plan))
        assert not {"\x1b", "\x00", "\u202e", "\u2066", "\ufeff", "\x9b", "\uffff"} & set(page.text)
        assert len(page.text) < 40_000

    check_rows(WORSE, check)


@settings(max_examples=some(30, 2), deadline=None)
@given(hostile_text)
def test_no_text_at_all_gets_out_of_its_place(text: str) -> None:
    page_of(everywhere(text).report())


def test_what_a_text_says_is_still_there() -> None:
    assert '<script>alert("1")</script> & Co' in page_of(Story('<script>alert("1")</script> & Co').report()).text


@pytest.mark.parametrize(("number", "more"), [(MOST_ITEMS, False), (MOST_ITEMS + 1, True)])
def test_a_long_list_is_cut_and_says_so(number: int, more: bool) -> None:
    page = page_of(Story(*(item(f"i{n}", "x") for n in range(number))).report())
    assert page.seen.count("tr") == MOST_ITEMS + 1
    assert ("… 1 more items" in page.text) is more


@pytest.mark.parametrize(("number", "more"), [(MOST_NOTES, False), (MOST_NOTES + 1, True)])
def test_many_notes_are_cut_and_say_so(number: int, more: bool) -> None:
    page = page_of(Story(*(item(f"i{n}", "x", status="cancelled") for n in range(number))).report())
    assert ("… 1 more" in page.text) is more


@pytest.mark.parametrize(("number", "more"), [(MOST_PICTURES, False), (MOST_PICTURES + 1, True)])
def test_many_executions_are_pictured_from_the_last(number: int, more: bool) -> None:
    story = Story(*(item(f"i{n}", "x") for n in range(number)))
    for n in range(number):
        story.execution(1, 1).start(f"i{n}").wait(1).finish(f"i{n}").finish_all("complete", 1, 0, 1.0).wait(1)
    page = page_of(story.report())
    assert page.seen.count("svg") == MOST_PICTURES
    assert ("… 1 earlier" in page.text) is more
    assert f"Execution {number}: complete" in page.text


def test_ten_thousand_items_make_a_page_that_can_be_opened() -> None:
    story = Story(*(item(f"i{n}", "字" * 500, *([f"i{n - 1}"] if n % 3 else [])) for n in range(10_000)))
    text = report_html(story.report())
    assert len(text) < 5_000_000
    Page(text)
