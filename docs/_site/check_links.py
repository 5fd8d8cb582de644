"""Check a built site: every link and anchor within it leads somewhere, and nothing is loaded from elsewhere."""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADS = {("link", "href"), ("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src")}
IMPORT = re.compile(r"""(?:url\(|@import)\s*['"]?\s*((?:https?:)?//[^'")]+)""")


class Page(HTMLParser):
    """The anchors of a page, its links, and what it loads."""

    def __init__(self, text: str) -> None:
        """Read a page."""
        super().__init__()
        self.anchors: set[str] = set()
        self.links: set[str] = set()
        self.loads: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag names, and where it leads."""
        for name, value in attrs:
            if value is None:
                continue
            if name == "id" or (tag, name) == ("a", "name"):
                self.anchors.add(value)
            elif (tag, name) in LOADS:
                self.loads.add(value)
            elif (tag, name) == ("a", "href"):
                self.links.add(value)


def problems(site: Path) -> list[str]:
    """Return what is wrong, a line each."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    found = [
        f"{style.relative_to(site)}: loads {where}"
        for style in sorted(site.rglob("*.css"))
        for where in IMPORT.findall(style.read_text(encoding="utf-8"))
    ]
    for path, page in pages.items():
        name = path.relative_to(site)
        for link in sorted(page.links | page.loads):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                found += [f"{name}: loads {link}"] if link in page.loads and parts.scheme != "data" else []
                found += [f"{name}: {link}: taken for an address"] if parts.scheme == "mailto" else []
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_file():
                found.append(f"{name}: {link}: there is no such file")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                found.append(f"{name}: {link}: there is no such anchor")
    return found


if __name__ == "__main__":
    wrong = problems(Path(sys.argv[1]).resolve())
    print("\n".join(wrong) or "every link leads somewhere; nothing is loaded from elsewhere")
    sys.exit(bool(wrong))
