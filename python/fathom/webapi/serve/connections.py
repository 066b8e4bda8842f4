"""Connections to the server. Anybody on the machine can open some: those that have not shown the key are few, have
little time, and are closed after one answer, so that the owner always gets his."""

import asyncio
import errno
import socket
import sys
from collections.abc import Callable
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from fathom.errors import printable

#: Connections without the key at a time: the next takes the place of the oldest.
STRANGERS = 64
#: Accepted in one go. What an owner sends comes with his connection and is read a few goes later, long before so many
#: others have come that his is the oldest.
AT_ONCE = 8
#: Seconds in which the key must be shown.
SILENCE = 10.0
#: Bytes of a request's line and headers. What is longer comes in the body of a POST.
LONGEST_HEAD = 16 << 10
#: Connections that wait to be accepted.
WAITING = 1024


class Connection(H11Protocol):
    """One of a client; a stranger's until `known` was called."""

    is_stranger = True
    began = 0.0
    _alarm: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Takes the oldest stranger's place where there are too many."""
        others = [one for one in self.connections if isinstance(one, Connection)]
        strangers = [one for one in others if one.is_stranger]
        if len(strangers) >= STRANGERS:
            min(strangers, key=lambda one: one.began).leave()
        super().connection_made(transport)
        self.app_state = {"known": self.known}
        self.began = self.loop.time()
        self._alarm = self.loop.call_later(SILENCE, self.leave)

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody waits for it any more."""
        self.known()
        super().connection_lost(exc)

    def known(self) -> None:
        """The key was shown."""
        self.is_stranger = False
        if self._alarm is not None:
            self._alarm.cancel()

    def leave(self) -> None:
        """Closes it at once, whatever is under way."""
        self.known()
        self.connections.discard(self)
        self.transport.abort()


class Server(uvicorn.Server):
    """Accepts connections as above, and keeps what goes wrong with one to a line."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listens."""
        asyncio.get_running_loop().set_exception_handler(_say)
        await super().startup(sockets)
        for bound in sockets or []:
            bound.listen(WAITING)


def _say(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Of what asyncio would print with a traceback a line, once a minute."""
    error = context.get("exception")
    if isinstance(error, OSError) and error.errno not in (errno.EMFILE, errno.ENFILE):
        return  # a client that has gone
    line = f"fathom: view: {printable(error or context['message'])}"
    if loop.time() - _last_printed.get(line, -60.0) >= 60:
        _last_printed[line] = loop.time()
        print(line, file=sys.stderr, flush=True)


_last_printed: dict[str, float] = {}


def server(app: Callable[..., Any]) -> Server:
    """The server of this application. Nothing that a client does is logged."""
    config = uvicorn.Config(
        app, http=Connection, ws="none", lifespan="off", log_level="critical", access_log=False, server_header=False,
        h11_max_incomplete_event_size=LONGEST_HEAD, timeout_graceful_shutdown=1, backlog=AT_ONCE,
    )  # fmt: skip
    return Server(config)
