"""`web_search`: pages on a subject, from the provider that the person configured; without one there is no such tool."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from json import dumps
from typing import Protocol, cast
from urllib.parse import urlencode

from pydantic import Field, field_validator

from headway.core.errors import HeadwayError
from headway.core.exact_text import exact_line
from headway.core.json_text import BadJson, parse_json
from headway.core.text import neutralize, sanitize_for_display
from headway.tools.base import Context, Preview, Tool, ToolFault, ToolInput, ToolResult, read_description
from headway.tools.effects import Effect
from headway.tools.limits import Limits
from headway.tools.web.addresses import LONGEST, BadAddress, WebAddress, does_host_match, parse_address
from headway.tools.web.download import HttpAnswer, HttpRequest, download, with_deadline
from headway.tools.web.host_policy import HostPolicy
from headway.tools.web.page_text import decode_page
from headway.tools.web.readable import to_readable_text

# Who searches the web for the model: Brave, Tavily or a SearXNG server, each asked over its own API.

BRAVE = "https://api.search.brave.com/res/v1/web/search"
TAVILY = "https://api.tavily.com/search"


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A page that a search found."""

    title: str
    url: str
    snippet: str


class SearchProvider(Protocol):
    @property
    def host(self) -> str:
        """Where the queries go; a person is asked about it."""
        ...

    async def search(self, query: str, count: int, limits: Limits) -> list[SearchResult]:
        """The pages found, best first. Raises `ToolFault`."""
        ...


@dataclass(frozen=True, slots=True)
class WebApi:
    """A search provider that is asked with one request and answers JSON."""

    name: str
    address: WebAddress
    ask: Callable[[WebAddress, str, int], HttpRequest]
    within: tuple[str, ...]
    """Names that lead to the list of results."""
    snippet: str
    """The field of a result that has a few words of the page."""
    refused: str
    """What to do if the provider refuses the request."""
    reach: HostPolicy
    marked_up: bool = False
    """Texts are HTML."""

    @property
    def host(self) -> str:
        return self.address.place

    async def search(self, query: str, count: int, limits: Limits) -> list[SearchResult]:
        request = self.ask(self.address, query, count)
        async with with_deadline(limits, self.address):
            answer = await download(request, self.reach, limits, lambda media_type: True)
        self._check(answer)
        return self._list_results(answer)[:count]

    def _check(self, answer: HttpAnswer) -> None:
        if answer.status == 200 and not answer.cut:
            return
        if answer.status in (401, 403):
            raise ToolFault(f"{self.name} refused the search ({answer.status}); ask the user to {self.refused}.")
        if answer.status == 429:
            raise ToolFault(
                f"{self.name} is limiting searches for now ({answer.status}); wait, or continue without searching."
            )
        what = "an answer that is too long" if answer.cut else f"status {answer.status} instead of results"
        raise ToolFault(f"{self.name} sent {what}; try again later, or continue without searching.")

    def _list_results(self, answer: HttpAnswer) -> list[SearchResult]:
        try:
            value = parse_json(decode_page(answer.body or b"", "utf-8"))
        except BadJson as error:
            raise ToolFault(f"{self.name} sent an answer that is not valid JSON: {error}.") from None
        for name in self.within:
            value = _to_mapping(value).get(name)
        entries = cast("list[object]", value) if isinstance(value, list) else []
        return [found for entry in entries if (found := self._to_result(_to_mapping(entry)))]

    def _to_result(self, entry: Mapping[str, object]) -> SearchResult | None:
        title, url, snippet = (entry.get(name) for name in ("title", "url", self.snippet))
        if not isinstance(url, str) or not url.lower().startswith(("http://", "https://")) or len(url) > LONGEST:
            return None
        return SearchResult(self._to_plain_text(title), url, self._to_plain_text(snippet))

    def _to_plain_text(self, text: object) -> str:
        if not isinstance(text, str):
            return ""
        return " ".join((to_readable_text(text) if self.marked_up else text).split())


def find_search_provider(spec: str, environ: Mapping[str, str]) -> SearchProvider:
    """The provider that `brave`, `tavily` or `searxng:URL` names. Raises `HeadwayError` if a key is missing."""
    name, _, rest = spec.strip().partition(":")
    match name.strip().lower():
        case "brave" if not rest:
            return make_brave(_find_key("BRAVE_API_KEY", environ), parse_address(BRAVE))
        case "tavily" if not rest:
            return make_tavily(_find_key("TAVILY_API_KEY", environ), parse_address(TAVILY))
        case "searxng":
            return _make_searxng(rest)
        case _:
            raise HeadwayError(
                f"'{sanitize_for_display(spec)}' is not a search provider; set "
                "web_search to brave, tavily or searxng:URL."
            )


def make_brave(key: str, address: WebAddress, reach: HostPolicy | None = None) -> WebApi:
    def ask(address: WebAddress, query: str, count: int) -> HttpRequest:
        asked = _add_query(address, q=query, count=str(count), text_decorations="false")
        return HttpRequest(asked, {"Accept": "application/json", "X-Subscription-Token": key})

    return WebApi(
        "Brave",
        address,
        ask,
        ("web", "results"),
        "description",
        "check BRAVE_API_KEY",
        reach or HostPolicy(),
        marked_up=True,
    )


def make_tavily(key: str, address: WebAddress, reach: HostPolicy | None = None) -> WebApi:
    def ask(address: WebAddress, query: str, count: int) -> HttpRequest:
        body = dumps({"query": query, "max_results": count}).encode()
        return HttpRequest(address, {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}, body)

    return WebApi("Tavily", address, ask, ("results",), "content", "check TAVILY_API_KEY", reach or HostPolicy())


def _make_searxng(url: str) -> WebApi:
    try:
        server = parse_address(url)
        address = parse_address(f"{server.url.partition('?')[0].rstrip('/')}/search")
    except BadAddress as error:
        raise HeadwayError(f"The address of the SearXNG server is wrong: {error}; correct web_search.") from None

    def ask(address: WebAddress, query: str, count: int) -> HttpRequest:
        return HttpRequest(_add_query(address, q=query, format="json"), {"Accept": "application/json"})

    refused = "allow json among the search formats in that server's settings.yml"
    # The person named this server, so it may be one of their own.
    return WebApi("SearXNG", address, ask, ("results",), "content", refused, HostPolicy(frozenset({address.host})))


def _find_key(name: str, environ: Mapping[str, str]) -> str:
    key = environ.get(name, "").strip()
    if not key or not key.isascii() or not key.isprintable():
        raise HeadwayError(f"Web search needs an API key; set the environment variable {name}.")
    return key


def _add_query(address: WebAddress, **fields: str) -> WebAddress:
    return WebAddress(address.scheme, address.host, address.port, f"{address.target}?{urlencode(fields)}")


def _to_mapping(value: object) -> Mapping[str, object]:
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


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
