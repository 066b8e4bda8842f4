"""fathom patterns: how the data of a run are spread over its ranks, array by array, and how its files are used.

examples:
  fathom patterns s3d.1
  fathom patterns s3d.1 --top 50
  fathom patterns s3d.1 --files '*.field.nc'
  fathom patterns s3d.1 --json | jq -r '.patterns[0].key'
"""

import argparse

import fathom
from fathom.analysis import Remembered
from fathom.analysis.distribution.choice import check_any, of_files
from fathom.analysis.distribution.patterns import patterns
from fathom.cli.arguments import add_run, add_with_runtime, positive
from fathom.pages import patterns as view
from fathom.text.quoting import json_text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """RUN, which files, how much."""
    add_run(parser, last=True)
    add_with_runtime(parser)
    parser.add_argument(
        "--files", metavar="GLOB", help="only files whose path, or its last part, is like this"
    )
    parser.add_argument(
        "--top", type=positive, metavar="N", help="most groups of files (page: 10; JSON: all)"
    )
    parser.add_argument("--json", action="store_true", help="raw numbers, units in the names")


def run(arguments: argparse.Namespace) -> int:
    """Prints the patterns."""
    opened = fathom.open(arguments.run, with_runtime=arguments.with_runtime)
    of_run = patterns(Remembered(opened))
    if arguments.files:
        of_run = of_files("patterns", of_run, opened.name, arguments.files)
    check_any(of_run, opened)
    if arguments.json:
        content = view.as_json(of_run, opened.name, arguments.top)
        print(json_text(content))
    else:
        view.show_patterns(of_run, opened.name, arguments.top or 10)
    return 0
