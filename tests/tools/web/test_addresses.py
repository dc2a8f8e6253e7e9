"""Addresses are read strictly, in one way of writing each, and never lead to a private place unasked."""

from __future__ import annotations

import asyncio
import ipaddress
from ipaddress import ip_address
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.projects import temporary_folder
from tests.support.tables import check_rows

from headway.core.errors import HeadwayError
from headway.tools import Answer, Approvals, Executor, Question
from headway.tools.base import ToolFault
from headway.tools.web.addresses import BadAddress, does_host_match, parse_address
from headway.tools.web.host_policy import is_public
from headway.tools.web.web_fetch import WebFetch

from .servers import Names, context, fetched, serving


def test_every_address_has_one_way_of_writing():
    def check(text: str, url: str) -> None:
        assert parse_address(text).url == url
        assert parse_address(url).url == url

    check_rows(
        [
            ("HTTP://Example.COM", "http://example.com/"),
            ("https://example.com:443/a?b=c#d", "https://example.com/a?b=c"),
            ("http://example.com:8080", "http://example.com:8080/"),
            ("http://example.com./", "http://example.com/"),
            ("http://bücher.de/ü b", "http://xn--bcher-kva.de/%C3%BC%20b"),
            ("https://例え.jp/中文?q=文", "https://xn--r8jz45g.jp/%E4%B8%AD%E6%96%87?q=%E6%96%87"),
            ("http://faß.de/", "http://xn--fa-hia.de/"),
            ("http://a_b.example.com/%20", "http://a_b.example.com/%20"),
            ("http://2130706433/", "http://127.0.0.1/"),
            ("http://0x7f.1/", "http://127.0.0.1/"),
            ("http://0177.0.0.1/", "http://127.0.0.1/"),
            ("http://127.1/", "http://127.0.0.1/"),
            ("http://１２７。0。0。1/", "http://127.0.0.1/"),
            ("http://[0:0::1]/", "http://[::1]/"),
            ("http://[::ffff:127.0.0.1]:81/", "http://127.0.0.1:81/"),
        ],
        check,
    )


def test_what_is_no_web_address_is_refused_before_anyone_is_asked():
    def check(url: str, why: str) -> None:
        with pytest.raises(ToolFault, match="web_fetch was not run") as refused:
            WebFetch().parse_input({"url": url})
        assert f"- url: {why}" in str(refused.value) or why in str(refused.value)
        assert "secret" not in str(refused.value)

    check_rows(
        [
            ("ftp://example.com/", "begin with http:// or https://"),
            ("file:///etc/passwd", "begin with http:// or https://"),
            ("javascript:alert(1)", "begin with http:// or https://"),
            ("example.com", "begin with http:// or https://"),
            ("", "begin with http:// or https://"),
            ("http://", "name a host"),
            ("http://:80/", "name a host"),
            ("http://example.com:0/", "name a host"),
            ("http://example.com:99999/", "valid address"),
            ("http://me:secret@example.com/", "user name or password"),
            ("http://example.com@127.0.0.1/", "user name or password"),
            ("http://exa\nmple.com/", "control or invisible"),
            ("http://example.com/\x00", "control or invisible"),
            ("http://example.com/\u202e", "control or invisible"),
            ("http://[::1", "valid address"),
            ("http://[fe80::1%25eth0]/", "not a valid host"),
            ("http://[fe80::1%eth0]/", "not a valid host"),
            ("http://127.0.0.%31/", "not a valid host"),
            ("http://a\\b/", "not a valid host"),
            ("http://exa mple.com/", "not a valid host"),
            ("http://a..b/", "not a valid host"),
            ("http://example.com../", "not a valid host"),
            ("http://256.256.256.256/", "not a valid host"),
            ("http://1.2.3.4.5/", "not a valid host"),
            (f"http://{'a' * 64}.com/", "not a valid host"),
            (f"http://example.com/{'a' * 2_000}", "at most 2000 characters"),
        ],
        check,
    )


def test_the_host_that_a_person_is_asked_about_has_the_port_only_if_it_is_unusual():
    tool = WebFetch()
    for url, host in [
        ("https://Docs.Python.org/3/", "docs.python.org"),
        ("https://docs.python.org:443/", "docs.python.org"),
        ("http://docs.python.org:443/", "docs.python.org:443"),
        ("http://[2606:4700::1111]/", "[2606:4700::1111]"),
    ]:
        call = tool.parse_input({"url": url})
        assert tool.host(call) == tool.subject(call) == host


def test_patterns_cover_hosts_with_and_without_port():
    for pattern, place, covers in [
        ("docs.python.org", "docs.python.org", True),
        ("Docs.Python.org", "docs.python.org:8443", True),
        ("docs.python.org:8443", "docs.python.org:8443", True),
        ("docs.python.org:8443", "docs.python.org", False),
        ("*.python.org", "docs.python.org", True),
        ("*.python.org", "python.org", False),
        ("*.python.org", "python.org.evil.com", False),
        ("2606:4700::1111", "[2606:4700::1111]:81", True),
        ("[2606:4700::1111]", "[2606:4700::1111]", True),
        ("2606:4700::1111", "[2606:4700::1111:80]", False),
        ("*", "anything:1", True),
        ("bücher.de", "xn--bcher-kva.de", True),
        ("*.例子.cn", "docs.xn--fsqu00a.cn:8443", True),
        ("*.例子.cn", "xn--fsqu00a.cn", False),
    ]:
        assert does_host_match(pattern, place) is covers, (pattern, place)
    tool = WebFetch()
    assert tool.matches("*.python.org", tool.parse_input({"url": "https://docs.python.org/"}))


def test_private_and_special_addresses_are_not_public():
    def check(address: str) -> None:
        from headway.tools.web.addresses import to_ipv4_if_mapped

        assert not is_public(to_ipv4_if_mapped(ip_address(address)))

    check_rows(
        [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "100.100.100.200",
            "127.0.0.1",
            "127.255.0.1",
            "169.254.169.254",
            "168.63.129.16",
            "172.16.0.1",
            "192.0.0.192",
            "192.168.1.1",
            "192.0.2.1",
            "198.18.0.1",
            "224.0.0.1",
            "239.1.1.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::7f00:1",
            "::ffff:0:7f00:1",
            "64:ff9b::7f00:1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "2002:808:808::",
            "3fff::1",
            "5f00::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "::ffff:10.0.0.1",
        ],
        check,
    )


@pytest.mark.parametrize("address", ["1.1.1.1", "93.184.215.14", "2606:4700:4700::1111", "64:ff9b::101:101"])
def test_public_addresses_are_public(address: str):
    assert is_public(ip_address(address))


async def test_a_literal_private_address_is_refused_before_the_question(tmp_path: Path):
    tool = WebFetch()
    with pytest.raises(ToolFault, match="private or special address"):
        await tool.preview(tool.parse_input({"url": "http://169.254.169.254/latest/meta-data/"}), context(tmp_path))
    names = Names()
    asking = WebFetch(lookup=names)
    preview = await asking.preview(asking.parse_input({"url": "https://Example.com/a"}), context(tmp_path))
    assert (preview.line, preview.host) == ("Fetch https://Example.com/a", "example.com")
    assert names.asked == []


def test_a_private_host_that_is_no_host_is_named():
    with pytest.raises(HeadwayError, match=r"'a b' is not a valid host; correct private_hosts"):
        WebFetch(["a b"])


def test_a_relative_redirect_target_is_read_on_its_page():
    base = parse_address("https://example.com/a/b")
    assert parse_address("../c?d", base).url == "https://example.com/c?d"
    assert parse_address("//other.org/", base).url == "https://other.org/"
    with pytest.raises(BadAddress):
        parse_address("file:///etc/passwd", base)


def test_a_redirect_stays_on_the_site_only_with_the_same_host_and_port_or_to_https():
    for here, there, same in [
        ("http://a.example/x", "http://a.example/y", True),
        ("http://a.example/", "https://a.example/", True),
        ("https://a.example/", "http://a.example/", False),
        ("http://a.example:8080/", "https://a.example/", False),
        ("http://a.example/", "https://a.example:8443/", False),
        ("http://a.example/", "http://a.example:8080/", False),
        ("http://a.example/", "http://www.a.example/", False),
    ]:
        assert parse_address(here).is_same_site(parse_address(there)) is same, (here, there)


def _spellings(number: int) -> st.SearchStrategy[str]:
    """Ways to write an IPv4 address as a host."""
    a, b, c, d = number.to_bytes(4)
    bases = st.sampled_from([str, hex, lambda part: f"0{part:o}"])
    return st.one_of(
        st.tuples(bases, bases, bases, bases).map(lambda f: f"{f[0](a)}.{f[1](b)}.{f[2](c)}.{f[3](d)}"),
        st.tuples(bases, bases).map(lambda f: f"{f[0](a)}.{f[1](number & 0xFFFFFF)}"),
        bases.map(lambda f: f(number)),
        st.sampled_from(["[::ffff:{}]", "[::{}]", "[64:ff9b::{}]", "[0:0:0:0:0:ffff:{}]"]).map(
            lambda form: form.format(ipaddress.IPv4Address(number))
        ),
        st.just(f"[2002:{number >> 16:x}:{number & 0xFFFF:x}::1]"),
    )


_loopback = st.sampled_from([0x7F000001, 0x7F000002, 0x7FFFFFFE, 0, 0x0A000001, 0xA9FEA9FE, 0xC0A80001])
_hosts = st.one_of(
    _loopback.flatmap(_spellings),
    st.sampled_from(
        ["localhost", "LOCALHOST", "localhost.", "ｌocalhost", "foo.localhost", "[::1]", "[::]", "[::1%25lo]"]
    ),
)
_dressed = st.tuples(
    st.sampled_from(["http://", "HTTP://", "http:", "http:/", "http:///", "//"]),
    st.sampled_from(["", "example.com@", "example.com\\@", "user:pw@", " ", "\t"]),
    _hosts,
    st.sampled_from(["", ".", "..", "%00", "。"]),
)


@given(st.lists(_dressed, min_size=20, max_size=20))
def test_no_spelling_of_a_private_address_is_ever_connected_to(parts: list[tuple[str, str, str, str]]):
    async def try_all(folder: Path) -> tuple[int, list[bool]]:
        async with serving() as server:
            urls = [f"{scheme}{user}{host}{end}:{server.port}/" for scheme, user, host, end in parts]
            results = [await fetched(WebFetch(), url, context(folder)) for url in urls]
            return server.connections, [result.ok for result in results]

    with temporary_folder() as folder:
        connections, oks = asyncio.run(try_all(folder))
    assert connections == 0
    assert not any(oks)


@pytest.mark.parametrize("url", ["http://localhost/", "http://LOCALHOST:8000/x", "http://a.localhost./"])
async def test_this_machine_is_refused_before_the_question_unless_a_person_named_it(tmp_path: Path, url: str):
    names, asked = Names(), list[Question]()

    async def ask(question: Question) -> Answer:
        asked.append(question)
        return Answer("no")

    closed = Executor([WebFetch(["other.example"], lookup=names)], project=tmp_path, approvals=Approvals(ask))
    result = await closed.call("web_fetch", {"url": url})
    assert "private or special address" in result.text and not result.denied
    assert asked == []
    for private in ("127.0.0.1", "::1"):
        opened = Executor([WebFetch([private], lookup=names)], project=tmp_path, approvals=Approvals(ask))
        assert (await opened.call("web_fetch", {"url": url})).denied
    assert (len(asked), names.asked) == (2, [])


async def test_this_machine_may_be_allowed_by_its_name(tmp_path: Path):
    tool = WebFetch(["localhost"])
    preview = await tool.preview(tool.parse_input({"url": "http://localhost:8000/"}), context(tmp_path))
    assert preview.host == "localhost:8000"


async def test_an_allow_pattern_in_another_script_covers_the_host(tmp_path: Path):
    tool = WebFetch()
    call = tool.parse_input({"url": "https://docs.例子.cn/a"})
    assert tool.matches("*.例子.cn", call) and not tool.matches("*.例.cn", call)
