"""Markdown as rich draws it, but with headings at the left, where the text is."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.markdown import Heading, Markdown, MarkdownElement
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult


class _Heading(Heading):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(self.text.plain, "bold underline" if self.tag == "h1" else "bold")


class Answer(Markdown):
    elements: ClassVar[dict[str, type[MarkdownElement]]] = {**Markdown.elements, "heading_open": _Heading}
