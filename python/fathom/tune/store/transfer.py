"""Settings of one program put to another: scaled where the catalog says by what, left out where they mean nothing."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from math import log2
from typing import Any

from fathom.catalog.knobs import SAFETY, Knob
from fathom.tune.search.default_space import RANGE
from fathom.tune.search.space import Dimension
from fathom.tune.settings.settings import catalog
from fathom.tune.settings.values import ValueMistake, of_knob
from fathom.tune.store.entry import Given, Tuned
from fathom.tune.store.fingerprint import MPI_IO, Stack
from fathom.tune.store.shape import Group

#: Layers whose knobs mean nothing to a program that does not use them; sites and file systems have theirs always.
LIBRARIES = ("hdf5", "pnetcdf", "netcdf", *MPI_IO)


def usable(given: Given, stack: Stack) -> bool:
    """Is there something in this program that takes it?"""
    layer = catalog()[given.knob].layer.name
    return layer in stack.layers or layer not in LIBRARIES


def may_move(given: Given, group: Group, stack: Stack, accept: Sequence[str]) -> str:
    """Why a setting means nothing for these files, or may not be set unless its danger is accepted; "": it may."""
    knob = catalog()[given.knob]
    if not usable(given, stack):
        return f"{given.knob} left out: nothing here takes it"
    if given.dataset and not any(fnmatchcase(dataset, given.dataset) for dataset in group.datasets):
        return f"{knob.name} left out: no dataset '{given.dataset}' here"
    if knob.safety == "all-ranks" and knob.safety not in accept:
        return f"{knob.name} left out: {SAFETY[knob.safety]}; a search's space may accept that"
    return ""


def moved(
    tuned: Tuned, ranks: int, group: Group, now: int, stack: Stack, accept: Sequence[str] = ()
) -> Iterator[tuple[Given, str]]:
    """Its settings for another group of files and number of ranks, each with a remark or "". A value None: left out."""
    for given in tuned.settings:
        name = catalog()[given.knob].name
        if why := may_move(given, group, stack, accept):
            yield replace(given, value=None), why
        else:
            value = scaled(catalog()[given.knob], given.value, ranks, now)
            change = f"{name} {given.value} -> {value}: {ranks} -> {now} ranks"
            yield replace(given, value=value), "" if value == given.value else change


def scaled(knob: Knob, value: Any, ranks: int, now: int) -> Any:
    """What the catalog counts up to the number of ranks keeps its share of them: one, a power of two, or all."""
    bounds = RANGE.fullmatch(knob.search)
    if (
        not bounds
        or bounds[2] != "ranks"
        or ranks == now
        or not isinstance(value, int)
        or value <= 1
    ):
        return value
    if value >= ranks:
        return now
    return max(1, min(now, 2 ** round(log2(max(1.0, value * now / ranks)))))


def nearest(dimension: Dimension, value: Any) -> int:
    """The number of that of its values which is this one, or of the closest where they are amounts; 0: none."""
    if value in dimension.values[1:]:
        return dimension.values.index(value)
    knob = catalog()[dimension.knob]
    if len(knob.values) != 1 or knob.values[0].kind not in ("int", "bytes"):
        return 0
    try:
        amounts = [float(of_knob(knob, given)[0]) for given in dimension.values[1:]]
        wanted = float(of_knob(knob, value)[0])
    except ValueMistake:
        return 0
    if wanted <= 0 or min(amounts, default=0) <= 0:
        return 0
    return 1 + min(range(len(amounts)), key=lambda place: abs(log2(amounts[place] / wanted)))
