"""Where the server listens: a port of this machine's own address, or a socket that only its owner may use."""

import getpass
import os
import socket
import stat
import tempfile
import webbrowser
from pathlib import Path

from fathom.errors import FathomError, UsageError
from fathom.files import alone

LOOPBACK = "127.0.0.1"
#: Port of the other machine that a socket is brought to.
TUNNEL = 8080


def on_port(port: int) -> socket.socket:
    """Bound to the loopback address; 0: any free port."""
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((LOOPBACK, port))
    except OSError as error:
        bound.close()
        raise FathomError(
            f"view: port {port}: {error.strerror}; leave --port out for a free one"
        ) from error
    bound.listen()  # who opens the link before the server runs waits
    return bound


def on_socket(path: Path) -> socket.socket:
    """Bound to this path, mode 0600. What a server left there is removed; anything else is not."""
    with alone(path.parent.resolve()):  # another that begins finds it free, or served
        _free(path)
        bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        before = os.umask(0o177)
        try:
            bound.bind(str(path))
        except OSError as error:
            bound.close()
            raise FathomError(f"view: {path}: {error.strerror or error}") from error
        finally:
            os.umask(before)
        bound.listen()
    return bound


def _free(path: Path) -> None:
    if not path.exists() and not path.is_symlink():
        return
    if not stat.S_ISSOCK(path.lstat().st_mode) or path.lstat().st_uid != os.getuid():
        raise UsageError(f"view: {path} is there already; name a path that is free")
    if _is_served(path):
        raise UsageError(f"view: another server listens at {path}; name another path")
    path.unlink()


def _is_served(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True


def _at_host() -> str:
    return f"{getpass.getuser()}@{socket.gethostname()}"


def link(bound: socket.socket, token: str, screen: str = "") -> str:
    """The address to open, here or through the tunnel; the page begins with this screen."""
    # Not `localhost`: another user of the machine may listen at the same port of its other address.
    port = bound.getsockname()[1] if bound.family == socket.AF_INET else TUNNEL
    return f"http://{LOOPBACK}:{port}/?token={token}{screen and f'#v1/{screen}'}"


def tunnel(bound: socket.socket) -> str:
    """What to type on another machine, so that the link works there."""
    if bound.family == socket.AF_INET:
        port = bound.getsockname()[1]
        return f"ssh -N -L {port}:{LOOPBACK}:{port} {_at_host()}"
    return f"ssh -N -L {TUNNEL}:{Path(bound.getsockname()).resolve()} {_at_host()}"


def open_browser(url: str) -> Path:
    """Opens the link by way of a file of the user's own, which is given: others can read a browser's command line."""
    with tempfile.NamedTemporaryFile("w", prefix="fathom-", suffix=".html", delete=False) as file:
        file.write(f'<!doctype html><meta http-equiv="refresh" content="0;url={url}">')
    webbrowser.open(f"file://{file.name}")
    return Path(file.name)
