"""fathom study: records many runs by a plan: ranks, servers and values varied, programs alone and at once.

What is done is not done again: after an interruption, type the same command. Ends with the table of `fathom landscape`.

examples:
  fathom study study.toml
  fathom study study.toml --list
  fathom study study.toml --again
  fathom study study.toml --json > study.json
"""

import argparse
import sys
from pathlib import Path

from fathom.cli import landscape
from fathom.files import is_folder
from fathom.pages.landscapes import Wanted
from fathom.text.quoting import json_text
from fathom.tune.sweep.execute import Done, Study
from fathom.tune.sweep.plan import read


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The plan, and what to do of it."""
    parser.add_argument(
        "plan", metavar="FILE", type=Path, help="the study's plan, as docs/commands/study.md says"
    )
    parser.add_argument(
        "--again", action="store_true", help="run again what failed; the failed try is kept"
    )
    parser.add_argument(
        "--list", action="store_true", help="print the runs and their command lines, run nothing"
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument(
        "--json", action="store_true", help="values, statuses and landscape rows, raw numbers"
    )
    form.add_argument("--csv", action="store_true", help="the landscape, one line per run")


def _say(line: str) -> None:
    print(f"fathom: study: {line}", file=sys.stderr, flush=True)


def _print(arguments: argparse.Namespace, study: Study, runs: list[Done]) -> int:
    """The landscape of the runs that are there; the others are named."""
    paths = [str(study.path(point.run)) for point in runs if is_folder(study.path(point.run))]
    if arguments.json:
        rows, status = landscape.rows(paths, Wanted()) if paths else ([], 0)
        content = {"format": 1, "points": [vars(point) for point in runs], "runs": rows}
        print(json_text(content))
        return status
    if not paths:
        return 0
    parser = argparse.ArgumentParser()
    landscape.add_arguments(parser)
    return landscape.run(parser.parse_args([*paths, *(["--csv"] if arguments.csv else [])]))


def run(arguments: argparse.Namespace) -> int:
    """Runs what is not done, prints the table; status 3 where a run failed."""
    plan = read(arguments.plan)
    if arguments.list:
        for point in plan.points():
            for program in point.programs:
                print(program.run, *program.words, sep="\t")
        return 0
    study = Study(plan, _say)
    study.run(arguments.again)
    wanted = [program.run for point in plan.points() for program in point.programs]
    runs = [study.done[name] for name in wanted]
    status = _print(arguments, study, runs)
    failed = [failure for failure in runs if failure.status != 0]
    for failure in failed:
        _say(f"failed: {failure.run}: status {failure.status}; --again runs it again")
    if any(len(point.programs) > 1 for point in plan.points()):
        _say(
            f"what runs lost to each other: fathom landscape {plan.folder}/*.fathom --interference"
        )
    return 3 if failed else status
