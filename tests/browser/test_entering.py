"""What admits a page is for its own origin: other servers of this host, whoever runs them, are not sent it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

from harness.browser import Live, looking
from playwright.sync_api import Browser


@contextmanager
def listening() -> Iterator[tuple[str, list[str]]]:
    """Another user's server: its origin, and all that it was sent."""
    heard: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            heard.append(f"{self.requestline}\n{self.headers}")
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    other = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=other.serve_forever).start()
    try:
        yield f"http://127.0.0.1:{other.server_port}", heard
    finally:
        other.shutdown()


def test_no_other_server_is_sent_the_key(view: Live) -> None:
    with view.look() as look, listening() as (origin, heard):
        key = look.page.evaluate("() => localStorage.getItem('fathom.key')")
        assert look.page.context.cookies() == []
        look.page.goto(f"{origin}/")
        assert heard and not any(key in one for one in heard)
        # Nor may its page ask in the user's name: the other port counts as the same site.
        asks = "url => fetch(url, { mode: 'no-cors', credentials: 'include' }).then(() => 'answered', () => 'refused')"
        assert look.page.evaluate(asks, f"{view.origin}/api/v1/runs") == "refused"
        look.complaints.clear()  # of what was refused


def test_a_page_without_the_key_says_what_to_open(chromium: Browser, view: Live) -> None:
    with looking(chromium) as look:
        look.open(f"{view.origin}/")
        assert "open the link that fathom view printed last" in look.text()
        look.complaints.clear()
