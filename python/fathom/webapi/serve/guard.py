"""Who may ask. A loopback port is open to everybody on a shared machine, and to pages of any site in the user's
browser; so each request must name this machine as its host, come from this page, and carry the key that the one-time
link was changed into. The page keeps it for its own origin: a cookie would be sent to every server of this host."""

import base64
import hashlib
import hmac
import re
import secrets
from collections.abc import Callable, Iterable

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HOST = re.compile(r"(localhost|127\.0\.0\.1|\[::1\])(:[0-9]{1,5})?", re.ASCII)
#: How the page calls the key (web/src/source/live.ts), and how a request has it.
STORAGE_KEY, SCHEME = "fathom.key", "Bearer "
CLOSED = "open the link that fathom view printed last: each works once, for one browser"

ENTER = """<!doctype html><meta charset="utf-8"><title>Fathom</title>
<script>{script}</script><noscript>The page needs JavaScript.</noscript>"""

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
    """The one-time link's token, and the key it is changed into."""

    def __init__(self, announce: Callable[[str], None] = lambda _: None) -> None:
        """`announce` is told the next token when one was used."""
        self.token, self.key = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        self._announce = announce

    def redeem(self, token: str) -> bool:
        """Is this the token? Then it never is again."""
        if not hmac.compare_digest(token.encode(), self.token.encode()):
            return False
        self.token = secrets.token_urlsafe(32)
        self._announce(self.token)
        return True

    def fits(self, authorization: str) -> bool:
        """Does this header have the key?"""
        return hmac.compare_digest(authorization.encode(), f"{SCHEME}{self.key}".encode())


def _is_foreign(headers: Headers, path: str) -> str | None:
    """Why a request is none of this page's; None: it is."""
    host = headers.get("host", "")
    if not HOST.fullmatch(host) or len(headers.getlist("host")) != 1:
        return "this server answers as localhost or 127.0.0.1 only"
    if headers.get("origin", f"http://{host}") != f"http://{host}":
        return "this server answers its own page only"
    # The link may stand in a page of another site. Another port of this host is `same-site`.
    is_link = path == "/" and headers.get("sec-fetch-mode") == "navigate"
    if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and not is_link:
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
        request = HTTPConnection(scope)
        is_known = self.keys.fits(request.headers.get("authorization", ""))
        # Of a stranger nothing more is read.
        added = {} if is_known else {"Connection": "close"}

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in (SAFE | {"Content-Security-Policy": policy()} | added).items():
                    headers.setdefault(name, value)
            await send(message)

        refused = self._answer(request, is_known)
        if refused is None and is_known:
            scope.get("state", {}).get("known", lambda: None)()
        await (refused or self.app)(scope, receive, send_safely)

    def _answer(self, request: HTTPConnection, is_known: bool) -> Response | None:
        """The answer that ends a request here; None: it may go on. The page tells nothing, so all may have it."""
        path = request.url.path
        foreign = _is_foreign(request.headers, path)
        if foreign:
            return refusal(foreign, 403)
        token = QueryParams(request.scope["query_string"]).get("token")
        if path == "/" and token is not None and self.keys.redeem(token):
            return self._enter()
        if path == "/" and token is not None:
            return PlainTextResponse(f"{CLOSED}\n", 401)
        return None if is_known or path == "/" else refusal(CLOSED, 401)

    def _enter(self) -> Response:
        script = f"localStorage.setItem('{STORAGE_KEY}', '{self.keys.key}'); location.replace('/' + location.hash)"
        safe = {"Content-Security-Policy": policy([script])}
        return HTMLResponse(ENTER.format(script=script), headers=safe)


def refusal(why: str, status: int) -> Response:
    """An answer that says why there is none."""
    return JSONResponse({"error": why}, status)
