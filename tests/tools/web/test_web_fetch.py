"""`web_fetch` against real servers: what it answers, refuses, follows and cuts."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from headway.tools.web.web_fetch import WebFetch

from .servers import HERE, PUBLIC, Names, context, fetched, moved, page, serving


@pytest.fixture
def tool() -> WebFetch:
    return WebFetch([HERE])


async def test_a_page_begins_with_its_address_status_and_type(tool: WebFetch, tmp_path: Path):
    html = "<title>Greeting</title><h1>Hello</h1><p>A <a href='/b'>link</a>."
    async with serving(page(html, "text/html; charset=utf-8")) as server:
        result = await fetched(tool, server.url("/a?q=1"), context(tmp_path))
    assert result.ok
    assert result.text == (
        f"{server.url('/a?q=1')} (200, text/html)\n\nGreeting\n\n# Hello\n\nA link ({server.url('/b')})."
    )


def test_a_model_is_told_of_one_field(tool: WebFetch):
    assert tool.parameters() == {
        "type": "object",
        "properties": {"url": {"type": "string", "maxLength": 2_000, "description": "http or https URL of the page"}},
        "required": ["url"],
        "additionalProperties": False,
    }


async def test_the_request_says_who_asks_and_nothing_else(
    tool: WebFetch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    import headway

    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    (tmp_path / "netrc").write_text(f"machine {HERE} login me password secret\n")
    async with serving(page("x", headers=["Set-Cookie: a=b"])) as server:
        assert (await fetched(tool, server.url(), context(tmp_path))).ok
        assert (await fetched(tool, server.url(), context(tmp_path))).ok
    for request in server.requests:
        lines = dict(line.split(": ", 1) for line in request.lower().splitlines()[1:] if line)
        assert lines["user-agent"] == f"headway/{headway.__version__}"
        assert lines["host"] == f"{HERE}:{server.port}"
        assert lines["accept-encoding"] == "gzip, identity"
        assert not {"cookie", "authorization", "referer"} & set(lines)


async def test_text_and_json_come_as_they_are_without_control_characters(tool: WebFetch, tmp_path: Path):
    for kind, body, text in [
        ("text/plain", "a\tb\r\n  c\x1b[31m\u202ed\x07\n", "a\tb\n  c[31md"),
        ("application/json", '{"a": "<b>"}', '{"a": "<b>"}'),
        ("application/vnd.api+json", "[]", "[]"),
        ("application/x-yaml", "a: 1", "a: 1"),
        ("image/svg+xml", "<svg/>", "<svg/>"),
        (None, "plain", "plain"),
        (None, "<!DOCTYPE html><p>a<p>b", "a\n\nb"),
        ("application/octet-stream", "#!/bin/sh\n", "#!/bin/sh"),
    ]:
        async with serving(page(body, kind)) as server:
            result = await fetched(tool, server.url(), context(tmp_path))
        assert result.text == f"{server.url()} (200, {kind or 'no type'})\n\n{text}"
        assert result.ok


async def test_what_is_no_text_is_declined_with_type_and_size(tool: WebFetch, tmp_path: Path):
    for kind in ("image/png", "application/pdf", "application/octet-stream", None):
        async with serving(page(b"\x89PNG\0\0" + bytes(100), kind)) as server:
            result = await fetched(tool, server.url(), context(tmp_path))
        assert not result.ok
        assert (
            result.text
            == f"{server.url()} (200, {kind or 'no type'})\n\n[This is not text (106 bytes), so it was not read.]"
        )
    async with serving(b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\n\r\n", endless=b"x" * 1_000) as server:
        assert "unknown size" in (await fetched(tool, server.url(), context(tmp_path))).text


async def test_an_error_status_is_no_success_but_its_text_is_shown_in_short(tool: WebFetch, tmp_path: Path):
    async with serving(page("<h1>Not here</h1>" + "x" * 9_000, "text/html", "404 Not Found")) as server:
        result = await fetched(tool, server.url(), context(tmp_path))
    assert not result.ok
    assert result.text.startswith(f"{server.url()} (404, text/html)\n\n# Not here")
    assert len(result.text) < 2_200


async def test_no_content_says_so(tool: WebFetch, tmp_path: Path):
    async with serving(b"HTTP/1.1 204 No Content\r\n\r\n") as server:
        result = await fetched(tool, server.url(), context(tmp_path))
    assert result.ok
    assert result.text == f"{server.url()} (204, no type)\n\n[The page contains no text.]"


async def test_chunks_and_gzip_are_put_together(tool: WebFetch, tmp_path: Path):
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunked = head + b"2\r\nab\r\n1\r\nc\r\n0\r\n\r\n"
    packed = page(gzip.compress("中文".encode()), headers=["Content-Encoding: gzip"])
    trailing = page(gzip.compress(b"abc") + b"junk", headers=["Content-Encoding: GZIP"])
    async with serving(chunked, packed, trailing) as server:
        texts = [(await fetched(tool, server.url(), context(tmp_path))).text.split("\n\n")[1] for _ in range(3)]
    assert texts == ["abc", "中文", "abc"]


async def test_an_endless_page_is_cut_at_the_limit(tool: WebFetch, tmp_path: Path):
    async with serving(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n", endless="中".encode() * 1_000) as server:
        result = await fetched(tool, server.url(), context(tmp_path, fetch_bytes=10_000))
    assert result.ok
    assert result.text.endswith("\n\n[The page is longer than 10,000 bytes; the rest was not read.]")
    assert result.text.count("中") == 3_333


async def test_a_gzip_bomb_is_stopped_at_the_limit(tool: WebFetch, tmp_path: Path):
    bomb = gzip.compress(b"a" * 50_000_000)
    async with serving(page(bomb, headers=["Content-Encoding: gzip"])) as server:
        result = await fetched(tool, server.url(), context(tmp_path, fetch_bytes=20_000))
    assert result.text.count("a") < 20_100
    assert "longer than 20,000 bytes" in result.text


async def test_gzip_that_never_gives_anything_is_stopped_too(tool: WebFetch, tmp_path: Path):
    import zlib

    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Encoding: gzip\r\n\r\n"
    packer = zlib.compressobj(wbits=31)
    begin = packer.compress(b"x") + packer.flush(zlib.Z_FULL_FLUSH)
    async with serving(head + begin, endless=b"\x00\x00\x00\xff\xff" * 1_000) as server:
        result = await fetched(tool, server.url(), context(tmp_path, fetch_bytes=20_000))
    assert "longer than 20,000 bytes" in result.text


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (page("x", headers=["Content-Encoding: br"]), "uses a compression that was not requested (br)"),
        (page("x", headers=["Content-Encoding: gzip, gzip"]), "uses a compression that was not requested (gzip, gzip)"),
        (page(gzip.compress(b"abc" * 99)[:20], headers=["Content-Encoding: gzip"]), "it is incomplete"),
        (page("no gzip", headers=["Content-Encoding: gzip"]), "sent an invalid answer"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", "sent an invalid answer"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\nabc", "sent an invalid answer"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"y" * 300_000, "sent an invalid answer"),
        (b"garbage\r\n\r\n", "sent an invalid answer"),
        (b"", "sent an invalid answer"),
    ],
)
async def test_a_broken_answer_is_one_plain_sentence(tool: WebFetch, tmp_path: Path, answer: bytes, why: str):
    async with serving(answer) as server:
        result = await fetched(tool, server.url(), context(tmp_path))
    assert not result.ok
    assert why in result.text
    assert "\n" not in result.text


async def test_more_than_the_promised_length_is_ignored(tool: WebFetch, tmp_path: Path):
    async with serving(page("abc") + b"more") as server:
        assert (await fetched(tool, server.url(), context(tmp_path))).text.endswith("\n\nabc")


async def test_a_server_that_drips_is_given_up(tool: WebFetch, tmp_path: Path):
    async with serving(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n", drip=b".") as server:
        result = await fetched(tool, server.url(), context(tmp_path, fetch_seconds=0.3))
    assert not result.ok
    assert result.text == f"{HERE}:{server.port} took longer than 0.3 seconds, so the request was stopped."


async def test_a_closed_port_and_an_unknown_host_are_plain_sentences(tool: WebFetch, tmp_path: Path):
    import socket

    with socket.create_server((HERE, 0)) as gone:
        port = gone.getsockname()[1]
    result = await fetched(tool, f"http://{HERE}:{port}/", context(tmp_path))
    assert result.text.startswith(f"Could not connect to {HERE}:{port}: the connection was refused.")

    async def unknown(host: str, port: int) -> list[str]:
        raise socket.gaierror(socket.EAI_NONAME, "unknown")

    async def down(host: str, port: int) -> list[str]:
        raise socket.gaierror(socket.EAI_AGAIN, "down")

    nowhere = "http://nowhere.example/"
    assert (
        "There is no host 'nowhere.example'"
        in (await fetched(WebFetch(lookup=unknown), nowhere, context(tmp_path))).text
    )
    assert "cannot be resolved right now" in (await fetched(WebFetch(lookup=down), nowhere, context(tmp_path))).text


async def test_the_next_address_is_tried_if_the_first_does_not_answer(tmp_path: Path):
    async with serving() as server:
        names = Names(two_example=[["127.0.0.99", HERE]])
        tool = WebFetch(["two.example"], lookup=names)
        assert (await fetched(tool, server.url(host="two.example"), context(tmp_path))).ok
    assert server.connections == 1


class TestRedirects:
    async def test_on_the_same_site_are_followed(self, tool: WebFetch, tmp_path: Path):
        async with serving(moved("/b"), moved("c?d", "308 Permanent Redirect"), page("there")) as server:
            server.answers[1] = moved(server.url("/x/c?d"), "308 Permanent Redirect")
            result = await fetched(tool, server.url("/a"), context(tmp_path))
        assert result.text == f"{server.url('/x/c?d')} (200, text/plain)\n\nthere"
        assert [request.split()[1] for request in server.requests] == ["/a", "/b", "/x/c?d"]

    async def test_in_a_circle_are_given_up(self, tool: WebFetch, tmp_path: Path):
        async with serving(moved("/a")) as server:
            result = await fetched(tool, server.url("/a"), context(tmp_path))
        assert not result.ok
        assert "redirects more than 5 times" in result.text
        assert server.connections == 6

    async def test_to_another_host_are_told_and_not_followed(self, tool: WebFetch, tmp_path: Path):
        async with serving() as other, serving(moved(other.url("/x"))) as server:
            result = await fetched(tool, server.url(), context(tmp_path))
        assert not result.ok
        assert result.text == (
            f"{server.url()} redirects to {other.url('/x')}, on another host; nothing was read."
            " Call web_fetch with that address if you want it."
        )
        assert other.connections == 0

    @pytest.mark.parametrize(
        "target", ["file:///etc/passwd", "ftp://127.0.0.1/", "http://me:pw@127.0.0.1/", "http://[", "//" + "a" * 3_000]
    )
    async def test_to_what_is_no_web_address_are_refused(self, tool: WebFetch, tmp_path: Path, target: str):
        async with serving(moved(target)) as server:
            result = await fetched(tool, server.url(), context(tmp_path))
        assert not result.ok
        assert "which was not followed" in result.text
        assert server.connections == 1

    async def test_to_a_name_that_has_become_private_are_refused(self, tmp_path: Path):
        async with serving(moved("/next")) as server:
            names = Names(pinned_example=[[HERE], ["127.0.0.2"]])
            tool = WebFetch([HERE], lookup=names)
            result = await fetched(tool, server.url(host="pinned.example"), context(tmp_path))
        assert "'pinned.example' leads to 127.0.0.2, which is a private or special address" in result.text
        assert (server.connections, names.asked) == (1, ["pinned.example"] * 2)

    async def test_without_a_target_are_an_answer_like_others(self, tool: WebFetch, tmp_path: Path):
        async with serving(page("several", status="302 Found")) as server:
            result = await fetched(tool, server.url(), context(tmp_path))
        assert not result.ok
        assert result.text.endswith("(302, text/plain)\n\nseveral")


class TestPrivateAddresses:
    async def nothing_came(self, tool: WebFetch, host: str, tmp_path: Path) -> str:
        async with serving() as server:
            result = await fetched(tool, server.url(host=host), context(tmp_path))
        assert not result.ok
        assert server.connections == 0
        return result.text

    async def test_are_refused_behind_public_names(self, tmp_path: Path):
        text = await self.nothing_came(WebFetch(lookup=Names(innocent_example=[[HERE]])), "innocent.example", tmp_path)
        assert "'innocent.example' leads to 127.0.0.1" in text
        assert "private_hosts" in text

    async def test_are_refused_even_beside_public_ones(self, tmp_path: Path):
        for found in ([PUBLIC, HERE], [HERE, PUBLIC], [PUBLIC, "::ffff:127.0.0.1"], [PUBLIC, "fe80::1%eth0"]):
            await self.nothing_came(WebFetch(lookup=Names(both_example=[found])), "both.example", tmp_path)

    async def test_of_this_machine_are_refused(self, tmp_path: Path):
        await self.nothing_came(WebFetch(), "localhost", tmp_path)
        await self.nothing_came(WebFetch(), HERE, tmp_path)

    async def test_are_reached_if_the_name_is_allowed(self, tmp_path: Path):
        async with serving() as server:
            tool = WebFetch(["Dev.Example."], lookup=Names(dev_example=[[HERE]]))
            assert (await fetched(tool, server.url(host="dev.example"), context(tmp_path))).ok
        assert f"Host: dev.example:{server.port}" in server.requests[0]

    async def test_are_looked_up_once_so_that_a_changing_name_gains_nothing(self, tmp_path: Path):
        async with serving() as server:
            names = Names(rebinding_example=[[HERE], ["10.0.0.1"]])
            assert (
                await fetched(WebFetch([HERE], lookup=names), server.url(host="rebinding.example"), context(tmp_path))
            ).ok
        assert (server.connections, len(names.asked)) == (1, 1)


async def test_pages_are_decoded_as_they_say_or_as_they_are(tool: WebFetch, tmp_path: Path):
    text = "你好，世界"
    for kind, body in [
        ("text/html; charset=GB2312", text.encode("gb18030")),
        ('text/html; Charset="gbk"', text.encode("gb18030")),
        ("text/html", b'<meta charset="gbk">' + text.encode("gb18030")),
        ("text/html", b"<meta http-equiv=Content-Type content='text/html; charset=big5'>" + text.encode("big5")),
        ("text/html", text.encode()),
        ("text/html", text.encode("gb18030")),
        ("text/plain; charset=latin1", b"\xef\xbb\xbf" + text.encode()),
        ("text/plain", b"\xff\xfe" + text.encode("utf-16-le")),
        ("text/plain; charset=nonsense", text.encode()),
        ("text/plain; charset=punycode", text.encode()),
        ("text/plain; charset=unicode_escape", text.encode()),
        ("text/html; charset=shift_jis", text.replace("你", "世").encode("cp932")),
    ]:
        async with serving(page(body, kind)) as server:
            result = await fetched(tool, server.url(), context(tmp_path))
        assert result.text.split("\n\n")[1] in (text, text.replace("你", "世")), kind
    async with serving(page(b"caf\xe9 \xff", "text/plain")) as server:
        assert (await fetched(tool, server.url(), context(tmp_path))).text.endswith("\n\ncafé ÿ")


def test_importing_the_tool_loads_no_web_library():
    code = (
        "import sys, headway.tools.web.web_fetch, headway.tools.web.web_search;"
        "print([m for m in ('httpx2', 'httpcore2', 'idna', 'h11') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
