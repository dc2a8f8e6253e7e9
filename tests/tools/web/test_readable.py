"""HTML as text to read: examples in English and Chinese, and pages that are made to break readers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.counts import some
from tests.support.tables import check_rows

from headway.tools.web.readable import EndTag, StartTag, to_readable_text, tokenize

PAGE = """<!DOCTYPE html>
<html><head><meta charset="utf-8"><title>Sorting &mdash; HOWTO</title>
<style>p { color: red }</style><script>if (a < b) document.write("<p>no</p>")</script>
<base href="https://docs.example/howto/"></head>
<body>
<nav><a href="/">Home</a> &middot; <a href="#top">Up</a></nav>
<h1>Sorting <em>HOWTO</em></h1>
<p>Lists have a <code>list.sort()</code> method
   and there is <a href="sorted.html">the <b>sorted</b> function</a>.<br>See https://docs.example/x.</p>
<ul><li>stable
<li><p>fast</p><ol><li>mostly<li>always</ol>
<li>simple</ul>
<pre><code class="python">
>>> sorted([5, 2])
    [2, 5]  # &lt;ok&gt;
</code></pre>
<table><caption>Costs</caption><tr><th>Size<th>Time</tr>
<tr><td><p>10</p></td><td></td><td>fast</td></tr><tr><td></td><td>slow</td></tr></table>
<dl><dt>key<dd>A function</dl>
<blockquote><p>Simple is better.</p></blockquote>
<p hidden>hidden<p>Shown <img src="a.png" alt="a  chart"><span style="DISPLAY : none">no</span>
<span aria-hidden="true">no</span><noscript>no</noscript><template>no</template><svg><title>no</title></svg>
<p>a&lt;b &amp;&amp; c &#x4e2d; &copy;&nbsp;2024
</body></html>"""

TEXT = """Sorting — HOWTO

Home (https://docs.example/) · Up

# Sorting HOWTO

Lists have a `list.sort()` method and there is the sorted function (https://docs.example/howto/sorted.html).
See https://docs.example/x.

- stable
- fast
  1. mostly
  2. always
- simple

```
>>> sorted([5, 2])
    [2, 5]  # <ok>
```

Costs

Size | Time
10 | | fast
| slow

key
  A function

> Simple is better.

Shown [image: a chart]

a<b && c 中 © 2024"""


def test_a_page_becomes_text_to_read():
    assert to_readable_text(PAGE, "https://docs.example/") == TEXT


def test_a_chinese_page_becomes_text_to_read():
    page = """<html><head><title>排序指南</title></head><body><h2>基础</h2>
    <p>列表有一个
    <code>sort()</code>方法，它会
    直接修改列表。<a href="/函数">内置函数</a></p>
    <ol><li>稳定<li>快速</ol><table><tr><td>名称</td><td>说明</td></tr></table></body></html>"""
    assert (
        to_readable_text(page, "https://例子.cn/a")
        == """排序指南

## 基础

列表有一个 `sort()`方法，它会直接修改列表。内置函数 (https://例子.cn/函数)

1. 稳定
2. 快速

名称 | 说明"""
    )


def test_odd_pages_are_read_as_browsers_do():
    def check(page: str, text: str) -> None:
        assert to_readable_text(page, "http://e.org/") == text

    check_rows(
        [
            ("", ""),
            ("just text", "just text"),
            ("1 < 2 and <3", "1 < 2 and <3"),
            ("a<b", "a"),
            ("a<!-- b --><!-->c", "ac"),
            ("a<![x[b]]>c<![CDATA[d]]>e<?php x ?>f</>g", "acefg"),
            ("<p>a<p>b</p></p><div>c</div>d", "a\n\nb\n\nc\nd"),
            ("<P CLASS=x>A</P >b", "A\n\nb"),
            ("<a href='javascript:x'>a</a><a href=mailto:b>b</a><a href='http://['>c</a>", "abc"),
            ("<a href=/x><img alt=''></a>", ""),
            ("<a href=/x>one<a href=/y>two</a>", "one (http://e.org/x)two (http://e.org/y)"),
            ("<a href=http://e.org/x>http://e.org/x</a>", "http://e.org/x"),
            ("<a href='/a b'>c</a>", "c (http://e.org/a%20b)"),
            ("<pre>\n\n  a\n\tb\n</pre>c", "```\n\n  a\n\tb\n```\n\nc"),
            ("<pre>a<a href=/x>b</a><br>c", "```\nab\nc\n```"),
            ("x<code></code>y", "xy"),
            ("<head><meta name=x><p>no end of head", "no end of head"),
            ("<div hidden><p>a</b><div>b</div></div>c", "c"),
            ("<div><p hidden>a</div>b", "b"),
            ("<li hidden>a<li>b", "- b"),
            ("<input hidden>a<br hidden>b", "ab"),
            ("<div a='>'>x</div>", "x"),
            ("<div a=b/c d = 'e' =f \"g\">x", "x"),
            ('<a b="unclosed>x', ""),
            ("<script>a</scripty></script >b", "b"),
            ("<textarea><p>a</textarea>b", "<p>ab"),
            ("a&#0;&#x1b;&#27;b&#8238;c&#" + "9" * 5_000 + ";", "a\ufffdbc\ufffd"),
            ("in\u200bvis\u00adib\U000e0041le", "invisible"),
            ("a&nbsp;&nbsp;b\u3000c", "a b\u3000c"),
        ],
        check,
    )


@pytest.mark.full
@pytest.mark.parametrize(
    "piece",
    [
        "<",
        "<a ",
        "<a b='",
        "<!--",
        "<![x[",
        "</",
        "</a",
        "<div>",
        "<ul><li>x",
        "<table><tr><td>x",
        "<p hidden>",
        "<pre>",
        "<code>",
        "&",
        "&#9",
        "<title>",
        "<a href=x>y</a>",
        "<svg>",
        "<svg></p>",
        "<b></i>",
        " \n",
        "中 \n",
        "<td>",
        "a=",
    ],
)
def test_a_hundred_thousand_of_anything_are_read(piece: str):
    page = piece * some(100_000)
    assert len(to_readable_text(page, "http://e.org/" + "x" * 400)) <= 10 * len(page) + 10_000


_pieces = st.sampled_from(
    [
        "<",
        ">",
        "</",
        "<!",
        "<!--",
        "-->",
        "<?",
        '"',
        "'",
        "=",
        "/",
        "&",
        "&#",
        "&lt;",
        "&#x",
        ";",
        "<a",
        "href=",
        "<p",
        "<div",
        "hidden>",
        "</div>",
        "<ul>",
        "<li>",
        "</ul>",
        "<ol>",
        "<table>",
        "<tr>",
        "<td>",
        "</td>",
        "</tr>",
        "</table>",
        "<pre>",
        "</pre>",
        "<code>",
        "</code>",
        "<script>",
        "</script>",
        "<title>",
        "</title>",
        "<svg>",
        "</svg>",
        "<head>",
        "<body>",
        "<br>",
        "<img",
        "alt=x>",
        "<h1>",
        "</h1>",
        "<base",
        "href=//x/>",
        "<blockquote>",
        "<dd>",
        "text",
        "中文",
        "\x00",
        "\x1b[0m",
        "\u202e",
    ]
) | st.text(max_size=5)


@given(st.lists(_pieces, max_size=60), st.sampled_from(["", " ", "\n"]))
def test_no_page_breaks_the_reader(pieces: list[str], between: str):
    page = between.join(pieces)
    text = to_readable_text(page, "https://example.com/a/")
    assert len(text) <= 10 * len(page) + 10_100
    assert "\x1b" not in text and "\u202e" not in text and "\x00" not in text
    assert "\n\n\n" not in text


@given(st.lists(st.tuples(st.sampled_from(["p", "b", "div"]), st.text("ab&<>\"'= ", max_size=8)), max_size=8))
def test_well_formed_markup_is_taken_apart_exactly(parts: list[tuple[str, str]]):
    from html import escape

    page = "".join(f'<{name} title="{escape(text)}">{escape(text)}</{name}>' for name, text in parts)
    expected = [
        token
        for name, text in parts
        for token in (StartTag(name, {"title": text}), *([text] if text else []), EndTag(name))
    ]
    assert list(tokenize(page)) == expected
