"""Markdown as rich draws it, with headings at the left, where the text is, and nothing of the text left out.

rich does not show HTML, addresses of pictures, and what a reference stands for; in an answer they are what was meant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from markdown_it import MarkdownIt
from rich.markdown import Heading, Markdown, MarkdownElement
from rich.text import Text

from headway.core.text import neutralize_lines

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult


class _Heading(Heading):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(self.text.plain, "bold underline" if self.tag == "h1" else "bold")


class AnswerMarkdown(Markdown):
    """What a model said. It is neutralised after Markdown has read it, since `&#8238;` becomes a character."""

    def __init__(self, text: str) -> None:
        super().__init__("", hyperlinks=False, code_theme="ansi_dark")
        parser = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"])
        parser.disable(["reference", "image"])
        self.markup = text
        self.parsed = parser.parse(text)
        for token in self.parsed:
            for part in token.children or ():
                part.content = neutralize_lines(part.content)
                part.attrs = {name: neutralize_lines(str(value)) for name, value in part.attrs.items()}

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {**Markdown.elements, "heading_open": _Heading}
