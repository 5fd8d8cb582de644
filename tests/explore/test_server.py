"""The server of the pages: who may ask, and what answers allow."""

import http.client
import socket
import threading

import pytest
from pages import read

from fmfkit.explore.server import HEADERS, Server


@pytest.fixture(scope="module")
def server(shelved):
    with Server(shelved[0]) as made:
        thread = threading.Thread(target=made.serve_forever, daemon=True)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def ask(server, path, host=None, method="GET"):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
    connection.request(method, path, headers={} if host is None else {"Host": host})
    answer = connection.getresponse()
    return answer, answer.read().decode()


def test_a_page_is_answered_with_a_policy_that_allows_nothing_but_its_style(server):
    answer, body = ask(server, "/query?row=1")
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; style-src 'self';")
    assert "unsafe" not in policy
    assert answer.headers["Server"].strip() == "fmfkit"
    (style,) = read(body).all("link")
    assert style["href"] == "/style.css"


def test_the_style_is_answered_and_asks_for_nothing_else(server):
    answer, body = ask(server, "/style.css")
    assert answer.headers["Content-Type"] == "text/css; charset=utf-8"
    assert "url(" not in body


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1.evil.example:{port}", ""]
)
@pytest.mark.parametrize("path", ["/", "/style.css", "/query?row=0"])
def test_requests_for_other_hosts_are_refused(server, host, path):
    answer, body = ask(server, path, host.format(port=server.server_port))
    assert answer.status == 403
    assert f"These pages are at http://127.0.0.1:{server.server_port}/ alone." in body
    assert "Book" not in body


def test_this_machine_may_call_itself_localhost(server):
    assert ask(server, "/", f"localhost:{server.server_port}")[0].status == 200


def test_what_is_not_there_and_what_is_too_long_is_refused_with_a_page(server):
    answer, body = ask(server, "/<script>alert(1)</script>")
    assert answer.status == 404
    assert "<script>" not in body
    read(body)
    assert ask(server, "/../../etc/passwd")[0].status == 404
    assert ask(server, "/search?q=" + "x" * 9000)[0].status == 414
    assert ask(server, "/", method="POST")[0].status == 501


@pytest.mark.parametrize(
    "query", ["q=%00%ff%fe", "q=a&q=b&like=1", "q=" + "%F0%9F%92%A9" * 50, "=&&;=?", "q=%22%3E%3Cb%3E"]
)
def test_strange_questions_are_answered(server, query):
    answer, body = ask(server, f"/search?{query}")
    assert answer.status == 200
    read(body)


def test_it_listens_on_the_loopback_address_alone(server):
    assert server.socket.getsockname()[0] == "127.0.0.1"
    assert server.url == f"http://127.0.0.1:{server.server_port}/"


def test_a_connection_that_asks_for_nothing_holds_nobody_up(server):
    with socket.create_connection(("127.0.0.1", server.server_port)):
        assert ask(server, "/")[0].status == 200
