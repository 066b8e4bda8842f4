"""Who may ask. A loopback port is open to everybody on a shared machine, and to pages of any site in the user's
browser; so each request must name this machine as its host, come from this page, and carry the cookie that the one-time
link was changed into."""

import base64
import hashlib
import hmac
import re
import secrets
from collections.abc import Callable, Iterable

from starlette.datastructures import URL, Headers, MutableHeaders, QueryParams
from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HOST = re.compile(r"(localhost|127\.0\.0\.1|\[::1\])(:[0-9]{1,5})?", re.ASCII)
COOKIE = "fathom"

# A redirect would still count as coming from the other site that the link stood on, and the cookie is kept from those.
ENTER_SCRIPT = "location.replace('/' + location.hash)"
ENTER = f"""<!doctype html><meta charset="utf-8"><title>Fathom</title>
<script>{ENTER_SCRIPT}</script><noscript><a href="/">Open Fathom</a></noscript>"""

SAFE = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def policy(scripts: Iterable[str] = (), styles: Iterable[str] = ()) -> str:
    """A Content-Security-Policy under which nothing runs but these inline scripts, and only this server is asked."""

    def hashes(texts: Iterable[str]) -> str:
        digests = [hashlib.sha256(text.encode()).digest() for text in texts]
        words = [f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests]
        return " ".join(words) or "'none'"

    return (
        f"default-src 'none'; script-src {hashes(scripts)}; style-src {hashes(styles)}; connect-src 'self'; "
        "img-src 'self' data: blob:; font-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


class Keys:
    """The one-time link's token, and the cookie it is changed into."""

    def __init__(self, announce: Callable[[str], None] = lambda _: None) -> None:
        """`announce` is told the next token when one was used."""
        self.token, self.cookie = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        self._announce = announce

    def redeem(self, token: str) -> bool:
        """Is this the token? Then it never is again."""
        if not hmac.compare_digest(token.encode(), self.token.encode()):
            return False
        self.token = secrets.token_urlsafe(32)
        self._announce(self.token)
        return True

    def fits(self, cookie: str) -> bool:
        """Is this the cookie?"""
        return hmac.compare_digest(cookie.encode(), self.cookie.encode())


def _is_foreign(headers: Headers) -> str | None:
    """Why a request is none of this page's; None: it is."""
    host = headers.get("host", "")
    if not HOST.fullmatch(host) or len(headers.getlist("host")) != 1:
        return "this server answers as localhost or 127.0.0.1 only"
    if headers.get("origin", f"http://{host}") != f"http://{host}":
        return "this server answers its own page only"
    if (
        headers.get("sec-fetch-site", "none") == "cross-site"
        and headers.get("sec-fetch-mode") != "navigate"
    ):
        return "this server answers its own page only"
    return None


class Guard:
    """Middleware: refuses what is not the user's, and puts the safe headers on every answer."""

    def __init__(self, app: ASGIApp, keys: Keys) -> None:
        self.app, self.keys = app, keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            return

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in (SAFE | {"Content-Security-Policy": policy()}).items():
                    headers.setdefault(name, value)
            await send(message)

        refused = self._answer(HTTPConnection(scope))
        await (refused or self.app)(scope, receive, send_safely)

    def _answer(self, request: HTTPConnection) -> Response | None:
        """The answer that ends a request here; None: it may go on."""
        foreign = _is_foreign(request.headers)
        if foreign:
            return PlainTextResponse(f"{foreign}\n", 403)
        if self.keys.fits(request.cookies.get(self._cookie(request.url), "")):
            return None
        query = QueryParams(request.scope["query_string"])
        if request.url.path == "/" and self.keys.redeem(query.get("token", "")):
            return self._enter(request.url)
        return PlainTextResponse(
            "open the link that fathom view printed last: each works once, for one browser\n", 401
        )

    def _enter(self, url: URL) -> Response:
        response = HTMLResponse(ENTER, headers={"Content-Security-Policy": policy([ENTER_SCRIPT])})
        response.set_cookie(
            self._cookie(url), self.keys.cookie, httponly=True, samesite="strict", path="/"
        )
        return response

    @staticmethod
    def _cookie(url: URL) -> str:
        """Browsers send the cookies of one port to all others of a host, so its name tells which."""
        return f"{COOKIE}-{url.port or 80}"
