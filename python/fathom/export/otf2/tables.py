"""What the tables say of what an archive's events refer to."""

from typing import Any

from fathom.export.selected import Selected

Row = dict[str, Any]


class Tables:
    """Rows of the run's smaller tables, as far as the selected calls refer to them."""

    def __init__(self, selected: Selected) -> None:
        run, where = selected.run, selected.where
        (facts,) = run.sql(
            "select started, (select min(start) from calls) as first,"
            f" (select max(start + duration) from calls where {where}) as last from runs"
        ).to_pylist()
        self.started: int = facts["started"]
        #: Added to all times: OTF2 has none before 0.
        self.shift = max(0, -facts["first"])
        self.last: int = facts["last"] + self.shift
        self.nodes: list[Row] = run.sql("from nodes order by node").to_pylist()
        self.streams: list[Row] = run.sql(
            "select s.stream, s.process, s.tid, s.side, s.tid = p.pid as main"
            " from streams as s join processes as p using (process)"
            f" where stream in (select stream from calls where {where}) order by stream"
        ).to_pylist()
        self.exported = {each["process"] for each in self.streams}
        self.processes = {each["process"]: each for each in run.sql(PROCESSES).to_pylist()}
        self.ops: list[Row] = run.sql(REGIONS.format(where=where)).to_pylist()


#: `main`: the first process of its rank, what it starts later has its rank too. `server`: it served others.
PROCESSES = """
select process, pid, parent, node, exe, command, rank, ranks,
	process = min(process) over (partition by rank) as main,
	process in (select process from counters where layer = 'server') as server
from processes order by process
"""

#: A region of each op.
REGIONS = """
select row_number() over (order by layer, op, kind) - 1 as region, layer, op, kind
from (select distinct layer, op, kind from calls where {where})
"""
