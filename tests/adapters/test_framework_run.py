"""What a call of someone else's tool does, as far as its name says."""

from __future__ import annotations

from headway.adapters.framework_run import guess_effect

EFFECTS = {
    "read_file": "read",
    "getWeather": "read",
    "list_tests": "read",
    "edit_file": "write",
    "get_and_delete": "write",
    "web_search": "network",
    "run_query": "execute",
    "executeSearch": "execute",
    "bash": "execute",
    "mystery": "execute",
    "": "execute",
}


def test_the_effect_of_a_tool_is_guessed_by_the_words_of_its_name_and_running_comes_before_reading() -> None:
    assert {name: guess_effect(name) for name in EFFECTS} == EFFECTS
