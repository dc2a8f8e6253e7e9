"""What is drawn: harmless whatever is in it, in the characters, colours and width that the terminal has."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from tests.views.samples import HOSTILE, hostile_text, todo

from headway.core.model import Status, Todo
from headway.core.text import UNSAFE
from headway.repl.renderer import Renderer

SGR = re.compile(r"\x1b\[[0-9;]*m")
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f]")
MARKS = ["✓", "✗", "⊘", "!", "?", "●"]

MARKDOWN = [
    "# A heading 标题",
    "- an item\n  - below it 第二\n    1. and a number",
    "> a quotation\n> of two lines",
    "| a | 中文 |\n|---|---|\n| 1 | a long cell with many words in it |",
    "```python\ndef f():\n\treturn '\x1b[31m'\n```",
    "~~~\nnever closed",
    "A [link](https://example.com/x) and `code` and **bold** and ~~gone~~.",
    "***",
    "    indented \x07 code",
    "[a]: javascript:alert(1)",
    "x" * 300,
    "字" * 200,
    "&#27;[2J &#x1b;]0;x&#7; &#155;2J &#13;x &#0; &Tab;x",
    "[l](<http://x/\x1b]8;;>)",
    "```\x1b[2J\ncode\n```",
]
markdown = st.lists(st.one_of(st.sampled_from(MARKDOWN), hostile_text), min_size=1, max_size=5).map("\n\n".join)
texts = st.one_of(hostile_text, markdown)
widths = st.integers(20, 120)

PLACED = re.compile(r"(.*)\x1b\[(\d+)G(.)")


def box(pen: Renderer, items: list[Todo], width: int) -> str:
    """The box with its right border where it is placed."""
    lines: list[str] = []
    for row in pen.draw_box(items, width, 12):
        found = PLACED.fullmatch(row.replace("\x1b[K", ""))
        assert found is not None, row
        lines.append(found[1] + " " * (int(found[2]) - 1 - cell_len(SGR.sub("", found[1]))) + found[3])
    return "\n".join(lines)


Drawing = Callable[[Renderer, str, int], str]
DRAWINGS: dict[str, Drawing] = {
    "markdown": lambda pen, text, width: pen.draw_markdown(text, width),
    "line": lambda pen, text, width: pen.draw_line("✓", text, "", width),
    "line with why": lambda pen, text, width: pen.draw_line("✗", text[::-1], text, width),
    "styled": lambda pen, text, width: pen.draw_styled(text, "bold", width),
    "diff": lambda pen, text, width: pen.draw_diff(f"@@ -1 +1 @@\n-{text}\n+{text}", width),
    "box": lambda pen, text, width: box(pen, [todo(n, text, status) for n, status in enumerate(Status)], width),
}
every_drawing = pytest.mark.parametrize("draw", DRAWINGS.values(), ids=DRAWINGS)


@pytest.fixture(autouse=True, scope="module")
def no_wish_for_no_colour():
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("NO_COLOR", raising=False)
        yield


@pytest.fixture
def without_colour(monkeypatch: pytest.MonkeyPatch) -> Renderer:
    monkeypatch.setenv("NO_COLOR", "1")
    return Renderer(ascii=False)


def plain(drawn: str) -> str:
    return SGR.sub("", drawn)


def drawn(text: str, width: int = 80) -> str:
    return plain(Renderer(ascii=False).draw_markdown(text, width))


def words(text: str) -> str:
    return "".join(text.split())


# harmless


@every_drawing
@given(text=texts, width=widths)
def test_nothing_that_a_terminal_obeys_is_drawn_but_styles(draw: Drawing, text: str, width: int):
    seen = plain(draw(Renderer(ascii=False), text, width))
    assert not CONTROL.search(seen)
    assert not {*UNSAFE} & {*seen}


@every_drawing
@given(text=texts, width=widths)
def test_without_unicode_only_ascii_is_drawn(draw: Drawing, text: str, width: int):
    seen = plain(draw(Renderer(ascii=True), text, width))
    assert seen.isascii()
    assert not CONTROL.search(seen)


@pytest.mark.parametrize("text", [*HOSTILE, *MARKDOWN])
def test_without_colour_there_are_no_styles_at_all(without_colour: Renderer, text: str):
    for draw in DRAWINGS.values():
        assert "\x1b" not in draw(without_colour, text, 60)


def test_with_colour_there_are_styles():
    assert all("\x1b[" in draw(Renderer(ascii=False), "**x**", 60) for draw in DRAWINGS.values())


@pytest.mark.parametrize("entity", ["&#8238;", "&#x202e;", "&rlm;", "&#xFEFF;", "&#x2066;", "&#8203;", "&#xE0041;"])
def test_an_entity_does_not_bring_back_what_is_harmful(entity: str):
    seen = drawn(f"evil {entity}gnp.exe `{entity}` x")
    assert len(seen.replace("\ufffd", "")) <= len(f"evil gnp.exe {entity} x")


# as wide as the terminal


@every_drawing
@given(text=texts, width=widths)
def test_no_line_is_wider_than_the_terminal(draw: Drawing, text: str, width: int):
    for line in plain(draw(Renderer(ascii=False), text, width)).split("\n"):
        assert cell_len(line) <= width


@given(st.sampled_from(MARKS), st.sampled_from(HOSTILE), st.sampled_from(HOSTILE), st.integers(30, 120))
def test_a_call_is_one_line_however_long_it_and_its_reason_are(mark: str, what: str, why: str, width: int):
    without_stacks = what.replace("\u0301", "") * 20, why.replace("\u0301", "") * 20
    line = plain(Renderer(ascii=False).draw_line(mark, *without_stacks, width))
    assert "\n" not in line
    assert cell_len(line) <= width


def test_without_unicode_a_call_with_emoji_is_one_line_too():
    line = plain(Renderer(ascii=True).draw_line("✓", "bash echo " + "👨‍👩‍👧" * 20, "", 60))
    assert "\n" not in line and cell_len(line) <= 60


def test_of_a_line_that_is_too_long_what_happened_is_cut_and_not_why():
    line = plain(Renderer(ascii=False).draw_line("✗", "bash " + "long " * 40, "exit code 3", 60))
    assert line.endswith("…: exit code 3")
    assert cell_len(line) <= 60


def test_a_short_line_is_left_as_it_is():
    assert (
        plain(Renderer(ascii=False).draw_line("✓", "bash 第一 [bold]x[/] :bug:", "", 60))
        == "✓ bash 第一 [bold]x[/] :bug:"
    )


@pytest.mark.parametrize("width", [40, 80])
def test_fifty_items_take_only_the_lines_that_there_are_with_the_active_one_among_them(width: int):
    items = [todo(n, f"Item {n}", Status.IN_PROGRESS if n == 37 else Status.PENDING) for n in range(50)]
    lines = plain(box(Renderer(ascii=False), items, width)).split("\n")
    assert len(lines) == 12
    assert any("● Item 37..." in line for line in lines)


# nothing is lost or changed


@pytest.mark.parametrize(
    "text",
    [
        "See `rows[:key:]`, [bold]x[/bold] and 12:heart:34.",
        "snake_case_name, 2 * 3 * 4, a < b > c and 5 & 6",
        "第一段。修复解析器的边界情况。",
        "C:\\temp and \\n",
        "A sentence\nof two lines.",
    ],
)
def test_what_the_model_says_is_not_rewritten(text: str):
    assert words(drawn(text)) == words(text).replace("`", "")


@pytest.mark.parametrize(
    "text",
    [
        "Use Vec<T> or List<String> here.",
        "<div>hello</div>",
        "<script>alert(1)</script>",
        "Run cat <file> now",
        "<!-- TODO -->\nThen this.",
    ],
)
def test_what_looks_like_html_is_seen(text: str):
    assert words(drawn(text)) == words(text)


@pytest.mark.parametrize("text", ["[1]: https://example.com/page", "![a chart](https://example.com/page)"])
def test_where_something_is_to_be_found_is_seen(text: str):
    assert "https://example.com/page" in drawn(text)


def test_a_link_shows_where_it_leads():
    assert drawn("[here](https://example.com/x)") == "here (https://example.com/x)"


def test_code_is_shown_as_it_is_with_its_blank_lines():
    code = "def f(x):\n    if x:\n\n\n        return '<b>' + x  # 注释"
    shown = drawn(f"```python\n{code}\n```").strip("\n")
    assert [line.removeprefix(" ") for line in shown.split("\n")] == code.split("\n")


def test_code_in_a_language_that_nobody_knows_is_shown_too():
    assert "x = 1" in drawn("```no-such-language\nx = 1\n```")


def test_headings_stand_at_the_left():
    assert drawn("# One\n\n## 二").split("\n") == ["One", "", "二"]


def test_lists_keep_their_numbers_when_they_come_in_blocks():
    assert "3 third" in drawn("3. third")


@pytest.mark.parametrize("text", ["> " * 2_000 + "x", "- " * 2_000 + "x", "[" * 5_000, "*" * 5_000 + "x" + "*" * 5_000])
def test_markdown_that_is_nested_deeper_than_anyone_writes_is_drawn_somehow(text: str):
    assert drawn(text) is not None


def test_a_diff_has_its_lines_with_an_indent():
    shown = plain(Renderer(ascii=False).draw_diff("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old 旧\n+new 新\n same\n", 60))
    assert shown.split("\n") == [
        f"    {line}" for line in ("--- a/x", "+++ b/x", "@@ -1 +1 @@", "-old 旧", "+new 新", " same")
    ]


@pytest.mark.parametrize("char", ["\u2028", "\x85", "\x0b", "\x0c", "\x1c", "\r"])
def test_a_line_of_a_diff_cannot_pass_for_another(char: str):
    shown = plain(Renderer(ascii=False).draw_diff(f"+harmless{char}-removed", 60))
    assert "\n" not in shown


def test_without_unicode_outcomes_can_be_told_apart():
    pen = Renderer(ascii=True)
    marks = {mark: plain(pen.draw_line(mark, "bash", "", 40))[0] for mark in ("✓", "✗", "⊘", "!", "?")}
    assert len({*marks.values()}) == len(marks)


def test_without_unicode_an_error_does_not_look_like_a_question():
    pen = Renderer(ascii=True)
    assert not plain(pen.draw_line("❌", "That went wrong.", "", 40)).startswith("?")
