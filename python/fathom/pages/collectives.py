"""How collective I/O and data sieving are shown: columns, and what is said below them."""

from typing import Any

from fathom.analysis import ranklist
from fathom.pages.part import Page
from fathom.text import numbers
from fathom.text.column import Column
from fathom.text.tables import text


def _ranks(ranks: list[int | None] | None) -> str:
    return ranklist.compress(rank for rank in ranks or () if rank is not None) or "-"


def _ranks_known(ranks: list[int | None] | None) -> str:
    return "unknown" if ranks is None else _ranks(ranks)


def _words(words: list[str]) -> str:
    return ", ".join(words)


def known_size(value: float | None) -> str:
    """Bytes, where they are known."""
    return "unknown" if value is None else numbers.size(value)


def _known_percent(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f} %"


OPERATIONS = (
    Column("function", "op", text, right=False),
    Column("start", "start_seconds", numbers.seconds, spare=4),
    Column("took", "elapsed_seconds", numbers.seconds),
    Column("ranks", "ranks", numbers.count),
    Column("bytes", "bytes", numbers.size),
    Column("aggregators", "aggregator_ranks", _ranks, right=False),
    Column("nodes", "aggregator_nodes", numbers.count, spare=6),
    Column("domains", "domains", text, right=False),
    Column("of others", "for_others_bytes", numbers.size, spare=3),
    Column("calls", "system_calls", numbers.count),
    Column("rounds", "rounds", numbers.count, spare=1),
    Column("largest", "chunk_bytes", numbers.size, spare=2),
    Column("waiting", "wait_seconds", numbers.seconds),
    Column("exchange", "exchange_seconds", numbers.known_seconds),
    Column("I/O", "io_seconds", numbers.seconds),
    Column("rest", "rest_seconds", numbers.seconds),
    Column("file", "path", text, right=False, is_path=True),
)
FUNCTIONS = (
    Column("function", "op", text, right=False),
    Column("number", "operations", numbers.count),
    Column("bytes", "bytes", numbers.size),
    Column("aggregators", "aggregators", numbers.count),
    Column("of ranks", "ranks", numbers.count, spare=2),
    Column("domains", "domains", _words, right=False),
    Column("calls", "system_calls", numbers.count),
    Column("rounds", "rounds", numbers.count, spare=1),
    Column("largest", "chunk_bytes", numbers.size, spare=3),
    Column("time", "seconds", numbers.seconds),
    Column("waiting", "wait_seconds", numbers.seconds),
    Column("exchange", "exchange_seconds", numbers.known_seconds),
    Column("I/O", "io_seconds", numbers.seconds),
    Column("rest", "rest_seconds", numbers.seconds),
    Column("file", "path", text, right=False, is_path=True),
)
AGGREGATORS = (
    Column("rank", "rank", numbers.count),
    Column("host", "host", text, right=False, spare=1),
    Column("function", "op", text, right=False),
    Column("operations", "operations", numbers.count, spare=2),
    Column("calls", "system_calls", numbers.count),
    Column("bytes", "bytes", numbers.size),
    Column("of ranks", "of_ranks", _ranks_known, right=False),
    Column("own", "own_bytes", known_size),
    Column("sure", "confidence", _known_percent, spare=3),
    Column("time", "seconds", numbers.seconds),
    Column("file", "path", text, right=False, is_path=True),
)
SIEVING = (
    Column("function", "op", text, right=False),
    Column("calls", "calls", numbers.count),
    Column("bytes", "bytes", numbers.size),
    Column("reads", "reads", numbers.count, spare=5),
    Column("read", "bytes_read", numbers.size),
    Column("writes", "writes", numbers.count, spare=4),
    Column("written", "bytes_written", numbers.size),
    Column("extra", "extra_bytes", numbers.size),
    Column("asked/moved", "efficiency", numbers.percent),
    Column("unaligned", "unaligned", numbers.count, spare=6),
    Column("locks", "locks", numbers.count, spare=3),
    Column("locking", "lock_seconds", numbers.seconds, spare=2),
    Column("file", "path", text, right=False, is_path=True),
)
SIEVED_CALLS = (
    Column("call", "call", str, right=False, spare=2),
    Column("start", "start_seconds", numbers.seconds, spare=3),
    Column("rank", "rank", numbers.count),
    Column("function", "op", text, right=False),
    Column("bytes", "bytes", numbers.size),
    Column("reads", "reads", numbers.count),
    Column("read", "bytes_read", numbers.size),
    Column("writes", "writes", numbers.count),
    Column("written", "bytes_written", numbers.size),
    Column("extra", "extra_bytes", numbers.size),
    Column("locks", "locks", numbers.count),
    Column("locking", "lock_seconds", numbers.seconds, spare=1),
    Column("time", "seconds", numbers.seconds),
    Column("file", "path", text, right=False, is_path=True),
)
EXCHANGE = (
    Column("function", "op", text, right=False),
    Column("calls", "calls", numbers.count),
    Column("time", "seconds", numbers.seconds),
    Column("exchange", "exchange_seconds", numbers.known_seconds),
    Column("POSIX", "posix_seconds", numbers.seconds),
    Column("rest", "rest_seconds", numbers.known_seconds),
)


def unknown_exchange(page: Page) -> list[str]:
    """Why some exchange is not known: then a layer's exclusive time holds it."""
    unknown = [row for row in page.rows("exchange") if row["exchange_seconds"] is None]
    if not unknown:
        return []
    configuration = page.manifest.get("configuration", {})
    on = {*configuration.get("layers", ["mpi"]), *configuration.get("counted", [])}
    romio = page.source.sql("select romio_component() as name")["name"][0].as_py()
    why = (
        f"this MPI-IO shows only a part of it to others (OMPIO: --mca io {romio} shows all)"
        if "mpi" in on
        else "layer mpi was off"
    )
    seen = sum(row["seen_seconds"] for row in unknown)
    part = f"; at least {numbers.seconds(seen)}" if seen else ""
    return [f"  exchange unknown: {why}{part}. mpiio's exclusive time holds it"]


def about_functions(page: Page) -> list[str]:
    """What the columns of times hold where the exchange is not known, and where it is told all the same."""
    rows = [row for row in page.rows("collective_functions") if row["exchange_seconds"] is None]
    unknown = {row["op"] for row in rows}
    if not unknown:
        return []
    if any(row["wait_seconds"] is None for row in rows):
        return [
            "  of the ranks whose calls were recorded in full: waiting and exchange are unknown, rest holds them"
        ]
    known = {row["op"] for row in page.rows("exchange") if row["exchange_seconds"] is not None}
    if unknown <= known:
        return [
            "  exchange unknown: counters have it of a function (the table above), not of each file of several;"
            " rest holds it here"
        ]
    return ["  where the exchange is unknown, rest holds it"]


def _line(row: dict[str, Any]) -> str:
    ranks = numbers.things(row["ranks_expected"], "rank")
    line = f"  {row['op']}: {numbers.things(row['operations'], 'operation')} of {ranks}"
    if row["incomplete"]:
        line += f", {row['incomplete']:,} not seen of all (least {row['ranks_seen']:,})"
    if row["disagreeing"]:
        line += f", {row['disagreeing']:,} where ranks disagree"
    return line


def joined(page: Page) -> list[str]:
    """Which collective calls were seen, and of how many ranks."""
    return [_line(row) for row in page.rows("collectives")]
