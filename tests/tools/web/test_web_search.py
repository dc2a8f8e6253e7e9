"""`web_search`: what is asked of each provider, and what becomes of its answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headway.core.errors import HeadwayError
from headway.tools.base import ToolFault
from headway.tools.web.addresses import parse_address
from headway.tools.web.host_policy import make_host_policy
from headway.tools.web.web_search import SearchProvider, WebSearch, find_search_provider, make_brave, make_tavily

from .servers import HERE, Server, context, page, serving

KEY = "key-of-the-person-0123456789"


def answer(value: object, status: str = "200 OK") -> bytes:
    return page(json.dumps(value), "application/json", status)


async def searched(
    provider: SearchProvider, tmp_path: Path, query: str = "C++ 排序", count: int = 8, **limits: float
) -> str:
    tool = WebSearch(provider)
    result = await tool.run(tool.parse_input({"query": query, "count": count}), context(tmp_path, **limits))
    assert result.ok
    return result.text


def searxng(server: Server) -> SearchProvider:
    return find_search_provider(f"searxng:{server.url('/sub/')}", {})


async def test_brave_is_asked_with_the_key_in_its_header(tmp_path: Path):
    results = [
        {"title": "A &amp; <strong>B</strong>", "url": "https://a.example/", "description": "It&#x27;s\n<b>x</b>"}
    ]
    async with serving(answer({"web": {"results": results}})) as server:
        provider = make_brave(KEY, parse_address(server.url("/res/v1/web/search")), make_host_policy([HERE]))
        text = await searched(provider, tmp_path, count=3)
    assert text == "1. A & B\n   https://a.example/\n   It's x"
    assert server.requests[0].startswith(
        "GET /res/v1/web/search?q=C%2B%2B+%E6%8E%92%E5%BA%8F&count=3&text_decorations=false HTTP/1.1"
    )
    assert f"X-Subscription-Token: {KEY}" in server.requests[0]


async def test_tavily_is_asked_by_post_with_the_key_as_bearer(tmp_path: Path):
    results = [{"title": "List<int>", "url": "https://a.example/", "content": "x < y", "score": 1}]
    async with serving(answer({"results": results})) as server:
        text = await searched(
            make_tavily(KEY, parse_address(server.url("/search")), make_host_policy([HERE])), tmp_path
        )
    assert text == "1. List<int>\n   https://a.example/\n   x < y"
    assert server.requests[0].startswith("POST /search HTTP/1.1")
    assert f"Authorization: Bearer {KEY}" in server.requests[0]
    assert json.loads(server.requests[0].split("\r\n\r\n")[1]) == {"query": "C++ 排序", "max_results": 8}


async def test_a_searxng_server_of_the_person_may_be_private(tmp_path: Path):
    results = [{"title": f"T{n}", "url": f"https://a.example/{n}", "content": ""} for n in range(30)]
    async with serving(answer({"results": results})) as server:
        text = await searched(searxng(server), tmp_path, count=2)
    assert text == "1. T0\n   https://a.example/0\n\n2. T1\n   https://a.example/1"
    assert server.requests[0].startswith("GET /sub/search?q=C%2B%2B+%E6%8E%92%E5%BA%8F&format=json HTTP/1.1")


async def test_results_are_one_harmless_line_each(tmp_path: Path):
    results: list[object] = [
        {"title": "two\nlines\x1b[31m", "url": "https://a.example/\u202e", "content": "x\u2028y" + "z" * 900},
        {"title": "no address"},
        {"title": "bad", "url": "javascript:alert(1)"},
        {"title": None, "url": "https://b.example/", "content": 7},
        "nonsense",
    ]
    async with serving(answer({"results": results})) as server:
        text = await searched(searxng(server), tmp_path)
    lines = text.split("\n")
    assert lines[0] == "1. two lines␛[31m"
    assert lines[2].startswith("   x y") and len(lines[2]) < 520
    assert lines[4:] == ["2. no title", "   https://b.example/"]
    assert "\u202e" not in text and "alert" not in text


@pytest.mark.parametrize("value", [{"results": []}, {"results": None}, {}, [], None, "x", {"results": {"a": 1}}])
async def test_nothing_found_is_said(tmp_path: Path, value: object):
    async with serving(answer(value)) as server:
        assert await searched(searxng(server), tmp_path, "a\nb") == "Nothing was found for 'a b'; try other words."


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (answer({}, "401 Unauthorized"), "refused the search (401); ask the user to check BRAVE_API_KEY"),
        (answer({}, "403 Forbidden"), "refused the search (403)"),
        (answer({}, "429 Too Many Requests"), "limiting searches for now (429)"),
        (answer({}, "500 Oops"), "sent status 500 instead of results"),
        (page(status="302 Found", headers=["Location: https://elsewhere.example/"]), "sent status 302"),
        (page("<html>", "text/html"), "sent an answer that is not valid JSON"),
        (page("[" * 5_000, "application/json"), "an answer that is too long"),
        (page("[" * 900, "application/json"), "not valid JSON"),
    ],
)
async def test_a_failed_search_is_one_sentence_without_the_key(tmp_path: Path, reply: bytes, why: str):
    async with serving(reply) as server:
        provider = make_brave(KEY, parse_address(server.url()), make_host_policy([HERE]))
        with pytest.raises(ToolFault) as fault:
            await searched(provider, tmp_path, fetch_bytes=1_000)
    assert why in str(fault.value)
    assert KEY not in str(fault.value) and KEY not in repr(provider)
    assert server.connections == 1


async def test_the_person_is_asked_about_the_providers_host(tmp_path: Path):
    tool = WebSearch(find_search_provider("brave", {"BRAVE_API_KEY": KEY}))
    call = tool.parse_input({"query": "x\ny"})
    assert tool.host(call) == tool.subject(call) == "api.search.brave.com"
    assert tool.matches("*.brave.com", call) and not tool.matches("*.tavily.com", call)
    preview = await tool.preview(call, context(tmp_path))
    assert (preview.line, preview.host) == ("Search the web for x␊y", "api.search.brave.com")
    assert find_search_provider("tavily", {"TAVILY_API_KEY": KEY}).host == "api.tavily.com"
    assert find_search_provider("searxng:http://localhost:8888", {}).host == "localhost:8888"


@pytest.mark.parametrize(
    ("spec", "environ", "why"),
    [
        ("brave", {}, "set the environment variable BRAVE_API_KEY"),
        ("tavily", {"TAVILY_API_KEY": "  "}, "set the environment variable TAVILY_API_KEY"),
        ("brave", {"BRAVE_API_KEY": "a\nb"}, "set the environment variable BRAVE_API_KEY"),
        ("google", {}, "'google' is not a search provider; set web_search to brave, tavily or searxng:URL"),
        ("brave:x", {}, "not a search provider"),
        ("searxng", {}, "address of the SearXNG server is wrong"),
        ("searxng:ftp://x", {}, "address of the SearXNG server is wrong"),
        ("searxng:http://me:pw@x", {}, "user name or password"),
    ],
)
def test_what_must_be_set_first_is_said(spec: str, environ: dict[str, str], why: str):
    with pytest.raises(HeadwayError) as error:
        find_search_provider(spec, environ)
    assert why in str(error.value)
    assert "pw" not in str(error.value)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"query": " \n"}, "- query: Must not be blank"),
        ({"query": "x" * 401}, "- query: Must have at most 400 characters"),
        ({"query": "x", "count": 0}, "- count: Must be at least 1"),
        ({"query": "x", "count": 21}, "- count: Must be at most 20"),
        ({}, "- query: Required"),
        ({"query": "x", "site": "y"}, "- site: Unknown field"),
    ],
)
def test_bad_arguments_are_refused(arguments: dict[str, object], why: str):
    tool = WebSearch(find_search_provider("searxng:http://localhost", {}))
    with pytest.raises(ToolFault) as fault:
        tool.parse_input(arguments)
    assert why in str(fault.value)
