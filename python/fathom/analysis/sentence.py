"""Sentences of a finding's header, with the figures of a run."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fathom.analysis.ranklist import compress
from fathom.text import numbers
from fathom.text.tables import text


def ranks_of(ranks: Sequence[int]) -> str:
    """`rank 2`, `ranks 0-1,7`."""
    return f"{'rank' if len(ranks) == 1 else 'ranks'} {compress(ranks)}"


FORMS: dict[str, Callable[..., str]] = {
    "count": numbers.count,
    "size": numbers.size,
    "seconds": numbers.seconds,
    "percent": numbers.percent,
    "rate": numbers.rate,
    "times": numbers.times,
    "ranks_of": ranks_of,
    "": text,
}


#: In a knob, a setting with its value: as Open MPI takes it, or as hints and properties are named.
SETTING = re.compile(r"--mca (\w+) ([^\s,;()]+)|\b(\w+)=([^\s,;()]+)")
#: What stands behind a count, where that is one.
ONE = {
    f" {one}{'es' if one.endswith('ss') else 's'}": f" {one}"
    for one in (
        "access call chunk file open OST piece process processor rank read round sync time turn worker write"
    ).split()
}


# A figure, its form, and the word behind it.
FIELD = re.compile(r"\{(\w+)(?::(\w+))?\}( \w+| \{\w+\}s)?")


def columns(template: str) -> list[str]:
    """Names of the figures that a template has."""
    return re.findall(r"\{(\w+)", template)


def sentence(template: str, values: Mapping[str, Any]) -> str:
    """A header's `says`, `fix` or `knob` with the row's figures; a column that is not there stays as it is written.
    What stands in brackets is left out where one of its figures is not known, or no time at all."""

    def figure(match: re.Match[str]) -> str:
        behind = match[3] or ""
        value, form = values.get(match[1]), match[2] or ""
        if form == "count" and value == 1:
            behind = ONE.get(behind, behind.removesuffix("s") if "{" in behind else behind)
        write = text if isinstance(value, str) else FORMS.get(form, text)
        field = match[0].removesuffix(match[3] or "")
        return (write(value) if match[1] in values else field) + re.sub(FIELD, figure, behind)

    def part(match: re.Match[str]) -> str:
        figures = re.findall(r"\{(\w+)(:seconds)?", match[1])
        return (
            "" if any(is_nothing(values.get(name, 1), form) for name, form in figures) else match[1]
        )

    def is_nothing(value: Any, form: str) -> bool:
        return value is None or (form == ":seconds" and value == 0)

    whole = re.sub(r"\[([^]]*)\]", part, template)
    return re.sub(FIELD, figure, whole)
