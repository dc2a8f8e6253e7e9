"""Text is measured, cut and made visible in cells."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from headway.views.terminal import fit_to_width, to_visible

from .samples import hostile_text


@given(hostile_text, st.integers(0, 60), st.booleans())
def test_a_fitted_text_never_takes_more_cells_than_it_may(text: str, width: int, ascii: bool):
    assert cell_len(fit_to_width(text, width, ascii=ascii)) <= width


@given(st.text(st.sampled_from("ab 字"), max_size=30))
def test_a_text_that_fits_is_left_alone(text: str):
    assert fit_to_width(text, 60) == text


@pytest.mark.parametrize("emoji", ["👨‍👩‍👧", "👩‍⚕️", "🏳️‍🌈", "👩🏽‍🚀", "🙂‍↔️"])
def test_emoji_sequences_stay_joined(emoji: str):
    assert to_visible(emoji) == emoji


def test_a_non_joiner_stays_between_letters_only():
    assert to_visible("می\u200cخواهم") == "می\u200cخواهم"
    assert to_visible("a \u200c b\u200c") == "a  b"


@pytest.mark.parametrize("hidden", ["\u200b", "\u00ad", "\u2060", "\U000e0041", "\u200d"])
def test_hidden_characters_are_left_out(hidden: str):
    assert to_visible(f"a{hidden}b") == "ab"


def test_ascii_text_has_a_question_mark_for_each_other_character():
    assert fit_to_width("naïve 修复", 20, ascii=True) == "na?ve ??"
    assert fit_to_width("x" * 30, 10, ascii=True) == "xxxxxxx..."
    assert fit_to_width("x" * 30, 2, ascii=True) == ".."
