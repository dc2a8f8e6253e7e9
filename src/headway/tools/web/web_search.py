"""`web_search`: pages on a subject, from the provider that the person configured; without one there is no such tool."""

from __future__ import annotations

from pydantic import Field, field_validator

from headway.core.exact_text import exact_line
from headway.core.text import neutralize, sanitize_for_display
from headway.tools.base import Context, Preview, Tool, ToolInput, ToolResult, read_description
from headway.tools.effects import Effect
from headway.tools.web.addresses import does_host_match
from headway.tools.web.search_providers import SearchProvider, SearchResult, find_search_provider

__all__ = ["WebSearch", "WebSearchInput", "find_search_provider"]

_SNIPPET_CHARS = 500


class WebSearchInput(ToolInput):
    query: str = Field(max_length=400, description="What to search for")
    count: int = Field(8, ge=1, le=20, description="How many results")

    @field_validator("query")
    @classmethod
    def _not_blank(cls, query: str) -> str:
        if not query.strip():
            raise ValueError("Must not be blank")
        return query


class WebSearch(Tool[WebSearchInput]):
    name = "web_search"
    description = read_description(__file__)
    input = WebSearchInput
    effect = Effect.NETWORK

    def __init__(self, provider: SearchProvider) -> None:
        self.provider = provider

    def host(self, call: WebSearchInput) -> str:
        return self.provider.host

    def subject(self, call: WebSearchInput) -> str:
        return self.provider.host

    def matches(self, pattern: str, call: WebSearchInput) -> bool:
        return does_host_match(pattern, self.provider.host)

    async def preview(self, call: WebSearchInput, context: Context) -> Preview:
        return Preview(f"Search the web for {exact_line(call.query)}", host=self.provider.host)

    async def run(self, call: WebSearchInput, context: Context) -> ToolResult:
        found = (await self.provider.search(call.query, call.count, context.limits))[: call.count]
        if not found:
            text = f"Nothing was found for '{neutralize(call.query)}'; try other words."
        else:
            text = "\n\n".join(_format_entry(number, one) for number, one in enumerate(found, 1))
        return ToolResult(text)


def _format_entry(number: int, found: SearchResult) -> str:
    lines = [f"{number}. {sanitize_for_display(found.title, 200) or 'no title'}", f"   {neutralize(found.url)}"]
    if found.snippet.strip():
        lines.append(f"   {sanitize_for_display(found.snippet.strip(), _SNIPPET_CHARS)}")
    return "\n".join(lines)
