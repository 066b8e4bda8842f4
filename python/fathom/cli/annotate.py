"""fathom annotate: a program's source files with seconds, bytes, calls and findings at their lines.

Sources are read, never written.

examples:
  fathom annotate s3d.1
  fathom annotate s3d.1 --file form_mpiio.c
  fathom annotate s3d.1 --sarif io.sarif
"""

import argparse
from pathlib import Path

import fathom
from fathom.analysis import findings
from fathom.assist import annotate, sarif
from fathom.cache import conclusions
from fathom.cli.arguments import add_run, add_with_runtime, save
from fathom.text.quoting import json_text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """RUN, which file, and in which form."""
    add_run(parser, last=True)
    add_with_runtime(parser)
    parser.add_argument("--file", metavar="NAME", help="only this source file, all of its lines")
    parser.add_argument("--sarif", type=Path, metavar="FILE", help="for editors, in place of text")


def run(arguments: argparse.Namespace) -> int:
    """Prints the files."""
    opened = fathom.open(arguments.run, with_runtime=arguments.with_runtime)
    concluded = conclusions.find(opened, findings.rules())
    files = annotate.noted(opened, concluded.conclusions)
    files = annotate.chosen(files, arguments.file)
    if arguments.sarif:
        log = json_text(sarif.log(annotate.results(files)))
        save("annotate", arguments.sarif, log + "\n")
        return 0
    for number, (path, of) in enumerate(files.items()):
        if number:
            print()
        for line in annotate.page(path, of, arguments.file is not None):
            print(line)
    return 0
