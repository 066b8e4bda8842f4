"""Operations that several ranks make together: waiting for the last, communication, storage."""

import pyarrow as pa

from fathom.analysis import Source
from fathom.analysis.latency.ask import Answer, Question
from fathom.analysis.latency.pieces import statement
from fathom.analysis.latency.segment import whole
from fathom.run.arrow import compute as pc
from fathom.run.database import as_doubles

COLUMNS = {
    "collective": "collective", "layer": "layer", "function": "op", "path": "path", "ranks_seen": "ranks_seen",
    "ranks_expected": "ranks_expected", "start_seconds": "start", "seconds": "elapsed", "waiting_seconds": "waiting",
    "longest_seconds": "longest", "slowest_rank": "slowest", "mean_seconds": "mean", "communication_seconds": "talk",
    "communication_summed_seconds": "talk_sum", "storage_seconds": "storage", "storage_summed_seconds": "storage_sum",
    "servers": "servers", "accesses": "accesses", "bytes": "bytes",
}  # fmt: skip


def _communication_known(source: Source) -> bool:
    """Is each MPI call below MPI-IO a row of its own, so that a call's exchange can be told?"""
    (row,) = source.sql(
        "select coalesce(sum(calls), 0) as calls, coalesce(sum(recorded), 0) as recorded from counters"
        " where layer = 'mpi' and enclosing_layer = 'mpiio'"
    ).to_pylist()
    return bool(row["calls"]) and row["calls"] == row["recorded"]


def collectives(ask: Question) -> Answer:
    """View `collective`: those that the calls asked for are part of, with their members at all ranks."""
    longest = ask.ask("collectives_asked", {"top": ask.top})["collective"]
    everywhere = Question(ask.run, ask.query, whole(ask.part.who), ask.top)
    rows = everywhere.ask(
        "collective_members",
        {"collectives": longest.to_pylist()},
        counted=statement("any_subcall", servers_set="true"),
    )
    servers = pc.list_value_length(rows["servers"]).cast(pa.int64())
    rows = rows.drop_columns("servers").append_column("servers", servers)
    rows = rows.append_column("mean", pc.divide(as_doubles(rows["total"]), rows["members"]))
    table = ask.table(rows, COLUMNS)
    answer = Answer(ask.part.who, {"collective": table})
    if not _communication_known(ask.source):
        for name in ("communication_seconds", "communication_summed_seconds"):
            place = table.column_names.index(name)
            table = table.set_column(place, name, pa.nulls(table.num_rows, pa.float64()))
        answer.views["collective"] = table
        answer.notes.append(
            "communication inside a call is not known: --layers +mpi records it (not of OMPIO, which hides it)"
        )
    return answer
