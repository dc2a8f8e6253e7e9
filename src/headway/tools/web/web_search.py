"""`web_search`: pages on a subject, from the provider that the person configured; without one there is no such tool."""

from __future__ import annotations

from pydantic import Field, field_validator

from headway.core.exact_text import exact_line
from headway.core.text import neutral, shown
from headway.tools.base import Context, Preview, Tool, ToolInput, ToolResult, description_beside
from headway.tools.effects import Effect
from headway.tools.web.addresses import host_matches
from headway.tools.web.search_providers import Found, SearchProvider, search_provider

__all__ = ["WebSearch", "WebSearchInput", "search_provider"]

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
    description = description_beside(__file__)
    input = WebSearchInput
    effect = Effect.NETWORK

    def __init__(self, provider: SearchProvider) -> None:
        self.provider = provider

    def host(self, call: WebSearchInput) -> str:
        return self.provider.host

    def subject(self, call: WebSearchInput) -> str:
        return self.provider.host

    def matches(self, pattern: str, call: WebSearchInput) -> bool:
        return host_matches(pattern, self.provider.host)

    async def preview(self, call: WebSearchInput, context: Context) -> Preview:
        return Preview(f"Search the web for {exact_line(call.query)}", host=self.provider.host)

    async def run(self, call: WebSearchInput, context: Context) -> ToolResult:
        found = (await self.provider.search(call.query, call.count, context.limits))[: call.count]
        if not found:
            text = f"Nothing was found for '{neutral(call.query)}'; try other words."
        else:
            text = "\n\n".join(_entry(number, one) for number, one in enumerate(found, 1))
        return ToolResult(text)


def _entry(number: int, found: Found) -> str:
    lines = [f"{number}. {shown(found.title, 200) or 'no title'}", f"   {neutral(found.url)}"]
    if found.snippet.strip():
        lines.append(f"   {shown(found.snippet.strip(), _SNIPPET_CHARS)}")
    return "\n".join(lines)
