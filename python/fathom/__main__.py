"""`fathom`: one module of `fathom.cli` per command."""

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import NoReturn

from fathom import __version__
from fathom.errors import FathomError, UsageError, printable
from fathom.text.ascii import tolerate

# In the order a user meets them; what each does is the first line of its module.
COMMANDS = {
    "run": "run a program and record its I/O",
    "attach": "record programs that run already",
    "detach": "end that; the programs run on",
    "select": "change what is recorded of a run, while it runs",
    "cc": "link a static program so that it can be recorded",
    "env": "print the environment that records, for batch scripts",
    "show": "one page: where the I/O time of a run went",
    "view": "a run in a web browser: when, where, which call, through all layers",
    "top": "what a run does right now, while it runs",
    "report": "one HTML file with a run's pictures, to mail and to keep",
    "landscape": "many runs in one table: which I/O, how long, by whom, what, when",
    "replay": "make the I/O of a run again, without its program; or write it as C",
    "study": "record many runs by a plan: ranks, servers, values, programs at once",
    "diff": "two runs side by side: what takes more or less time, what was set otherwise",
    "patterns": "how data are spread over ranks: BLOCK, CYCLIC, …; how files are used",
    "query": "how long calls took in which layer and server; a run's tables by SQL",
    "pack": "make a run's tables from its streams; join parts; one file",
    "export": "a run, or a part of it, for other tools: OTF2, Perfetto, CTF, Parquet",
    "import": "make a run of a log of Darshan, strace, DFTracer or Recorder",
    "collect": "take what agents of other nodes send",
    "recover": "save what killed processes left in shared memory",
    "forward": "servers that do a program's I/O on the real file system",
    "generate": "parallel I/O code from hints: checked, planned, explained, written",
    "doctor": "what will not work here, and why",
    "probes": "list what Fathom can see",
    "knobs": "list what can be set, and what is alive here",
    "tune": "search for the settings with which a program is fastest",
}
EPILOG = """examples:
  fathom run -- mpiexec -n 4 ./s3d 200 200 200
  fathom show s3d.1
  fathom query s3d.1 --sql "select op, sum(bytes) as bytes from counters group by op"
"""


class Parser(argparse.ArgumentParser):
    """argparse, but a mistake is one line."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{self.prog.partition(' ')[2] or 'fathom'}: {message}; add --help")


def _main_parser() -> Parser:
    lines = [f"  {name:9} {what}" for name, what in COMMANDS.items()]
    parser = Parser(
        prog="fathom",
        usage="fathom COMMAND [options]",
        description="Shows where the I/O time of a parallel program goes.\n\ncommands:\n"
        + "\n".join(lines),
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        add_help=True,
    )
    parser.add_argument("--version", action="version", version=f"fathom {__version__}")
    parser.add_argument("command", help=argparse.SUPPRESS)
    return parser


def _module(command: str) -> ModuleType:
    try:
        return importlib.import_module(f"fathom.cli.{command}")
    except ImportError as error:
        raise FathomError(
            f"{sys.executable}: {error}; install what Fathom needs, or name another Python in FATHOM_PYTHON"
        ) from error


def _apart(words: list[str]) -> tuple[list[str], list[str]]:
    """The command's own words, and the program's behind `--`, which stay as they are."""
    at = words.index("--") if "--" in words else len(words)
    return words[:at], words[at + 1 :]


def main(words: Sequence[str] | None = None) -> int:
    """Runs one command; its exit status: 0, 1 findings over a limit, 2 usage, 3 data."""
    arguments = list(sys.argv[1:] if words is None else words)
    for stream in (sys.stdout, sys.stderr):
        tolerate(stream)
    try:
        if not arguments:
            _main_parser().print_help(sys.stderr)
            return 2
        if arguments[0] not in COMMANDS:
            if not arguments[0].startswith("-"):
                raise UsageError(f"no command '{arguments[0]}'; there are {', '.join(COMMANDS)}")
            _main_parser().parse_args(arguments)
        module = _module(arguments[0])
        if hasattr(module, "hand_over"):
            module.hand_over(arguments[1:])
        parser = Parser(
            prog=f"fathom {arguments[0]}",
            description=module.__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_arguments(parser)
        # A query's words may stand before, behind and between options.
        parse = parser.parse_intermixed_args if arguments[0] == "query" else parser.parse_args
        own, given = arguments[1:], argparse.Namespace()
        if hasattr(module, "PROGRAM"):
            own, given.program = _apart(own)
        status: int = module.run(parse(own, given))
        sys.stdout.flush()
        return status
    except FathomError as error:
        if not error.reported:
            print(f"fathom: {error}", file=sys.stderr)
        return error.status
    except PermissionError as error:
        print(f"fathom: {printable(error.filename)}: {error.strerror}", file=sys.stderr)
        return FathomError.status
    except BrokenPipeError:  # `fathom query … | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    except RuntimeError as error:
        if str(error) != "Query interrupted":  # as DuckDB calls Ctrl-C
            raise
        return 130


if __name__ == "__main__":
    sys.exit(main())
