"""fathom tune: searches for the settings with which a program is fastest, by running it.

Trials are `fathom run --tuned`. After an interruption type the same command: what was tried is not tried again.
`{out}` in the program's words is a new directory for each trial, compared with the default's and removed.

examples:
  fathom tune auto -- mpiexec -n 4 ./vpic {out}/data.h5
  fathom tune --try small-collective-buffer -- mpiexec -n 4 ./vpic {out}/data.h5
  fathom tune --space space.toml --objective rate --trials 200 -o vpic -- mpiexec -n 4 ./vpic {out}/data.h5
  fathom tune --objective 'tail -1 log' --maximize --seconds 3600 --space space.toml -- ./job.sh
  fathom tune show vpic --proof
  fathom tune --sampler model --space space.toml -o vpic -- mpiexec -n 4 ./vpic {out}/data.h5
  fathom tune model vpic
  fathom tune model small medium --for large.fathom
  fathom tune store add vpic.tune
  fathom tune store look RUN
"""

import argparse
import sys
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa

from fathom.cli import tune_live
from fathom.errors import FathomError, UsageError
from fathom.pages.proof import proof
from fathom.text import tables
from fathom.text.quoting import json_text
from fathom.text.tables import Column, text
from fathom.tune.model import show
from fathom.tune.model.design import DESIGNS
from fathom.tune.search import remedy, space
from fathom.tune.search.energy import Meter
from fathom.tune.search.execute import OUT
from fathom.tune.search.ledger import Ledger, folder_of, open_ledger
from fathom.tune.search.objective import COUNTED, OBJECTIVES, is_command, watts
from fathom.tune.search.options import Options
from fathom.tune.search.outputs import WAYS
from fathom.tune.search.samplers import SAMPLERS
from fathom.tune.search.search import in_words, planned, search
from fathom.tune.search.verdict import Result, result
from fathom.tune.store.base import Base, default_place
from fathom.tune.store.searched import entry_of

FOR = "of model: predict for a recorded run of other size or with other ranks"
#: The program's words follow `--`.
PROGRAM = True
#: Fewer fresh runs of two cannot show at 95 % that one of them is better, when others are compared as well.
LEAST = 5
COLUMNS = (
    Column("trial", "trial", text),
    Column("stage", "stage", text, right=False),
    Column("round", "round", text),
    Column("asked by", "asked", text, right=False, spare=2),
    Column("became", "state", text, right=False),
    Column("score", "score", lambda value: "" if value is None else f"{value:.5g}"),
    Column("cost s", "seconds", lambda value: "" if value is None else f"{value:.1f}"),
    Column("settings", "settings", text, right=False),
    Column("why", "why", text, right=False, spare=1),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What is searched, how, and for how long."""
    parser.add_argument(
        "words", nargs="*", metavar="auto | show NAME | model NAME… | store …",
        help="with nothing to be decided; print a search's trials; what settings cost; the pattern store",
    )  # fmt: skip
    parser.add_argument("--for", type=Path, dest="target", metavar="RUN", help=FOR)
    parser.add_argument("-o", "--output", metavar="NAME", help="the search is NAME.tune")
    what = parser.add_argument_group("what for")
    what.add_argument(
        "--objective", default="runtime", metavar="WHAT",
        help=f"{', '.join(OBJECTIVES)}, energy=WATTS,WATTS, or a command whose last line is a number (runtime)",
    )  # fmt: skip
    what.add_argument("--maximize", action="store_true", help="of the command's, more is better")
    what.add_argument("--files", metavar="GLOB", help="judge by these files only, as 'plot.*.h5'")
    what.add_argument(
        "--space", type=Path, metavar="FILE", help="knobs, values, constraints, seeds"
    )
    what.add_argument(
        "--try", nargs="?", const=remedy.TOP, dest="finding", metavar="FINDING",
        help="set what a finding of fathom show names, and prove that alone (the finding with most seconds)",
    )  # fmt: skip
    how = parser.add_argument_group("how")
    how.add_argument("--sampler", choices=SAMPLERS, help="who says what is next (ga)")
    how.add_argument(
        "--compare", choices=SAMPLERS, action="append", default=[],
        help="a further sampler, from nothing and at the same cost, for comparison",
    )  # fmt: skip
    how.add_argument(
        "--design", choices=DESIGNS, default=DESIGNS[0],
        help="numbers that --sampler model is trained on: 1, 2, 4, …; the most, its half, …; all (powers)",
    )  # fmt: skip
    how.add_argument("--seed", type=int, default=0, metavar="N", help="of all that is random (0)")
    how.add_argument("--trials", type=int, metavar="N", help="most runs of the search (60)")
    how.add_argument(
        "--seconds", type=float, metavar="SECONDS", help="seconds in all, the proof too"
    )
    how.add_argument(
        "--screen", action="store_true", help="try each knob alone first, drop the inert"
    )
    how.add_argument("--repeats", type=int, default=5, metavar="N", help="fresh runs of each (5)")
    how.add_argument("--finalists", type=int, default=3, metavar="N", help="how many race (3)")
    how.add_argument(
        "--worth", type=float, default=3.0, metavar="PERCENT", help="least gain worth having (3)"
    )
    how.add_argument(
        "--timeout", type=float, metavar="SECONDS", help="of a trial (5 times the default's)"
    )
    how.add_argument(
        "--verify",
        metavar="WAY",
        help=f"{', '.join(WAYS)}, or a command (checksum, if there is {OUT})",
    )
    how.add_argument("--scratch", type=Path, metavar="DIR", help=f"where {OUT} is (in NAME.tune)")
    how.add_argument(
        "--forward-storage", type=Path, metavar="DIR",
        help="forwarding servers that a trial starts keep stripes below DIR, as of fathom run",
    )  # fmt: skip
    parser.add_argument(
        "--live", metavar="RUN",
        help="give a run (or process) that is on its way other hints: a settings file, none, or auto",
    )  # fmt: skip
    parser.add_argument("--proof", action="store_true", help="of show: the verdict and its figures")
    parser.add_argument(
        "--store", type=Path, metavar="FILE", help="the pattern store (FATHOM_STORE, else your own)"
    )
    parser.add_argument("--json", action="store_true", help="the result, or the trials, as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Searches, or does what the first word says."""
    word, *names = arguments.words or [""]
    if arguments.live is not None:
        return _live(arguments)
    if word == "store":
        from fathom.cli import tune_store  # patterns, which a search does without

        return tune_store.run(arguments)
    if word in ("", "auto") and not names and not (word and arguments.finding):
        return _search(arguments, word == "auto")
    if word == "show" and len(names) == 1 and not arguments.program:
        return _show(arguments, open_ledger(folder_of(names[0]).absolute()))
    if word == "model" and names and not arguments.program:
        return show.show(
            [folder_of(name).absolute() for name in names], arguments.target, arguments.json
        )
    ways = (
        "[auto] … -- PROGRAM",
        "--try [FINDING] … -- PROGRAM",
        "show NAME",
        "model NAME…",
        "store …",
    )
    raise UsageError(f"tune: one of {', '.join(f'fathom tune {one}' for one in ways)}")


def _live(arguments: argparse.Namespace) -> int:
    if len(arguments.words) != 1 or arguments.program:
        raise UsageError("tune: fathom tune --live RUN settings.toml, or none, or auto")
    return tune_live.tune(arguments.live, arguments.words[0])


def _search(arguments: argparse.Namespace, auto: bool) -> int:
    if not arguments.program:
        raise UsageError("tune: which program? fathom tune … -- PROGRAM")
    if arguments.finding is not None:
        _set_alone(arguments)
    _defaults(arguments, auto)
    folder = _folder(arguments)
    outcome = search(folder, _options(arguments, folder), _say, arguments.store)
    if auto:
        _remember(folder, arguments.store or default_place())
    _print(arguments, folder, outcome)
    return 0


def _folder(arguments: argparse.Namespace) -> Path:
    """Of the search: each finding that is tried has its own."""
    program = Path(arguments.program[0]).name
    name = f"{program}.{arguments.finding}" if arguments.finding else program
    return folder_of(arguments.output or name).absolute()


def _set_alone(arguments: argparse.Namespace) -> None:
    """A finding's remedy is all that is tried, by one trial, then by fresh runs. Errors: UsageError."""
    for name in ("space", "sampler", "compare", "screen", "trials", "seconds"):
        if getattr(arguments, name):
            raise UsageError(f"tune: --try searches nothing: leave --{name} out")
    remedy.check(arguments.finding)
    arguments.trials = arguments.finalists = 1


def _defaults(arguments: argparse.Namespace, auto: bool) -> None:
    """Of what was not given. `auto` is bounded by seconds: who comes nearest in few trials (bench/tuning.py)."""
    arguments.auto = auto
    if arguments.trials is None:
        arguments.trials = 1000 if auto else 60
    if arguments.sampler is None:
        arguments.sampler = "tpe" if auto and find_spec("optuna") else "ga"


def _remember(folder: Path, store: Path) -> None:
    """For programs that access their data alike. A result stands without it, too."""
    try:
        Base(store, write=True).add([entry_of(folder)])
        _say(f"remembered in {store}")
    except FathomError as error:
        _say(f"not remembered: {error}")


def _say(line: str) -> None:
    print(f"fathom: tune: {line}", file=sys.stderr, flush=True)


def _options(arguments: argparse.Namespace, folder: Path) -> Options:
    """All that is wrong with them is said before anything runs."""
    _check(arguments)
    given_space = space.read(arguments.space) if arguments.space else None
    has_out = any(OUT in word for word in arguments.program)
    if given_space and not has_out and given_space.starts_servers():
        raise UsageError(
            f"tune: forwarding servers serve {OUT}: write it where the program's words name its output"
        )
    if not has_out:
        _say(f"no {OUT} in the program's words: what it writes is neither removed nor verified")
    options = Options(
        tuple(arguments.program), str(Path.cwd()), arguments.objective, arguments.maximize,
        arguments.files, given_space.data() if given_space else None, arguments.sampler,
        tuple(arguments.compare), arguments.seed, arguments.trials, arguments.seconds,
        arguments.repeats, arguments.finalists, arguments.worth / 100, arguments.screen,
        arguments.verify or ("checksum" if has_out else "none"), arguments.timeout,
        str((arguments.scratch or folder).absolute()), arguments.design, arguments.auto,
        str(arguments.forward_storage.absolute()) if arguments.forward_storage else None,
        arguments.finding,
    )  # fmt: skip
    if given_space:
        for sampler in (options.sampler, *options.compare):
            SAMPLERS[sampler](given_space, options)  # what it needs is missed before a run
    return options


def _check(arguments: argparse.Namespace) -> None:
    """Numbers in their ranges, and options that go together. Errors: UsageError."""
    for name, least in (("trials", 1), ("repeats", LEAST), ("finalists", 1)):
        if getattr(arguments, name) < least:
            raise UsageError(f"tune: --{name} is from {least} on")
    for name in ("seconds", "timeout"):
        given = getattr(arguments, name)
        if given is not None and not 0 < given < float("inf"):
            raise UsageError(f"tune: --{name} is a number above 0")
    if not 0 <= arguments.worth < float("inf"):
        raise UsageError("tune: --worth is a percentage, 0 or more")
    if arguments.maximize and not is_command(arguments.objective):
        raise UsageError("tune: --maximize goes with a command as --objective")
    watts(arguments.objective)
    if arguments.objective == COUNTED:
        Meter()  # what it cannot read is said before a run
    if len({arguments.sampler, *arguments.compare}) <= len(arguments.compare):
        raise UsageError("tune: --compare with another sampler than --sampler, and each once")
    if arguments.verify not in (None, "none") and not any(OUT in one for one in arguments.program):
        raise UsageError(
            f"tune: --verify what? write {OUT} where the program's words name its output"
        )


def _print(arguments: argparse.Namespace, folder: Path, outcome: Result) -> None:
    """The verdict; the winner as a file, where there is one."""
    best = folder / "settings.toml"
    best.unlink(missing_ok=True)
    if outcome.text:
        best.write_text(outcome.text, encoding="utf-8")
    if arguments.json:
        data = {**outcome.data(), "file": str(best) if outcome.text else None}
        print(json_text(data))
        return
    proof(outcome)
    if outcome.text:
        print(f"{in_words(outcome.settings)}\nfathom run --tuned {best} -- …")


def _show(arguments: argparse.Namespace, ledger: Ledger) -> int:
    if arguments.proof:
        return _show_proof(arguments, ledger)
    rows = [vars(one) for one in ledger.trials()]
    if arguments.json:
        print(json_text(rows))
        return 0
    shown = [
        {**row, "round": row["round"] + 1, "settings": in_words(row["settings"])}
        for row in rows
        if row["state"] != "known"
    ]
    names = [column.name for column in COLUMNS]
    tables.show(
        COLUMNS, pa.Table.from_pylist([{name: row[name] for name in names} for row in shown])
    )
    return 0


def _show_proof(arguments: argparse.Namespace, ledger: Ledger) -> int:
    plan, trials = planned(ledger), ledger.trials()
    outcome = result(plan, trials) if plan and plan.next(trials) is None else None
    if outcome is None:
        line = "the search is not at its end; go on with it by the command that began it"
        raise FathomError(f"tune: {ledger.path.parent}: {line}")
    if arguments.json:
        print(json_text(outcome.data()))
    else:
        proof(outcome)
    return 0
