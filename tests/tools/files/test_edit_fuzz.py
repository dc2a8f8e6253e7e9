"""`edit` against a naive model of text: line by line the same bytes, in every encoding and with any line ends."""

from __future__ import annotations

from hypothesis import given

from .edit_cases import Case, cases, check


@given(cases())
def test_edit_does_what_a_naive_model_of_text_does(case: Case) -> None:
    check(case)
