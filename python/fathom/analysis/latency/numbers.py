"""Numbers of calls in queries: from 0 in each rank among the calls asked about; a collective has one in all its ranks.

A call's number is one more than that of the call before it. A collective call has one number: the largest that a rank
would give it (Lamport, "Time, clocks, and the ordering of events", 1978), so ranks that made fewer calls skip some.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from fathom.analysis import Source
from fathom.analysis.latency.language import Numbers
from fathom.analysis.own import own_values

Shifts = dict[str, list[int]]


def alignment(members: Iterable[tuple[int, int, int]]) -> Shifts:
    """From each rank's places of collective calls, in the order of their beginnings, what is added from there on.

    Rows: rank, place, collective. Result: `of` ranks, `from` places, `by` so much. Collectives that ranks made in
    different orders, as threads can, are not aligned.
    """
    later: dict[int, int] = {}
    last: dict[int, int] = {}
    out: Shifts = {"of": [], "from": [], "by": []}
    group: list[tuple[int, int]] = []

    def settle() -> None:
        if any(place < last.get(rank, 0) for rank, place in group):
            return
        number = max((place + later.get(rank, 0) for rank, place in group), default=0)
        for rank, place in group:
            last[rank] = place
            if number - place != later.get(rank, 0):
                later[rank] = number - place
                out["of"].append(rank)
                out["from"].append(place)
                out["by"].append(number - place)

    current: int | None = None
    for rank, place, collective in members:
        if collective != current:
            settle()
            group, current = [], collective
        group.append((rank, place))
    settle()
    return out


@dataclass
class Numbering:
    """Numbers of the calls that a condition on own calls leaves."""

    source: Source
    who: str
    which: str
    values: dict[str, Any]
    shifts: Shifts | None = None

    def _rows(self, text: str, **values: Any) -> pa.Table:
        return self.source.sql(text, **self.values, **own_values(self.source), **values)

    def _numbered(self, columns: str, which: str, **values: Any) -> pa.Table:
        """Columns of the numbers of calls, `which` and grouped so."""
        units = f"{self.who}, {self.which}, $regions, $talk"
        if self.shifts is None:
            rows = self._rows(f"from latency_misaligned({units})")
            places = (rows[name].to_pylist() for name in ("who", "position", "collective"))
            self.shifts = alignment(zip(*places, strict=True))
        text = f"select {columns} from latency_numbers({units}, $of, $from, $by) {which}"
        return self._rows(text, **self.shifts, **values)

    def span(self, owners: list[int]) -> str:
        """From where to where numbers of these ranks go."""
        (row,) = self._numbered(
            "min(number) as least, max(number) as most",
            "where who in (select unnest($owners::bigint[]))",
            owners=owners,
        ).to_pylist()
        return f"{row['least']}-{row['most']}"

    def condition(self, numbers: Numbers, prefix: str) -> tuple[str, dict[str, Any]]:
        """As SQL on rows `o`: the ordinals in each process between which these numbers lie; the values in it."""
        terms, values = [], dict[str, Any]()
        for place, (least, most) in enumerate(numbers.ranges or ()):
            rows = self._numbered(
                "process, min(call) as first, max(call) as last",
                "where number between $least and $most group by process",
                least=least,
                most=most,
            ).to_pylist()
            size = max((row["process"] for row in rows), default=-1) + 1
            first, last = [None] * size, [None] * size
            for row in rows:
                first[row["process"]], last[row["process"]] = row["first"], row["last"]
            values |= {f"{prefix}_first_{place}": first, f"{prefix}_last_{place}": last}
            terms.append(
                f"o.call between (${prefix}_first_{place}::bigint[])[o.process + 1]"
                f" and (${prefix}_last_{place}::bigint[])[o.process + 1]"
            )
        return f"({' or '.join(terms)})", values

    def renumber(self, views: dict[str, pa.Table]) -> dict[str, pa.Table]:
        """The tables with numbers instead of ordinals in their columns `call`."""
        pairs = {name: self._pairs(table) for name, table in views.items()}
        every = list({pair for each in pairs.values() for pair in each if None not in pair})
        if not every:
            return views
        rows = self._numbered(
            "who, call, min(number) as number",  # a rank of several processes has the first's
            "semi join (select unnest($owners::bigint[]) as who, unnest($calls::bigint[]) as call) using (who, call)"
            " group by who, call",
            owners=[who for who, _ in every],
            calls=[call for _, call in every],
        )
        columns = (rows[name].to_pylist() for name in ("who", "call", "number"))
        number = {(who, call): number for who, call, number in zip(*columns, strict=True)}
        out = dict(views)
        for name, each in pairs.items():
            if each:
                place = views[name].column_names.index("call")
                numbers = pa.array([number.get(pair) for pair in each], pa.int64())
                out[name] = views[name].set_column(place, "call", numbers)
        return out

    def _pairs(self, table: pa.Table) -> list[tuple[int, int]]:
        """Who made each row's call, and its ordinal."""
        if "call" not in table.column_names:
            return []
        return list(zip(table[self.who].to_pylist(), table["call"].to_pylist(), strict=True))
