"""`fathom`: one module of `fathom.cli` per command."""

import atexit
import contextlib
import gc
import importlib
import os
import sys
from collections.abc import Sequence
from errno import EBADF, ENOSPC
from types import ModuleType
from typing import TYPE_CHECKING, NoReturn

from fathom import __version__
from fathom.cli.commands import COMMANDS, WITHOUT_NUMPY, help_text
from fathom.cli.commands import HELP as OTHERS
from fathom.errors import FathomError, UsageError, printable, system_error, unknown, why
from fathom.text.ascii import tolerate

if TYPE_CHECKING:
    from pathlib import Path

#: New objects from which on Python looks for circles of them: at its own 700 a command spends a tenth of its time so.
CIRCLES = 100_000
HELP, VERSION = ("help", "-h", "--help"), ("version", "-V", "--version")


def _module(command: str) -> ModuleType:
    try:
        if command in WITHOUT_NUMPY:
            from fathom.run import arrow

            arrow.leave_numpy_out()
        return importlib.import_module(f"fathom.cli.{command}")
    except ImportError as error:
        raise FathomError(
            f"{sys.executable}: {error}; install what Fathom needs, or name another Python in FATHOM_PYTHON"
        ) from error


def _apart(words: list[str]) -> tuple[list[str], list[str]]:
    """The command's own words, and the program's behind `--`, which stay as they are."""
    at = words.index("--") if "--" in words else len(words)
    return words[:at], words[at + 1 :]


def _help(words: list[str]) -> int:
    """`fathom help`, of all or of one command."""
    if not words or words[0] in OTHERS or words == ["--all"]:
        print(help_text(every=words == ["--all"]), end="")
        return 0
    if words[0].startswith("-"):
        raise UsageError(unknown("help: no option", words[0], ["--all"]))
    return _answer([*words, "--help"])


def _typed(word: str) -> str:
    from fathom.text.quoting import shell  # where something is wrong already

    return shell([word])


def _no_command(word: str) -> str:
    """What to say of it: perhaps it is a run, or a program."""
    if word.startswith("-"):
        return unknown("no option", word, (*HELP[1:], *VERSION[1:]), "fathom help")
    from pathlib import Path

    begin = f"no command '{printable(word)}'"
    if Path(f"{word.removesuffix('.fathom')}.fathom").is_dir():
        return f"{begin}, but a run; fathom show {_typed(word)}"
    if Path(word).is_file() and os.access(word, os.X_OK):
        return f"{begin}, but a program; fathom run -- {_typed(word)}"
    return unknown("no command", word, (*COMMANDS, *OTHERS), "fathom help lists them")


def _answer(words: list[str]) -> int:
    """Does what the words say; its status."""
    if not words:
        print(help_text(), end="", file=sys.stderr)
        return UsageError.status
    name, *own = words
    if name in HELP:
        return _help(own)
    if name in VERSION:
        print(f"fathom {__version__}")
        return 0
    if name not in COMMANDS:
        raise UsageError(_no_command(name))
    module = _module(name)
    if hasattr(module, "hand_over"):
        module.hand_over(own)
    if own and own[0] in getattr(module, "VERBS", ()):
        verb = own.pop(0)
        name, module = f"{name} {verb}", _module(f"{name}_{verb}")
    return _run(name, module, own)


def _run(name: str, module: ModuleType, own: list[str]) -> int:
    import argparse  # help is there without it

    from fathom.cli.parser import Parser

    parser = Parser(
        prog=f"fathom {name}",
        description=module.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    module.add_arguments(parser)
    given = argparse.Namespace()
    if hasattr(module, "PROGRAM"):
        own, given.program = _apart(own)
    # A query's words may stand before, behind and between options.
    status: int = module.run(parser.read(own, given, mixed=name == "query"))
    return status


def _open_closed() -> None:
    """A stream that was closed (`>&-`) takes nothing, and says so where something is written to it."""
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")


def _discard_output() -> None:
    """What cannot be written is not tried again at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _failed(error: OSError) -> str:
    """Which file, and why: what has no name and takes no more bytes is the output."""
    is_output = error.filename is None and error.errno in (ENOSPC, EBADF)
    return f"standard output: {why(error)}" if is_output else system_error(error)


def _runs_opened() -> "set[Path]":
    store = sys.modules.get("fathom.run.store")
    return store.opened if store else set()


def _strange_runs() -> list[str]:
    """Of the runs that this command opened those whose tables are none that an engine writes, and what is wrong."""
    from fathom.run.strange import strange

    return [printable(str(what)) for path in _runs_opened() if (what := strange(path))]


def main(words: Sequence[str] | None = None) -> int:
    """Runs one command; its exit status: 0, 1 findings over a limit, 2 usage, 3 data."""
    arguments = list(sys.argv[1:] if words is None else words)
    gc.set_threshold(CIRCLES)
    _runs_opened().clear()
    _open_closed()
    for stream in (sys.stdout, sys.stderr):
        tolerate(stream)
    try:
        status = _answer(arguments)
        sys.stdout.flush()
        return status
    except FathomError as error:
        if not error.reported:
            print(f"fathom: {error}", file=sys.stderr)
        return error.status
    except BrokenPipeError:  # `fathom query … | head`
        _discard_output()
        return 0
    except OSError as error:  # of a file that no command expects to fail
        if error.filename is None:
            _discard_output()
        print(f"fathom: {_failed(error)}", file=sys.stderr)
        return FathomError.status
    except KeyboardInterrupt:
        return 130
    except RuntimeError as error:
        if str(error) != "Query interrupted":  # as DuckDB calls Ctrl-C
            raise
        return 130
    except Exception:
        # Only now is it asked: of what an engine wrote no reader fails so.
        strange = _strange_runs()
        if not strange:
            raise
        print(f"fathom: {strange[0]}", file=sys.stderr)
        return FathomError.status


def command() -> NoReturn:
    """The process of one command. It ends once its threads, and what was to be done at the end, are done: Python would
    first take all modules apart, for a twentieth of a second."""
    statuses: list[int] = []
    atexit.register(_leave, statuses)  # first registered, so called last
    statuses.append(main())
    sys.exit(statuses[0])


def _leave(statuses: Sequence[int]) -> None:
    """Ends the process with the status that there is, if there is one."""
    if not statuses:
        return
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):
            stream.flush()
    os._exit(statuses[0])


if __name__ == "__main__":
    command()
