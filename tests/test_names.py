"""The check of names: what it refuses, and what it lets pass."""

from __future__ import annotations

import pytest
from scripts.check_names import list_bad_names

BAD = (
    ("def told(): ...", "core/run.py"),
    ("async def _shown(): ...", "core/run.py"),
    ("class A:\n    @property\n    def known(self): ...", "core/run.py"),
    ("def run():\n    def heard(): ...", "core/run.py"),
    ("class Attention: ...", "core/run.py"),
    ("class _Means: ...", "core/run.py"),
    ("", "core/courier.py"),
    ("", "tools/utils.py"),
)
GOOD = (
    ("def record_usage(): ...", "core/run.py"),
    ("def format_shown_rows(): ...", "core/run.py"),
    ("class A:\n    @property\n    def is_known(self): ...", "core/run.py"),
    ("class RequestBuilder: ...", "agent/request_builder.py"),
    ("told = asked = 1", "core/plain_output.py"),
)


@pytest.mark.parametrize(("code", "path"), BAD)
def test_a_name_that_says_nothing_is_refused(code: str, path: str) -> None:
    (line,) = list_bad_names(code, path)
    assert line.startswith(path)


@pytest.mark.parametrize(("code", "path"), GOOD)
def test_a_name_that_says_what_it_is_passes(code: str, path: str) -> None:
    assert list(list_bad_names(code, path)) == []
