"""Random values that settings may have, and files that hold them."""

from __future__ import annotations

from collections.abc import Mapping

import tomlkit
from hypothesis import strategies as st

from headway.core.rules import is_array
from headway.settings.keys import KEYS, to_nested

_WORD = st.from_regex(r"[a-z][a-z0-9]{0,8}", fullmatch=True)
_PRINTED = st.text(st.characters(categories=("L", "N", "P", "S"), exclude_characters=";"), min_size=1, max_size=12)
_HOST = st.lists(_WORD, min_size=1, max_size=3).map(".".join) | st.ip_addresses().map(str) | st.just("例子.中国")
_URL = st.builds("http{}://{}:{}/v1".format, st.sampled_from(["", "s"]), _WORD, st.integers(1, 65535))
_TEXTS = {
    "model": st.builds("{}:{}".format, _WORD, _PRINTED),
    "base_url": _URL,
    "dialect": st.sampled_from(["claude", "claude-tasks", "codex"]),
    "web_search": st.sampled_from(["brave", "tavily"]) | _URL.map("searxng:{}".format),
    "allow": _WORD | st.builds("{}: {} *".format, _WORD, _PRINTED),
    "hosts": _HOST | _WORD.map("*.{}.org".format),
    "private_hosts": _HOST,
    "env": st.from_regex(r"[A-Z_][A-Z0-9_]{0,8}", fullmatch=True),
    "linked": _WORD | st.builds("{}/{}".format, _WORD, _WORD),
    "verify": st.builds("{} {}".format, _WORD, _PRINTED),
    "checkpoint_exclude": _WORD | st.builds("!{}/*.{}".format, _WORD, _WORD),
    "ask_before_editing": _WORD | st.builds("!{}/*.{}".format, _WORD, _WORD),
    "sandbox_read": st.builds("/{}".format, _WORD) | st.builds("~/{}".format, _PRINTED),
}
_LISTS = (
    *("allow", "hosts", "private_hosts", "env", "linked", "checkpoint_exclude", "ask_before_editing"),
    "sandbox_read",
)
_WHOLES = {
    "parallel": st.integers(1, 64),
    "checkpoint_max_file_mb": st.integers(1, 10_000),
    "keep_executions": st.integers(1, 10**6),
    "keep_days": st.integers(0, 10**6),
    "verify_tries": st.integers(0, 20),
    "max_rounds": st.integers(1, 10**12),
    "max_tokens": st.integers(1, 10**12),
    "context_window": st.integers(1_000, 10**12),
    "reply_tokens": st.integers(16, 10**12),
    "remind_after": st.integers(1, 10**12),
    "max_nudges": st.integers(0, 10**12),
    "retries": st.integers(0, 10**12),
    "limits.output_chars": st.integers(1_000, 1_000_000),
    "limits.kept_bytes": st.integers(0, 10**10),
    "limits.outputs_bytes": st.integers(0, 10**12),
    "limits.file_bytes": st.integers(1_000, 10**9),
    "limits.read_lines": st.integers(10, 100_000),
    "limits.results": st.integers(1, 100_000),
    "limits.fetch_bytes": st.integers(1_000, 10**8),
}


def values(name: str) -> st.SearchStrategy[object]:
    """Values that the setting of that name may have."""
    if name in _LISTS:
        return st.lists(_TEXTS[name], max_size=4).map(tuple)
    if name in _TEXTS:
        return _TEXTS[name]
    if name in _WHOLES:
        return _WHOLES[name]
    if choices := KEYS[name].choices:
        return st.sampled_from(choices)
    return st.floats(min_value=0.001, max_value=2 if name == "temperature" else 600)


def written(settings: Mapping[str, object]) -> str:
    """A file with these settings."""
    plain = {name: value if isinstance(value, int | float) else texts(value) for name, value in settings.items()}
    return tomlkit.dumps(to_nested(plain))


def texts(value: object) -> str | list[str]:
    """A value as it is written: a list entry by entry."""
    return [str(entry) for entry in value] if is_array(value) else str(value)
