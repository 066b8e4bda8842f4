"""How far counts go here: ranks of the program, forwarding servers, and of CephFS, where its files are there, OSDs and
pools of data."""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from fathom.run import programs
from fathom.run.store import Run
from fathom.tune.search.constraint import parse
from fathom.tune.search.space import Space
from fathom.tune.settings.settings import catalog

#: A knob's `search` in the catalog names what ends it.
ENDS = re.compile(r"1 … (ranks|servers|OSDs)\b")
SERVERS = "FATHOM_FORWARD_SERVERS"


@dataclass(frozen=True)
class Limits:
    """None: not known, so no limit."""

    ranks: int | None = None
    servers: int | None = None
    osds: int | None = None
    pools: tuple[str, ...] = ()

    def of(self, word: str) -> int | None:
        """As the catalog calls it."""
        return {"ranks": self.ranks, "servers": self.servers, "OSDs": self.osds}.get(word)


def of_run(run: Run) -> Limits:
    """Of a recorded run, and of the machine that it ran on, which is this one."""
    (row,) = run.sql("select max(ranks) as ranks from runs").to_pylist()
    servers = [one for one in os.environ.get(SERVERS, "").split(";") if one]
    kinds = run.sql("select distinct file_system as name from files").to_pylist()
    on_ceph = any("ceph" in (kind["name"] or "") for kind in kinds)
    osds, systems = (_ceph(words) if on_ceph else [] for words in ("osd ls", "fs ls"))
    # Of several file systems nothing says which one the files are on.
    pools = systems[0]["data_pools"] if len(systems) == 1 else ()
    return Limits(row["ranks"], len(servers) or None, len(osds) or None, tuple(pools))


def _ceph(words: str) -> list[Any]:
    """What the cluster that `ceph` speaks to answers; nothing where it says nothing."""
    done = programs.ask("ceph", *words.split(), "--format", "json")
    try:
        return list(json.loads(done.stdout)) if done and not done.returncode else []
    except ValueError:
        return []


def _end(knob: str, limits: Limits) -> int | None:
    bound = ENDS.match(catalog()[knob].search or "")
    return limits.of(bound[1]) if bound else None


def limited(space: Space, limits: Limits) -> Space:
    """Counts above what there is are no other settings: conditions leave them out."""
    names = [dimension.name for dimension in space.dimensions if dimension.name.isidentifier()]
    conditions = [
        parse(f"{dimension.name} <= {end}", names)
        for dimension in space.dimensions
        if dimension.name in names
        and (end := _end(dimension.knob, limits))
        and _above(dimension.values, end)
    ]
    return replace(space, constraints=(*space.constraints, *conditions))


def widened(space: Space, limits: Limits) -> Space:
    """Of a run of another size: counts go on by doubling, as far as it has ranks or servers."""
    dimensions = []
    for dimension in space.dimensions:
        counts = [value for value in dimension.values if isinstance(value, int)]
        end = _end(dimension.knob, limits)
        more: list[int] = []
        while end and counts and max([*counts, *more]) < end:
            more.append(min(2 * max([*counts, *more]), end))
        dimensions.append(replace(dimension, values=(*dimension.values, *more)))
    return limited(replace(space, dimensions=tuple(dimensions)), limits)


def _above(values: tuple[Any, ...], end: int) -> bool:
    return any(isinstance(value, int) and value > end for value in values)


def of_data(data: Mapping[str, Any] | None) -> Limits:
    """As they were kept."""
    return Limits(**{**(data or {}), "pools": tuple((data or {}).get("pools", ()))})
