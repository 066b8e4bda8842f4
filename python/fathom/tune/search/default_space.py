"""The default search space, where no file gives one: knobs proved alive on this machine, of the layers that the program
uses; and the first points to try."""

import os
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

from fathom.analysis import Source, findings
from fathom.analysis.sentence import sentence
from fathom.cache import conclusions
from fathom.catalog.knobs import Knob
from fathom.errors import UsageError
from fathom.run import mpi
from fathom.run.store import Run
from fathom.tune.search.execute import OUT
from fathom.tune.search.limits import Limits
from fathom.tune.search.plan import EXPERT, FINDING, SWITCH
from fathom.tune.search.space import Dimension, Point, Space
from fathom.tune.settings.prove import StoredVerdicts, Verdict, provable
from fathom.tune.settings.settings import catalog
from fathom.tune.settings.stacks import Stack, installed_stacks
from fathom.tune.settings.values import UNITS, ValueMistake, of_knob

RANGE = re.compile(r"(\S+(?: [KMG]iB)?) … (\S+(?: [KMG]iB)?)(, powers of two)?")
SIZE = re.compile(r"([0-9]+)(?: ([KMG])iB)?")
#: What sites write in their manuals: as many targets as ranks can use, stripes and buffers of a few MiB.
TYPICAL = 4 << 20
#: Kinds of knobs that have few words, each of which is worth a trial.
SWITCHES = ("choice", "bool")
OMPI_IO = "OMPI_MCA_io"  # which MPI-IO of Open MPI
ROMIO = r"romio\d+|\^ompio"  # its values that are ROMIO, in any version
#: A layout's values: pools of data that the file system has.
POOLS = "pools"
CEPH = "ceph"


class Refused(UsageError):
    """There is nothing to try: of the program only its look was run."""


def values(knob: Knob, limits: Limits) -> list[Any]:
    """What the catalog finds worth a search; nothing where only a person can say."""
    if len(knob.values) != 1 or knob.values[0].many:
        return []
    if not knob.search:
        return [True, False] if knob.values[0].kind == "bool" else list(knob.values[0].words)
    if knob.search == POOLS:
        return list(limits.pools) if len(limits.pools) > 1 else []
    if ends := RANGE.fullmatch(knob.search):
        low, high = (_size(word, limits) for word in ends.groups()[:2])
        if low is None or high is None:
            return []
        return list(_powers(low, high) if ends[3] else range(low, high + 1))
    return [word for word in knob.search.split(", ") if _is_value(knob, word)]


def _size(word: str, limits: Limits) -> int | None:
    size = SIZE.fullmatch(word)
    if not size:
        return limits.of(word)
    return int(size[1]) * UNITS[(size[2] or "").lower()]


def _powers(low: int, high: int) -> Iterator[int]:
    """From one to the other by doubling, the last one too where it is none."""
    while low < high:
        yield low
        low *= 2
    yield high


def _is_value(knob: Knob, word: str) -> bool:
    try:
        return bool(of_knob(knob, word))
    except ValueMistake:
        return False


def stacks(run: Source, program: Sequence[str]) -> dict[str, str]:
    """Layers of the catalog that the program uses -> the stack that their knobs are proved on."""
    used = {row["layer"] for row in run.sql("select distinct layer from counters").to_pylist()}
    rows = run.sql("select any_value(mpi) as mpi from processes where mpi is not null").to_pylist()
    name = (rows[0]["mpi"] or "") if rows else ""
    if not name:
        return {}
    family = mpi.kind(name)
    open_mpi = family == "openmpi"
    asked = [os.environ.get(OMPI_IO) or "", *program]
    romio = not open_mpi or any(re.fullmatch(ROMIO, word) for word in asked)
    stack_of = {"hdf5": f"hdf5-{family}", "pnetcdf": "pnetcdf"}
    stack_of = {layer: stack for layer, stack in stack_of.items() if layer in used}
    if "mpiio" in used:
        mpiio_stack = "romio321" if open_mpi and romio else "mpich" if romio else "ompio"
        stack_of["romio" if romio else "ompio"] = mpiio_stack
    return stack_of


def known(run: Run, program: Sequence[str]) -> Iterator[tuple[Knob, str, Verdict | None]]:
    """Each knob of the layers that the program uses, its stack, and what proofs showed of it here."""
    verdicts = StoredVerdicts()
    for layer, name in stacks(run, program).items():
        stack = installed_stacks().get(name)
        for knob in catalog().values():
            if knob.layer.name == layer:
                yield knob, name, verdicts.of(knob, stack) if stack else None


def space(run: Run, program: Sequence[str], limits: Limits) -> tuple[Space, list[str]]:
    """What is alive for this program, and lines on what was left out."""
    dimensions, unproved = layouts(program, limits), []
    moves = "select distinct kind from counters where layer = 'mpiio' and bytes > 0"
    moved = set(run.sql(moves)["kind"].to_pylist())
    for knob, _, verdict in known(run, program):
        choices = values(knob, limits)
        if not choices or knob.safety != "free" or _of_other(knob, moved):
            continue
        if verdict is None and knob.proof is not None:
            unproved.append(knob.key)
        elif verdict is not None and verdict.verdict in ("alive", "inverted"):
            beside = knob.beside if knob.route != "property-list" else {}
            dimensions.append(Dimension(knob.key, knob.key, (None, *choices), {}, dict(beside)))
    lines = []
    if unproved:
        lines = [f"not proved here, so left out: fathom list knobs --prove {' '.join(unproved)}"]
    if not dimensions:
        why = f"; {lines[0]}" if lines else ""
        raise Refused(
            f"tune: nothing is known to be alive for this program here{why}; or --space FILE"
        )
    return Space(_with_conditions(dimensions)), lines


def _of_other(knob: Knob, moved: set[str]) -> bool:
    """Is the knob about reads, or about writes, of which the program makes none by MPI-IO?"""
    about = {kind for kind in ("read", "write") if re.search(rf"\b{kind}s\b", knob.when or "")}
    return len(about) == 1 and bool(moved) and not about & moved


def _with_conditions(dimensions: Sequence[Dimension]) -> tuple[Dimension, ...]:
    """A switch that others need is searched, and is a condition on these; any other knob they bring along."""
    switches = {
        one.knob: one for one in dimensions if catalog()[one.knob].values[0].kind in SWITCHES
    }
    brought, out = set[str](), list[Dimension]()
    for one in dimensions:
        layer = one.knob.rpartition(".")[0]
        keys = {f"{layer}.{name}": value for name, value in one.beside.items()}
        needs = {
            key: value
            for key, value in keys.items()
            if key in switches and value in switches[key].values
        }
        beside = {key.rpartition(".")[2]: keys[key] for key in keys if key not in needs}
        brought |= keys.keys() - needs.keys()
        out.append(replace(one, needs=needs, beside=beside))
    return tuple(one for one in out if one.knob not in brought)


def layouts(program: Sequence[str], limits: Limits) -> list[Dimension]:
    """Of CephFS, where the program's files are on it: what is set is read back, so it needs no proof."""
    if limits.osds is None or not any(OUT in word for word in program):
        return []
    knobs = [one for one in catalog().values() if one.layer.name == CEPH]
    return [
        Dimension(knob.key, knob.key, (None, *choices), {"directory": OUT})
        for knob in knobs
        if (choices := values(knob, limits))
    ]


def free() -> list[str]:
    """Knobs that change speed alone."""
    return [knob.key for knob in catalog().values() if knob.safety == "free"]


def unproved(run: Run, program: Sequence[str], keys: Collection[str]) -> list[tuple[Knob, Stack]]:
    """Of these, those for this program of which nobody knows yet whether they are alive here."""
    return [
        (knob, installed_stacks()[stack])
        for knob, stack, verdict in known(run, program)
        if knob.key in keys and verdict is None and installed_stacks().get(stack) in provable(knob)
    ]


def first(run: Run, given: Space) -> list[tuple[str, Point]]:
    """Each value of the knobs that findings of the run name, alone; then what an expert would set, with and without
    the first of these; then each word of a switch; with who asks."""
    concluded = conclusions.find(run, findings.catalog()).conclusions
    words = " ".join(sentence(one.rule.knob, one.values) for one in concluded)
    named = [is_named(dimension, words) for dimension in given.dimensions]
    rule = given.settled(tuple(expert(dimension) for dimension in given.dimensions))
    both = given.completed(
        tuple(value or int(is_named) for value, is_named in zip(rule, named, strict=True))
    )
    seeds = [
        (FINDING, given.completed(given.alone(number, value)))
        for number, dimension in enumerate(given.dimensions)
        for value in (_named_first(dimension, words) if named[number] else ())
    ]
    seeds += [(EXPERT, rule)] if both == rule else [(FINDING, both), (EXPERT, rule)]
    seeds += [
        (SWITCH, given.completed(given.alone(number, value)))
        for number, dimension in enumerate(given.dimensions)
        for value in _switched(dimension)
    ]
    return [(by, point) for by, point in seeds if given.allowed(point)]


def _switched(dimension: Dimension) -> list[int]:
    """Values of a switch other than its default, by number."""
    knob = catalog()[dimension.knob]
    if len(knob.values) != 1 or knob.values[0].kind not in SWITCHES:
        return []
    words = [str(value).lower() for value in dimension.values]
    return [n for n in range(1, len(words)) if words[n] != str(knob.default).lower()]


def _named_first(dimension: Dimension, words: str) -> list[int]:
    """Its values by number, those first that findings name beside it."""
    name = catalog()[dimension.knob].name
    numbers = range(1, len(dimension.values))
    return sorted(numbers, key=lambda n: f"{name}={dimension.values[n]}" not in words)


def is_named(dimension: Dimension, words: str) -> bool:
    """Findings call HDF5's knobs by the library's functions, too."""
    return bool(re.search(rf"\b(H5Pset_)?{catalog()[dimension.knob].name}\b", words))


def expert(dimension: Dimension) -> int:
    """Counts as high as they go, sizes at a few MiB, the rest as it is."""
    knob = catalog()[dimension.knob]
    kind = knob.values[0].kind if len(knob.values) == 1 else ""
    if kind not in ("int", "bytes"):
        return 0
    numbers = {
        place: int(of_knob(knob, value)[0]) for place, value in enumerate(dimension.values) if place
    }
    if kind == "int":
        return max(numbers, key=numbers.__getitem__)
    return min(numbers, key=lambda place: abs(numbers[place] - TYPICAL))
