"""What must hold of every page of HTML, whatever it shows."""

from __future__ import annotations

import re
from html.parser import HTMLParser

VOID = {"meta", "link", "input", "br"}
ALLOWED = {
    *("html", "head", "title", "style", "body", "header", "nav", "main", "section", "article", "div", "span", "bdi"),
    *("h1", "h2", "h3", "p", "ul", "li", "a", "dl", "dt", "dd", "strong", "code", "pre", "details", "summary"),
    *("table", "caption", "thead", "tbody", "tr", "th", "td", "figure", "figcaption", "form", "label", "button"),
    *("svg", "path", "rect", "circle", "text", *VOID),
}


class Page(HTMLParser):
    """A page that was read: its elements, its text, and whether it is well formed."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.words, self._open = [], [], []
        self.feed(html)
        self.close()
        assert not self._open, f"left open: {self._open}"

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join(self.words)

    def all(self, name):
        return [attributes for tag, attributes in self.elements if tag == name]


def read(html):
    """Return a page, having checked that it is well formed, runs nothing, and asks nobody for anything."""
    page = Page(html)
    assert {tag for tag, _ in page.elements} <= ALLOWED
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for tag, attributes in page.elements:
        assert not [
            name for name in attributes if name.startswith("on") or name in ("src", "srcset", "style", "srcdoc")
        ]
        for name in ("href", "action"):
            assert re.fullmatch(r"#[\w-]+|/[\w.-]*(\?[\w=&%.+*~-]*)?", attributes.get(name, "/")), attributes
        if tag == "svg":
            assert attributes.get("aria-hidden") == "true" or attributes["aria-label"]
    assert re.search(r"[\x00-\x08\x0b-\x1f\x7f]", html) is None
    labelled = {attributes["for"] for attributes in page.all("label")}
    assert all(one.get("type") == "hidden" or one["id"] in labelled for one in page.all("input"))
    assert page.all("html")[0]["lang"] == "en"
    assert len(page.all("h1")) == 1
    assert len(page.all("main")) == 1
    for attributes in page.all("th"):
        assert attributes["scope"] in ("row", "col")
    return page
