"""The elements of HTML by what they mean for the text of a page. `readable` does what these names say."""

from __future__ import annotations

LEFT_OUT = frozenset(
    [
        "applet",
        "audio",
        "canvas",
        "datalist",
        "embed",
        "frameset",
        "head",
        "iframe",
        "noembed",
        "noframes",
        "noscript",
        "object",
        "script",
        "select",
        "style",
        "svg",
        "template",
        "title",
        "video",
    ]
)
"""Nothing in them is for readers."""
VOID = frozenset(
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"]
)
"""They have no content and no end."""
IN_HEAD = frozenset(["base", "link", "meta", "noscript", "script", "style", "template", "title"])
"""What a page's head holds; anything else shows that its end was forgotten."""
END_OPTIONAL = frozenset({"dd", "dt", "li", "option", "p", "td", "th", "tr"})
"""The next of their kind ends them."""
BLOCKS = frozenset(
    [
        "address",
        "article",
        "aside",
        "body",
        "caption",
        "details",
        "dialog",
        "dl",
        "fieldset",
        "figcaption",
        "figure",
        "footer",
        "form",
        "header",
        "hgroup",
        "html",
        "legend",
        "main",
        "nav",
        "p",
        "section",
        "summary",
        "table",
    ]
)
"""Set off by a blank line."""
LINES = frozenset(["div", "dt", "option", "tbody", "tfoot", "thead"])
"""On lines of their own."""
