"""fathom report: one HTML file with pictures, findings and calls of runs: to mail, to keep, to open without a network.

examples:
  fathom report s3d.1
  fathom report s3d.1 -o s3d.html --size 10MB
  fathom report before after -o compared.html
"""

import argparse
import re
import sys
from pathlib import Path

from fathom.cli.arguments import newest_run
from fathom.errors import FathomError, UsageError, printable
from fathom.files import replace_text
from fathom.text import terminal
from fathom.text.tables import shown
from fathom.webapi.answers.session import Runs
from fathom.webapi.report.document import document, draw, template, words
from fathom.webapi.report.payload import collect

DEFAULT, MOST = 5_000_000, 20_000_000
#: Part of the room that the first screen's pictures may take.
PICTURES = 0.4
UNITS = {"": 1, "K": 10**3, "M": 10**6, "KI": 2**10, "MI": 2**20}


def _size(word: str) -> int:
    match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,3})?)(|K|M|Ki|Mi)B?", word, re.ASCII | re.IGNORECASE)
    size = int(float(match[1]) * UNITS[match[2].upper()]) if match else 0
    if not 0 < size <= MOST:
        raise argparse.ArgumentTypeError(f"'{word}' is no size up to 20MB, as 5MB")
    return size


def _seconds(word: str) -> float:
    if not re.fullmatch(r"\d{1,6}(\.\d{1,3})?", word, re.ASCII):
        raise argparse.ArgumentTypeError(f"'{word}' is no number of seconds, as 60")
    return float(word)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """RUN…, the file, its size, the time it may take."""
    parser.add_argument(
        "runs",
        metavar="RUN",
        nargs="*",
        help="run directories, to be compared where several (default: the newest one here)",
    )
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="default: NAME.html here")
    parser.add_argument(
        "--size",
        type=_size,
        default=DEFAULT,
        metavar="SIZE",
        help="most of the file, as 5MB (the default); up to 20MB",
    )
    parser.add_argument(
        "--timeout",
        type=_seconds,
        default=60.0,
        metavar="SECONDS",
        help="most for the chains of calls of a run, the rest are left out (default: 60)",
    )


def _write(path: Path, text: str) -> None:
    """Whole or not at all."""
    try:
        replace_text(path, text.encode(errors="replace").decode())
    except OSError as error:
        raise FathomError(f"report: {path}: {error.strerror}") from error


def _say(what: str) -> None:
    terminal.show(f"fathom: report: {printable(what)}")


def run(arguments: argparse.Namespace) -> int:
    """Writes the file; stderr says what it does not hold."""
    runs = Runs(arguments.runs or [newest_run()])
    form = template()
    summary = words(runs)
    room = arguments.size - len(form.encode()) - 2 * len(summary.encode()) - 8192
    if room <= 0:
        raise UsageError(f"report: the page alone has {len(form):,} bytes; give a larger --size")
    _say("pictures")
    drawn = draw(runs, int(PICTURES * room))
    room -= sum(len(one.encode()) for one in drawn.values())
    payload = collect(runs, room, arguments.timeout, _say)
    if not drawn:
        payload.left_out.append("pictures for who runs no script, for want of room")
    text = document(form, runs, summary, payload, drawn)
    path = arguments.output or Path(f"{next(iter(runs.all))}.html")
    _write(path, text)
    terminal.show("")
    for line in payload.left_out:
        print(f"fathom: report: left out: {printable(line)}", file=sys.stderr)
    for line in payload.failed:
        print(f"fathom: report: could not be answered: {printable(line)}", file=sys.stderr)
    print(shown(path))
    return 0
