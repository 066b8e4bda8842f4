"""What the tables say of what an archive's events refer to."""

from typing import Any

from fathom.interop.exports.otf2.words import COLLECTIVES, Opening, opening
from fathom.interop.exports.selected import Selected

Row = dict[str, Any]


class Tables:
    """Rows of the run's smaller tables, as far as the selected calls refer to them.

    It leaves tables in the run's database that the statement of the calls (otf2_calls()) stands on: `handle`, and, for
    collectives of MPI, `communicator`, `collective_op`, `speaker`.
    """

    def __init__(self, selected: Selected) -> None:
        self.selected, run = selected, selected.run
        (facts,) = run.sql(
            f"select max(start + duration) as last from calls where {selected.where}"
        ).to_pylist()
        self.last: int = facts["last"] + selected.shift
        self.nodes: list[Row] = run.sql("from nodes order by node").to_pylist()
        self.streams = self._rows(f"otf2_streams({selected.where})")
        self.exported = {each["process"] for each in self.streams}
        self.processes = {each["process"]: each for each in self._rows("otf2_processes()")}
        self.regions = self._rows(f"otf2_regions({selected.where})")
        self.sites = self._rows(f"otf2_sites({selected.where})")
        #: Number of each site.
        self.places = {each["site"]: number for number, each in enumerate(self.sites)}
        run.keep("handle", f"from otf2_handles({selected.where})")
        self.handles: list[Row] = run.sql("from handle order by handle").to_pylist()
        self.files = self._rows("otf2_files('handle')")
        self._speakers()

    def _rows(self, macro: str) -> list[Row]:
        rows: list[Row] = self.selected.run.sql(f"from {macro}").to_pylist()
        return rows

    def opening(self, handle: int) -> Opening:
        """How it was opened."""
        row = self.handles[handle]
        return opening(row["paradigm"], row["flags"], row["created_op"] or "")

    def left_out(self) -> list[str]:
        """What an archive has no place for, a line each."""
        (bare,) = self._rows(f"otf2_bare({self.selected.where})")
        if not bare["calls"]:
            return []
        return [
            f"{bare['calls']:,} reads and writes are regions only: what they were made on was not recorded"
        ]

    def _speakers(self) -> None:
        """Of MPI: the thread that stands for each rank, and groups of ranks that are all there."""
        first: dict[int, int] = {}
        for stream in self.streams:
            process = self.processes[stream["process"]]
            if process["rank"] is not None and process["main"] and stream["main"]:
                first.setdefault(process["rank"], stream["stream"])
        #: Stream of each rank, in the order of ranks.
        self.speakers = dict(sorted(first.items()))
        #: Groups of ranks, by their hash.
        self.communicators = [
            each
            for each in self._rows("otf2_communicators()")
            if each["members"] and all(rank in self.speakers for rank in each["members"])
        ]
        # Of a part of the time one rank's call may be in it and another's not: no collective of MPI then.
        matched = self.communicators if self.selected.part.time is None else []
        keep = self.selected.run.keep
        keep(
            "communicator",
            _values(
                "group_hash ubigint, communicator bigint",
                [(each["group_hash"], number) for number, each in enumerate(matched)],
            ),
        )
        keep(
            "collective_op",
            _values(
                "op varchar, number bigint",
                [(f"'{op}'", one.value) for op, one in COLLECTIVES.items()],
            ),
        )
        keep("speaker", _values("stream uinteger", [(each,) for each in self.speakers.values()]))


def _values(columns: str, rows: list[tuple[object, ...]]) -> str:
    """A statement that gives these rows, none among them. `columns`: names and types."""
    nothing = ["null"] * (columns.count(",") + 1)
    values = ", ".join(f"({', '.join(map(str, row))})" for row in [*rows, nothing])
    names = ", ".join(column.split()[0] for column in columns.split(", "))
    casts = ", ".join("{0}::{1} as {0}".format(*column.split()) for column in columns.split(", "))
    first = names.split(", ")[0]
    return f"select {casts} from (values {values}) as t({names}) where {first} is not null"
