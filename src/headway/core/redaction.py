"""Keys in what is written into a list or plan are hidden before anything else sees it, as in the messages of a run.

Before a change is decided, so that an item whose text comes again is still the same item. Almost no text has a key:
whether it may have one is told without loading what finds them.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import is_dataclass, replace

from headway.core.secret_marks import may_have_secret
from headway.core.value import to_fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence  # noqa: F401, named in casts
    from typing import Any, cast

    from headway.core.commands import Command
    from headway.core.model import TodoList
else:

    def cast(kind: object, value: object) -> object:
        """Stand in for that of `typing`, which takes 2 of the 40 ms of a `TodoWrite` to load."""
        return value


_TEXTS = ("items", "about", "fields", "add", "block", "plan")
"""What of a change is text, or has some in it."""
_APART = "\n" * 4
"""What no key and no name before one goes across."""
_FEW = 4
"""So few texts are looked at whether or not the list has them."""
_DEEPEST = 5
"""How deep texts are in what is sent: a risk of a step of a plan. Anything deeper is refused later."""
_AS_IS = frozenset({"id", "verify", "depends_on", "status", "priority", "owner", "evidence"})
"""Fields that are no text to be read. A check must stay what it was when it was approved."""


def hide_secrets(command: Command, before: TodoList) -> Command:
    """Return the command without what looks like a key.

    What the list has already was looked at when it came: with 2 of 50 todos changed, that is most of the text.
    """
    sent = {name: value for name in _TEXTS if (value := getattr(command, name, None)) is not None}
    texts = _collect_texts(sent) if sent else []
    if len(texts) > _FEW:
        known = {text for todo in before.items.values() for text in (todo.content, todo.active_form)}
        texts = [text for text in texts if text not in known]
    text = _APART.join(texts)
    if not may_have_secret(text):
        return command
    from headway.core.secrets import Redactor

    redacted = Redactor()
    # All at once: "replace 50 items in memory, with secret words" of `make bench` takes 1.3 times as long without this.
    if redacted(text) == text:
        return command
    safe = copy(command)
    for name, value in sent.items():
        setattr(safe, name, _hide(value, redacted))
    return safe


def _collect_texts(sent: object) -> list[str]:
    """Return all texts in what was sent, level by level."""
    texts, level = list[str](), [sent]
    for _ in range(_DEEPEST + 1):
        below = list[object]()
        for value in level:
            if isinstance(value, str):
                texts.append(value)
            elif isinstance(value, list | tuple):
                below += cast("Sequence[object]", value)
            else:
                below += _list_texts(value).values()
        level = below
    return texts


def _list_texts(value: object) -> dict[Any, object]:
    """Return the fields of a mapping or dataclass that may be read as text."""
    if isinstance(value, dict | Mapping):  # a dict is told at once
        fields = cast("Mapping[object, object]", value)
    else:
        fields = to_fields(value) if is_dataclass(value) and not isinstance(value, type) else {}
    return {name: part for name, part in fields.items() if name not in _AS_IS}


def _hide(value: object, redacted: Callable[[str], str], depth: int = _DEEPEST) -> object:
    if isinstance(value, str):
        return redacted(value)
    if not depth:
        return value
    if isinstance(value, list | tuple):
        parts = [_hide(part, redacted, depth - 1) for part in cast("Sequence[object]", value)]
        return parts if isinstance(value, list) else tuple(parts)
    texts = {name: _hide(part, redacted, depth - 1) for name, part in _list_texts(value).items()}
    if isinstance(value, dict):
        found = copy(cast("dict[object, object]", value))  # of its own kind: it may know of fields that came twice
        found.update(texts)
        return found
    if isinstance(value, Mapping):
        return {**cast("Mapping[object, object]", value), **texts}
    return cast("object", replace(cast("Any", value), **texts)) if texts else value
