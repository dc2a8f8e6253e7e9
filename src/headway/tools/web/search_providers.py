"""Who searches the web for the model: Brave, Tavily or a SearXNG server, each asked over its own API.

Keys come from the environment, go to their provider's host alone, and stand in no message.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from json import dumps
from typing import Protocol, cast
from urllib.parse import urlencode

from headway.core.errors import HeadwayError
from headway.core.json_text import BadJson, read_json
from headway.core.text import shown
from headway.tools.base import ToolFault
from headway.tools.limits import Limits
from headway.tools.web.addresses import LONGEST, Address, BadAddress, read_address
from headway.tools.web.download import Answer, Request, download, in_time
from headway.tools.web.plain import decoded
from headway.tools.web.reach import Reach
from headway.tools.web.readable import readable

BRAVE = "https://api.search.brave.com/res/v1/web/search"
TAVILY = "https://api.tavily.com/search"


@dataclass(frozen=True, slots=True)
class Found:
    """A page that a search found."""

    title: str
    url: str
    snippet: str


class SearchProvider(Protocol):
    @property
    def host(self) -> str:
        """Where the queries go; a person is asked about it."""
        ...

    async def search(self, query: str, count: int, limits: Limits) -> list[Found]:
        """The pages found, best first. Raises `ToolFault`."""
        ...


@dataclass(frozen=True, slots=True)
class WebApi:
    """A search provider that is asked with one request and answers JSON."""

    name: str
    address: Address
    ask: Callable[[Address, str, int], Request]
    within: tuple[str, ...]
    """Names that lead to the list of results."""
    snippet: str
    """The field of a result that has a few words of the page."""
    refused: str
    """What to do if the provider refuses the request."""
    reach: Reach
    marked_up: bool = False
    """Texts are HTML."""

    @property
    def host(self) -> str:
        return self.address.place

    async def search(self, query: str, count: int, limits: Limits) -> list[Found]:
        request = self.ask(self.address, query, count)
        async with in_time(limits, self.address):
            answer = await download(request, self.reach, limits, lambda media_type: True)
        self._check(answer)
        return self._results(answer)[:count]

    def _check(self, answer: Answer) -> None:
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

    def _results(self, answer: Answer) -> list[Found]:
        try:
            value = read_json(decoded(answer.body or b"", "utf-8"))
        except BadJson as error:
            raise ToolFault(f"{self.name} sent an answer that is not valid JSON: {error}.") from None
        for name in self.within:
            value = _fields(value).get(name)
        entries = cast("list[object]", value) if isinstance(value, list) else []
        return [found for entry in entries if (found := self._found(_fields(entry)))]

    def _found(self, entry: Mapping[str, object]) -> Found | None:
        title, url, snippet = (entry.get(name) for name in ("title", "url", self.snippet))
        if not isinstance(url, str) or not url.lower().startswith(("http://", "https://")) or len(url) > LONGEST:
            return None
        return Found(self._plain(title), url, self._plain(snippet))

    def _plain(self, text: object) -> str:
        if not isinstance(text, str):
            return ""
        return " ".join((readable(text) if self.marked_up else text).split())


def search_provider(spec: str, environ: Mapping[str, str]) -> SearchProvider:
    """The provider that `brave`, `tavily` or `searxng:URL` names. Raises `HeadwayError` if a key is missing."""
    name, _, rest = spec.strip().partition(":")
    match name.strip().lower():
        case "brave" if not rest:
            return brave(_key("BRAVE_API_KEY", environ), read_address(BRAVE))
        case "tavily" if not rest:
            return tavily(_key("TAVILY_API_KEY", environ), read_address(TAVILY))
        case "searxng":
            return _searxng(rest)
        case _:
            raise HeadwayError(
                f"'{shown(spec)}' is not a search provider; set web_search to brave, tavily or searxng:URL."
            )


def brave(key: str, address: Address, reach: Reach | None = None) -> WebApi:
    def ask(address: Address, query: str, count: int) -> Request:
        asked = _with_query(address, q=query, count=str(count), text_decorations="false")
        return Request(asked, {"Accept": "application/json", "X-Subscription-Token": key})

    return WebApi(
        "Brave",
        address,
        ask,
        ("web", "results"),
        "description",
        "check BRAVE_API_KEY",
        reach or Reach(),
        marked_up=True,
    )


def tavily(key: str, address: Address, reach: Reach | None = None) -> WebApi:
    def ask(address: Address, query: str, count: int) -> Request:
        body = dumps({"query": query, "max_results": count}).encode()
        return Request(address, {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}, body)

    return WebApi("Tavily", address, ask, ("results",), "content", "check TAVILY_API_KEY", reach or Reach())


def _searxng(url: str) -> WebApi:
    try:
        server = read_address(url)
        address = read_address(f"{server.url.partition('?')[0].rstrip('/')}/search")
    except BadAddress as error:
        raise HeadwayError(f"The address of the SearXNG server is wrong: {error}; correct web_search.") from None

    def ask(address: Address, query: str, count: int) -> Request:
        return Request(_with_query(address, q=query, format="json"), {"Accept": "application/json"})

    refused = "allow json among the search formats in that server's settings.yml"
    # The person named this server, so it may be one of their own.
    return WebApi("SearXNG", address, ask, ("results",), "content", refused, Reach(frozenset({address.host})))


def _key(name: str, environ: Mapping[str, str]) -> str:
    key = environ.get(name, "").strip()
    if not key or not key.isascii() or not key.isprintable():
        raise HeadwayError(f"Web search needs an API key; set the environment variable {name}.")
    return key


def _with_query(address: Address, **fields: str) -> Address:
    return Address(address.scheme, address.host, address.port, f"{address.target}?{urlencode(fields)}")


def _fields(value: object) -> Mapping[str, object]:
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}
