"""fathom doctor: what will not work here, and why; with a program, what will not work with it.

Exit status 1 when there is a problem.

examples:
  fathom doctor
  fathom doctor --facts
  fathom doctor ./s3d
"""

import argparse
import sys
import textwrap
from dataclasses import asdict

from fathom import doctor as checks
from fathom.doctor import Finding
from fathom.errors import UsageError
from fathom.text.quoting import json_text
from fathom.text.tables import columns, on_terminal, printable

VERDICT, WHAT = 9, 18  # letters of the first two columns


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """A program, or none."""
    parser.add_argument("program", metavar="PROGRAM", nargs="?", help="look at this program too")
    parser.add_argument(
        "--facts", action="store_true", help="only what bugs depend on, for a report of one"
    )
    parser.add_argument("--json", action="store_true", help="a list of objects")


def run(arguments: argparse.Namespace) -> int:
    """Prints every check's verdict as soon as it is known."""
    findings: list[Finding] = []
    if arguments.facts and arguments.program:
        raise UsageError("doctor: --facts are of the machine; leave PROGRAM out")
    for finding in checks.the_facts() if arguments.facts else checks.all_of(arguments.program):
        findings.append(finding)
        if not arguments.json:
            _print(finding)
    if arguments.json:
        print(json_text([asdict(finding) for finding in findings]))
    return 1 if any(finding.verdict == "problem" for finding in findings) else 0


def _lines(words: str) -> list[str]:
    """As the terminal has room; one line in a pipe."""
    if not on_terminal(sys.stdout):
        return [words]
    room = max(30, columns() - VERDICT - WHAT)
    return textwrap.wrap(words, room, break_on_hyphens=False) or [""]


def _print(finding: Finding) -> None:
    left = f"{finding.verdict:{VERDICT}}{printable(finding.what) + ' ':{WHAT}}"
    lines = _lines(printable(finding.detail))
    lines += _lines(f"→ {printable(finding.do)}") if finding.do else []
    for line in lines:
        print(f"{left}{line}", flush=True)
        left = " " * len(left)
