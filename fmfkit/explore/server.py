"""A server for the pages, for this machine alone."""

from __future__ import annotations

import threading
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from fmfkit.explore.site import NotFoundError, Site, View
from fmfkit.recommend.recommender import Recommender
from fmfkit.report.html import Html, tag
from fmfkit.report.page import STYLE

ADDRESS = "127.0.0.1"
LONGEST = 8000
"""A longer request is refused."""
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""A page runs nothing, asks nobody else for anything, and nobody else can read or frame it."""
LINKS = {"/": "Start", "/map": "Map", "/like": "What if I like these?"}


class Server(ThreadingHTTPServer):
    """Serves the pages of a model; port 0 takes a free one."""

    daemon_threads = True

    def __init__(self, trained: Recommender, port: int = 0) -> None:
        """Listen on the loopback address, and nowhere else."""
        self.site, self.lock = Site(trained), threading.Lock()
        super().__init__((ADDRESS, port), Handler)
        self.hosts = {f"{name}:{self.server_port}" for name in (ADDRESS, "localhost")}

    @property
    def url(self) -> str:
        """Where the pages are."""
        return f"http://{ADDRESS}:{self.server_port}/"


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    server: Server
    server_version, sys_version = "fmfkit", ""
    timeout = 20

    def do_GET(self) -> None:
        """Answer with a page, or with the style of all of them."""
        asked = urlsplit(self.path)
        if self.headers.get("Host") not in self.server.hosts:  # a name that somebody else made point here
            self._refuse(HTTPStatus.FORBIDDEN, f"These pages are at {self.server.url} alone.")
        elif len(self.path) > LONGEST:
            self._refuse(HTTPStatus.REQUEST_URI_TOO_LONG, "The address is too long.")
        elif asked.path == "/style.css":
            self._send(HTTPStatus.OK, STYLE, "text/css")
        else:
            self._page(asked.path, parse_qs(asked.query))

    def _page(self, path: str, given: dict[str, list[str]]) -> None:
        try:
            with self.server.lock:
                view = self.server.site.view(path, given)
        except NotFoundError as error:
            self._refuse(HTTPStatus.NOT_FOUND, str(error))
        else:
            self._send(HTTPStatus.OK, document(view, path, given), "text/html")

    def _refuse(self, status: HTTPStatus, why: str) -> None:
        self._send(status, document(View(status.phrase, tag("p", why)), "", {}), "text/html")

    def _send(self, status: HTTPStatus, content: str, kind: str) -> None:
        body = content.encode()
        self.send_response(status)
        headers = {**HEADERS, "Content-Type": f"{kind}; charset=utf-8", "Content-Length": str(len(body))}
        for name, value in headers.items():
            self.send_header(name, value)
        with suppress(ConnectionError):  # who asked has gone elsewhere
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing: who asks is who reads."""


def document(view: View, path: str, given: dict[str, list[str]]) -> str:
    """Return a page with what all have: a way to its content, a search, links."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", f"{view.title} - fmfkit"),
        tag("link", rel="stylesheet", href="/style.css"),
    )
    skip = tag("a", "To the content", href="#content", class_="skip")
    main = tag("main", tag("section", tag("h1", tag("bdi", view.title)), view.body), id="content", tabindex="-1")
    return "<!doctype html>\n" + tag("html", head, tag("body", skip, _links(path, given), main), lang="en")


def _links(path: str, given: dict[str, list[str]]) -> Html:
    links = [
        tag("li", tag("a", name, href=to, aria_current="page" if to == path else None)) for to, name in LINKS.items()
    ]
    asked = given.get("q", [""])[0] if path == "/search" else ""
    search = tag(
        "form",
        tag("label", "Search", for_="q"),
        tag("input", id="q", name="q", type="search", value=asked, autocomplete="off"),
        tag("button", "Search", type="submit"),
        action="/search",
        role="search",
        class_="search",
    )
    return tag("nav", tag("ul", links, tag("li", search)), aria_label="Pages", class_="pages")


__all__ = ["Server"]
