"""Markdown streams in and is given out block by block: the same blocks however it was cut, and nothing is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.repl.markdown import MarkdownStream

LONG = 12_000
"""Characters after which a block need not have ended."""

LINES = [
    "A paragraph of the answer.",
    "它也说中文 👍🏽",
    "",
    "   ",
    "- an item",
    "    - one below it",
    "1. a number",
    "# A heading",
    "| a | b |",
    "|---|---|",
    "> a quotation",
    "    indented code",
    "```",
    "```python",
    "   ```",
    "    ```",
    "`````",
    "~~~",
    "~~~ text",
    "``` not a `fence` ```",
    "a ``` in the middle",
    "x" * 300,
]
texts = st.one_of(
    st.lists(st.sampled_from(LINES), max_size=30).map("\n".join),
    st.text(st.sampled_from("ab `~\n\n\n"), max_size=60),
    st.text(max_size=60),
)
long_texts = st.lists(st.sampled_from([*LINES, "y" * 5_000, "z" * 13_000]), max_size=30).map("\n".join)


def blocks(*pieces: str) -> list[str]:
    stream = MarkdownStream()
    return [block for piece in pieces for block in stream.feed(piece)] + stream.end()


def written(text: str) -> list[str]:
    """Its lines, but for the blank ones."""
    return [line for line in text.split("\n") if line.strip()]


@given(texts, st.lists(st.integers(0, 2_000), max_size=12))
def test_however_an_answer_is_cut_the_blocks_are_the_same(text: str, places: list[int]):
    cuts = sorted(place % (len(text) + 1) for place in places)
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert blocks(*pieces) == blocks(text)


@given(long_texts)
def test_letter_by_letter_long_blocks_are_the_same_too(text: str):
    assert blocks(*text) == blocks(text)


@given(texts)
def test_nothing_is_lost_but_blank_lines_between_blocks(text: str):
    given_out = blocks(text)
    assert [line for block in given_out for line in written(block)] == written(text)
    assert all(block.strip() for block in given_out)


@given(texts, st.integers(0, 2_000))
def test_at_any_time_what_was_given_out_and_the_rest_are_all_that_was_said(text: str, place: int):
    stream = MarkdownStream()
    given_out = stream.feed(text[: place % (len(text) + 1)])
    so_far = "\n".join([*given_out, stream.rest])
    assert written(so_far) == written(text[: place % (len(text) + 1)])


@given(texts)
def test_after_its_end_a_stream_is_as_new(text: str):
    stream = MarkdownStream()
    stream.feed(text)
    stream.end()
    assert stream.rest == ""
    assert stream.end() == []
    assert stream.feed("One.\n\nTwo.") == ["One."]


def test_a_paragraph_is_given_out_when_an_empty_line_follows():
    stream = MarkdownStream()
    assert stream.feed("One line\nand another.\n") == []
    assert stream.rest == "One line\nand another.\n"
    assert stream.feed("\nNext") == ["One line\nand another."]
    assert stream.rest == "Next"
    assert stream.end() == ["Next"]


def test_a_fence_stays_whole_with_the_blank_lines_in_it():
    fence = "```python\na = 1\n\n\nb = 2\n\n# not a heading\n```"
    assert blocks(f"Look:\n{fence}\nThat is it.") == ["Look:", fence, "That is it."]


def test_a_fence_is_given_out_as_soon_as_it_is_closed():
    stream = MarkdownStream()
    assert stream.feed("```\na\n\nb\n") == []
    assert stream.feed("```\n") == ["```\na\n\nb\n```"]
    assert stream.rest == ""


def test_a_fence_in_a_longer_fence_does_not_close_it():
    fence = "````markdown\n```\ninner\n\n```\n\n````"
    assert blocks(f"{fence}\nAfter.") == [fence, "After."]


@pytest.mark.parametrize("other", ["~~~", "``", "``` python", "    ```"])
def test_only_its_own_kind_of_line_closes_a_fence(other: str):
    fence = f"```\n{other}\n\nstill code\n```"
    assert blocks(fence) == [fence]


def test_a_fence_that_is_never_closed_is_given_out_whole_in_the_end():
    assert blocks("```\na\n\nb\n") == ["```\na\n\nb"]


def test_after_a_fence_that_was_never_closed_the_next_answer_begins_anew():
    stream = MarkdownStream()
    stream.feed("```\na")
    stream.end()
    assert stream.feed("One.\n\nTwo.\n\n") == ["One.", "Two."]


def test_a_fence_in_a_list_item_stays_whole():
    item = "1. Do this:\n\n    ```\n    a = 1\n\n    b = 2\n    ```"
    assert any("a = 1\n\n    b = 2" in block for block in blocks(item))


def test_carriage_returns_do_not_keep_a_block_from_ending():
    found = blocks("One\r\nline.\r\n\r\nTwo.\r\n\r\n```\r\na\r\n\r\nb\r\n```\r\nThree.")
    assert [block.replace("\r", "") for block in found] == ["One\nline.", "Two.", "```\na\n\nb\n```", "Three."]


def test_a_very_long_paragraph_is_given_out_in_parts_before_it_ends():
    stream = MarkdownStream()
    lines = [f"Line {number} {'.' * 90}" for number in range(1_000)]
    given_out = stream.feed("\n".join(lines))
    assert len(given_out) > 5
    assert all(len(block) < LONG + 200 for block in given_out)
    assert "\n".join([*given_out, *stream.end()]) == "\n".join(lines)


@pytest.mark.parametrize("mark", ["```", "~~~~"])
def test_a_very_long_fence_is_given_out_as_several_whole_fences(mark: str):
    lines = [f"    line {number} {'.' * 90}" if number % 7 else "" for number in range(1_000)]
    given_out = blocks(f"{mark}text\n" + "\n".join(lines) + f"\n{mark}\nAfter.")
    *fences, after = given_out
    assert after == "After."
    assert len(fences) > 5
    assert all(fence.startswith(f"{mark}text\n") and fence.endswith(f"\n{mark}") for fence in fences)
    code = [line for fence in fences for line in fence.split("\n")[1:-1]]
    assert code == lines


@pytest.mark.parametrize("last", ["", "```\n"])
def test_a_long_fence_that_ends_right_after_it_was_cut_leaves_no_empty_one(last: str):
    assert all("x" in block for block in blocks("```\n" + "x" * 13_000 + f"\n{last}"))


def test_nothing_is_nothing():
    assert blocks() == blocks("") == blocks("\n\n \n", "\n") == []
