"""`web_fetch`: one page from the internet as text to read.

The address is checked before anyone is asked, the host's IP addresses before each connection, and so is every redirect.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydantic import Field, field_validator

from headway.core.exact_text import exact_line
from headway.core.text import neutralize, sanitize_for_display, truncate
from headway.tools.base import Context, Preview, Tool, ToolFault, ToolInput, ToolResult, read_description
from headway.tools.effects import Effect
from headway.tools.web.addresses import LONGEST, BadAddress, WebAddress, does_host_match, parse_address
from headway.tools.web.download import HttpAnswer, HttpRequest, download, with_deadline
from headway.tools.web.host_policy import HostPolicy, Lookup, look_up_host, make_host_policy
from headway.tools.web.page_text import decode_page, to_visible_text
from headway.tools.web.readable import to_readable_text

if TYPE_CHECKING:
    import ssl

    from headway.tools.limits import Limits

_MOST_REDIRECTS = 5
_ERROR_CHARS = 2_000
"""Of a page that only says that something went wrong."""
_HTML = frozenset({"text/html", "application/xhtml+xml"})
_UNTOLD = frozenset({"", "application/octet-stream", "binary/octet-stream", "unknown/unknown"})
"""Types that say nothing, so that the content is looked at."""
_TEXTS = ("json", "xml", "yaml", "toml", "javascript", "ecmascript", "typescript", "sql", "graphql", "x-sh", "ndjson")


class WebFetchInput(ToolInput):
    url: str = Field(max_length=LONGEST, description="http or https URL of the page")

    @field_validator("url")
    @classmethod
    def _readable_address(cls, url: str) -> str:
        parse_address(url)
        return url


class WebFetch(Tool[WebFetchInput]):
    name = "web_fetch"
    description = read_description(__file__)
    input = WebFetchInput
    effect = Effect.NETWORK

    def __init__(
        self, private_hosts: Sequence[str] = (), *, lookup: Lookup = look_up_host, tls: ssl.SSLContext | None = None
    ) -> None:
        self._reach = make_host_policy(private_hosts, lookup, tls)

    def host(self, call: WebFetchInput) -> str:
        return parse_address(call.url).place

    def subject(self, call: WebFetchInput) -> str:
        return self.host(call)

    def matches(self, pattern: str, call: WebFetchInput) -> bool:
        return does_host_match(pattern, self.host(call))

    async def preview(self, call: WebFetchInput, context: Context) -> Preview:
        # No lookup before the yes: a name alone can carry data away.
        self._reach.check(parse_address(call.url))
        return Preview(f"Fetch {exact_line(call.url)}", host=self.host(call))

    async def run(self, call: WebFetchInput, context: Context) -> ToolResult:
        address = parse_address(call.url)
        async with with_deadline(context.limits, address):
            answer = await _follow_redirects(address, self._reach, context.limits)
        # A large page takes a while to read, and others may be at work.
        return await asyncio.to_thread(_to_result, answer, context.limits)


async def _follow_redirects(address: WebAddress, reach: HostPolicy, limits: Limits) -> HttpAnswer:
    """The answer at the end of redirects that stay on the site. Raises `ToolFault`."""
    for _ in range(_MOST_REDIRECTS + 1):
        answer = await download(HttpRequest(address), reach, limits, _is_text)
        if answer.location is None:
            return answer
        try:
            target = parse_address(answer.location, base=address)
        except BadAddress as error:
            raise ToolFault(
                f"{address.url} redirects to '{sanitize_for_display(answer.location, 200)}', "
                f"which was not followed: {error}."
            ) from None
        if not address.is_same_site(target):
            raise ToolFault(
                f"{address.url} redirects to {target.url}, on another host; nothing was read."
                " Call web_fetch with that address if you want it."
            )
        address = target
    raise ToolFault(f"{address.url} redirects more than {_MOST_REDIRECTS} times; nothing was read.")


def _to_result(answer: HttpAnswer, limits: Limits) -> ToolResult:
    ok = 200 <= answer.status < 300
    head = f"{answer.address.url} ({answer.status}, {neutralize(answer.media_type) or 'no type'})"
    text = None if answer.body is None else _to_text(answer, answer.body)
    if text is None:
        size = "unknown size" if answer.size is None else f"{answer.size:,} bytes"
        return ToolResult(f"{head}\n\n[This is not text ({size}), so it was not read.]", ok=False)
    parts = [head, text if ok else truncate(text, _ERROR_CHARS)]
    if not text.strip():
        parts[1] = "[The page contains no text.]"
    if answer.cut:
        parts.append(f"[The page is longer than {limits.fetch_bytes:,} bytes; the rest was not read.]")
    return ToolResult("\n\n".join(parts), ok=ok)


def _is_text(media_type: str) -> bool:
    """Whether something of this type may be text."""
    kind, _, name = media_type.partition("/")
    return media_type in _UNTOLD or kind == "text" or any(part in name for part in _TEXTS) or name in ("rtf", "x-tex")


def _to_text(answer: HttpAnswer, body: bytes) -> str | None:
    """The text to read; None if the content is no text after all."""
    if answer.media_type in _UNTOLD and b"\0" in body[:4_096]:
        return None
    text = decode_page(body, answer.charset, cut=answer.cut)
    beginning = text[:1_000].lstrip().lower()
    if answer.media_type in _HTML or (
        answer.media_type in _UNTOLD and beginning.startswith(("<!doctype html", "<html"))
    ):
        return to_readable_text(text, answer.address.url)
    return to_visible_text(text).strip("\n")
