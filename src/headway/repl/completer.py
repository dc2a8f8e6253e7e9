"""Completion as prompt_toolkit wants it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_toolkit.completion import CompleteEvent, Completer, Completion

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prompt_toolkit.document import Document

    from headway.cli.options import CommandContext


class SlashCompleter(Completer):
    def __init__(self, chosen: CommandContext) -> None:
        self._chosen = chosen

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        text = document.text_before_cursor
        if text[:1] not in ("/", "／") and "@" not in text:
            return
        from headway.repl.completion import complete

        for one in complete(text, self._chosen):
            yield Completion(one.text, one.start, display=one.display, display_meta=one.meta)
