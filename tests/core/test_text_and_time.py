"""Text, times and JSON from outside."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core import clock
from headway.core.json_text import BadJson, parse_json
from headway.core.rules import DuplicateKeys
from headway.core.text import json_type_name, neutralize, sanitize_for_display, trim_text, truncate

ANY_TEXT = st.text(st.characters())


@given(ANY_TEXT)
def test_kept_text_is_trimmed_can_be_encoded_and_stays_as_it_is(text: str) -> None:
    kept = trim_text(text)
    kept.encode()
    assert kept == kept.strip() == trim_text(kept)


@pytest.mark.parametrize(
    ("text", "kept"),
    [("  a \n", "a"), ("a\ud800b", "a\ufffdb"), ("\u3000修\u3000", "修"), ("\ud83d\ude00", "😀"),
     ("\ufeffx\udfff", "\ufeffx\ufffd")],
)  # fmt: skip
def test_text_is_kept_as_people_meant_it(text: str, kept: str) -> None:
    assert trim_text(text) == kept


@given(ANY_TEXT)
def test_shown_text_holds_nothing_that_a_terminal_obeys(text: str) -> None:
    safe = neutralize(text)
    assert len(safe.splitlines()) <= 1
    for char in safe:
        assert not (ord(char) < 32 or 127 <= ord(char) < 160 or char in "\u202e\u2066\u200e\ufeff")


@given(ANY_TEXT, st.integers(1, 20))
def test_cut_text_is_never_longer_than_asked(text: str, limit: int) -> None:
    assert len(truncate(text, limit)) <= limit
    assert truncate(text, limit) == text or truncate(text, limit).endswith("…")
    assert len(sanitize_for_display(text, limit)) <= limit


@pytest.mark.parametrize(
    ("value", "name"),
    [(None, "null"), (True, "boolean"), (1, "number"), (1.5, "number"), ("", "string"), ({}, "object"), ([], "array")],
)
def test_types_have_their_json_names(value: object, name: str) -> None:
    assert json_type_name(value) == name


@given(st.datetimes(min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30), timezones=st.just(UTC)))
def test_times_are_written_in_one_form_that_sorts(moment: datetime) -> None:
    written = clock.parse_time(moment.isoformat())
    assert len(written) == len("2025-01-02T03:04:05.678Z")
    assert clock.parse_time(written) == written
    later = clock.add_seconds(written, 0.001)
    assert written < later
    assert datetime.fromisoformat(later) - datetime.fromisoformat(written) == timedelta(milliseconds=1)


def test_now_is_a_time_as_the_log_writes_it() -> None:
    written = clock.now()
    assert clock.parse_time(written) == written
    assert abs(datetime.fromisoformat(clock.now()) - datetime.now(UTC)) < timedelta(minutes=1)


def test_local_times_have_their_forms() -> None:
    assert clock.format_local_stamp("2025-01-02T03:04:05.678Z").replace("-", "").isdecimal()
    assert len(clock.format_local_stamp("2025-01-02T03:04:05.678Z")) == len("20250102-030405")
    assert len(clock.format_local_time("2025-01-02T03:04:05.678Z")) == len("2025-01-02 03:04:05")


@pytest.mark.parametrize("text", ["", "{", "NaN", '{"a": Infinity}', "[" * 100_000, "'x'", "\x00"])
def test_what_is_not_json_is_refused_in_one_way(text: str) -> None:
    with pytest.raises(BadJson):
        parse_json(text)


def test_json_is_read_with_a_byte_order_mark_and_repeated_keys_stay_visible() -> None:
    value = parse_json('\ufeff{"b": 1, "b": 2, "c": 3, "b": 4}')
    assert isinstance(value, DuplicateKeys)
    assert (dict(value), value.repeated) == ({"b": 4, "c": 3}, ("b",))
