"""Frida's part: libfathom.so is loaded into a live process, and told to begin or to end there."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from types import ModuleType
from typing import Any

from fathom.errors import FathomError

SECONDS = 30.0  # for one process: it may be stopped, or too busy to listen
INSTALL = "pip install 'fathom-io[attach]'"
MISSING = f"attach needs Frida, which is not installed: {INSTALL}"

#: The entry point of libfathom.so's ELF header is its only door: it exports nothing (runtime/edges/start.c).
SCRIPT = """
function fathom(path) {
  const there = Process.findModuleByName('libfathom.so');
  if (there === null && path === null) return null;
  return there === null ? Module.load(path) : there;
}
rpc.exports = {
  call(what, path, settings) {
    const library = fathom(path);
    if (library === null) return [3, ''];
    const at = library.base.add(24).readU64();
    if (at.equals(0)) return [-1, library.path];
    const entry = new NativeFunction(library.base.add(at), 'int', ['int', 'pointer', 'pointer', 'size_t']);
    const given = Memory.alloc(settings.length + 1).writeByteArray(settings.concat([0]));
    const run = Memory.alloc(4096);
    const status = entry(what, given, run, 4096);
    return [status, run.readUtf8String()];
  },
};
"""


class Status(IntEnum):
    """What the library answers."""

    OTHER_VERSION = -1
    DONE = 0
    RECORDED_ALREADY = 1
    LEFT_OUT = 2
    NOT_RECORDED = 3


@dataclass(frozen=True)
class Answer:
    """`run`: in which the process is recorded already, or was until now; empty when in none."""

    status: Status
    run: str


def frida_module() -> ModuleType:
    """The optional part. Raises the line that says how to get it."""
    try:
        import frida
    except ImportError as error:
        raise FathomError(MISSING) from error
    module: ModuleType = frida
    return module


@contextmanager
def _in_time(frida: ModuleType) -> Iterator[None]:
    cancellable = frida.Cancellable()
    timer = threading.Timer(SECONDS, cancellable.cancel)
    timer.start()
    try:
        with cancellable:
            yield
    finally:
        timer.cancel()


def _call(pid: int, what: int, library: Path | None, settings: Sequence[str]) -> Answer:
    frida = frida_module()
    block = b"".join(line.encode(errors="surrogateescape") + b"\0" for line in settings)
    session: Any = None
    try:
        with _in_time(frida):
            session = frida.get_local_device().attach(pid)
            script = session.create_script(SCRIPT)
            script.load()
            path = str(library) if library else None
            status, run = script.exports_sync.call(what, path, list(block))
            script.unload()
        return Answer(Status(status), run)
    except frida.ProcessNotFoundError as error:
        raise FathomError(f"process {pid}: it has ended") from error
    except frida.PermissionDeniedError as error:
        raise FathomError(
            f"process {pid}: not permitted to trace it; `fathom doctor` says what forbids ptrace"
        ) from error
    except frida.OperationCancelledError as error:
        raise FathomError(
            f"process {pid}: no answer within {SECONDS:.0f} s; is it stopped?"
        ) from error
    except (
        frida.InvalidArgumentError,
        frida.NotSupportedError,
        frida.ProcessNotRespondingError,
        frida.TransportError,
    ) as error:
        raise FathomError(f"process {pid}: {error}") from error
    except frida.core.RPCException as error:
        raise FathomError(f"process {pid}: {str(error).splitlines()[0]}") from error
    except frida.InvalidOperationError as error:
        raise FathomError(f"process {pid}: it ended meanwhile") from error
    finally:
        if session is not None:
            with suppress(Exception):
                session.detach()


def attach(pid: int, library: Path, settings: Sequence[str]) -> Answer:
    """Loads the library where it is not, and starts recording by `settings` (NAME=VALUE)."""
    return _call(pid, 0, library, settings)


def detach(pid: int) -> Answer:
    """Ends recording; what was recorded is in the run directory afterwards."""
    return _call(pid, 1, None, [])
