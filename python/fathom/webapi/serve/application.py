"""The paths of the server: `/` is the page, `/api/v1/NAME` an answer."""

import asyncio

import anyio.to_thread
from anyio import CapacityLimiter
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from fathom.codegen.generate.language.mistake import Mistake
from fathom.errors import FathomError, UsageError, system_error
from fathom.run import foreign
from fathom.webapi import answers as screens
from fathom.webapi.answers.session import Gone, NoSuchRun, OverLimit, Runs, Stop
from fathom.webapi.serve.guard import Guard, Keys, refusal
from fathom.webapi.serve.page import NOT_BUILT, page

#: Answers that are worked out at a time; further requests wait.
AT_A_TIME = 4
#: Seconds that an answer may take, and how many more for each call of the run.
SECONDS, OF_A_CALL = 60.0, 1e-6
# A statement is interrupted again and again until its thread is done: one that begins in between is not missed.
AGAIN = 0.05
#: Of a POST: a source, twice.
LONGEST_BODY = 16 << 20
#: Of gzip: a twentieth more bytes than 4, for half the time.
FAST = 1
STATUS = {UsageError: 400, Mistake: 400, NoSuchRun: 404, OverLimit: 422}


def _sent(answer: str | bytes) -> Response:
    """An answer as it travels."""
    kind = "octet-stream" if isinstance(answer, bytes) else "json"
    return Response(answer, media_type=f"application/{kind}")


def _status(error: FathomError) -> int:
    return next((status for kind, status in STATUS.items() if isinstance(error, kind)), 500)


def _error(error: Exception) -> Response:
    if isinstance(error, FathomError):
        return refusal(str(error), _status(error))
    if isinstance(error, OSError):
        return refusal(system_error(error), 500)
    return refusal(f"a fault of Fathom's own: {type(error).__name__}: {error}", 500)


async def _parameters(request: Request) -> dict[str, str]:
    """Those of the address, and of a POST those of its body: a JSON object of texts."""
    body = await _body(request) if request.method == "POST" else {}
    given = [*request.query_params.multi_items(), *body.items()]
    parameters = dict(given)
    if len(parameters) < len(given):
        raise UsageError("a parameter is given twice")
    return parameters


async def _body(request: Request) -> dict[str, str]:
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > LONGEST_BODY:
            raise UsageError(f"a body of more than {LONGEST_BODY >> 20} MiB")
    try:
        fields = foreign.parsed(body or b"{}")
    except ValueError as error:
        raise UsageError(f"the body is no JSON: {error}") from error
    if not isinstance(fields, dict) or not all(isinstance(one, str) for one in fields.values()):
        raise UsageError("the body is no JSON object of texts")
    return fields


class Answers:
    """Gives answers of these runs."""

    def __init__(self, runs: Runs, seconds: float = SECONDS) -> None:
        self.runs, self.seconds = runs, seconds
        self.limiter = CapacityLimiter(AT_A_TIME)

    async def __call__(self, request: Request) -> Response:
        """One answer, worked out in a thread, until it is done, the client gone or the time over."""
        if request.path_params["name"] in screens.ACTS and request.method != "POST":
            raise HTTPException(405)
        try:
            parameters = await _parameters(request)
        except UsageError as error:
            return _error(error)
        name, stop = request.path_params["name"], Stop()
        work = asyncio.ensure_future(self._work(name, parameters, stop))
        gone = asyncio.ensure_future(_gone(request))
        try:
            await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
            while not work.done():
                stop.now(Gone("the client has gone"))
                await asyncio.wait({work}, timeout=AGAIN)
            return _sent(work.result())
        except Exception as error:
            return _error(error)
        finally:
            gone.cancel()

    async def _work(self, name: str, parameters: dict[str, str], stop: Stop) -> str | bytes:
        is_patient = name == "again" or screens.is_lasting(name, parameters)
        seconds = self._allowed(parameters.get("run", ""))
        async with self.limiter:
            thread = asyncio.ensure_future(
                anyio.to_thread.run_sync(screens.ask_written, self.runs, name, parameters, stop)
            )
            await asyncio.wait({thread}, timeout=None if is_patient else seconds)
            while not thread.done():
                stop.now(OverLimit(f"{name} took longer than {seconds:.3g} s; ask for less"))
                await asyncio.wait({thread}, timeout=AGAIN)
            return thread.result()

    def _allowed(self, run: str) -> float:
        """Seconds that an answer of this run may take."""
        opened = self.runs.all.get(run)
        return self.seconds + (opened.calls * OF_A_CALL if opened else 0)


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _page(request: Request) -> Response:
    """Anybody may have it, so it is not compressed each time."""
    built = page()
    if built is None:
        return PlainTextResponse(f"{NOT_BUILT}\n", 503)
    headers = {"Content-Security-Policy": built.policy, "Vary": "Accept-Encoding"}
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return HTMLResponse(built.html, headers=headers)
    return HTMLResponse(built.gzipped, headers=headers | {"Content-Encoding": "gzip"})


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return refusal(error.detail, error.status_code)


def application(runs: Runs, keys: Keys, seconds: float = SECONDS) -> Starlette:
    """The server of these runs."""
    server = Starlette(
        routes=[
            Route("/", _page),
            Route("/api/v1/{name}", Answers(runs, seconds).__call__, methods=["GET", "POST"]),
        ],
        middleware=[Middleware(Guard, keys=keys), Middleware(GZipMiddleware, compresslevel=FAST)],
        exception_handlers={HTTPException: _refused},
    )
    server.router.redirect_slashes = False
    return server
