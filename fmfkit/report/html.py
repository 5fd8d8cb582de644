"""HTML that is written by hand: whatever is no HTML yet is escaped, wherever it comes from."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable

CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
"""Characters that no page may hold."""


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


Content = str | float | None | Iterable["Content"]
"""What elements hold: text, numbers, HTML, nothing, or several of them."""


def escaped(content: Content) -> Html:
    """Return content as HTML."""
    if isinstance(content, Html):
        return content
    if content is None:
        return Html("")
    if isinstance(content, str | float | int):
        return Html(html.escape(CONTROL.sub("\ufffd", str(content))))
    return Html("".join(map(escaped, content)))


def tag(name: str, /, *content: Content, **attributes: str | float | bool | None) -> Html:
    """Return an element. Attributes that are None or False are left out; ``class_`` is class, ``aria_label``
    aria-label."""
    told = []
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        key = key.rstrip("_").replace("_", "-")
        told.append(f" {key}" if value is True else f' {key}="{escaped(value)}"')
    opened = f"<{name}{''.join(told)}>"
    return Html(opened if name in VOID else f"{opened}{escaped(content)}</{name}>")


VOID = {"meta", "link", "input", "br"}


def name_of(label: str) -> Html:
    """Return a title or an id, kept apart from the direction of the text around it."""
    return tag("bdi", label)


def table(caption: str, head: Iterable[Content], rows: Iterable[Iterable[Content]], class_: str | None = None) -> Html:
    """Return a table whose first column names its rows."""
    lines = []
    for row in rows:
        first, *others = row
        lines.append(tag("tr", tag("th", first, scope="row"), [tag("td", cell) for cell in others]))
    columns = tag("tr", [tag("th", cell, scope="col") for cell in head])
    inner = tag("table", tag("caption", caption), tag("thead", columns), tag("tbody", lines), class_=class_)
    return tag("div", inner, class_="wide", tabindex="0", role="region", aria_label=caption)


def number(value: float, digits: int = 4) -> str:
    """Return a number for people, of so many digits."""
    if math.isnan(value):
        return "unknown"
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.{digits}g}"


__all__ = ["Content", "Html", "escaped", "name_of", "number", "table", "tag"]
