"""`edit` against a naive model of text, with many examples."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from tests.tools.files.edit_cases import Case, cases, check


@pytest.mark.slow
@settings(max_examples=3_000)
@given(cases())
def test_edit_does_what_a_naive_model_of_text_does_thousands_of_times(case: Case) -> None:
    check(case)
