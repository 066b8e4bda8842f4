"""Workers that feed a consumer, and what each spent its time in: a table, and what it says in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from fathom.pages.part import Page
from fathom.text import numbers
from fathom.text.column import Column
from fathom.text.tables import columns, text, wrapped

# From this share of its time on it is worth a sentence.
MUCH = 0.5
SOME = 0.05


def _who(process: int, is_worker: bool) -> str:
    return f"  worker {process}" if is_worker else f"consumer {process}"


COLUMNS = (
    Column("process", "process", _who, right=False, also=("is_worker",)),
    Column("lasted", "seconds", numbers.seconds),
    Column("files", "files", numbers.count, spare=1),
    Column("read", "bytes", numbers.size),
    Column("reads/s", "reads_per_second", numbers.count, spare=2),
    Column("I/O", "io_share", numbers.percent),
    Column("waits", "waited_share", numbers.percent),
    Column("processor", "processor_share", numbers.percent),
    Column("queued", "processor_wait_share", numbers.percent, spare=3),
    Column("unknown", "rest_share", numbers.percent),
    Column("may run on", "allowed", text, right=False, spare=4),
)


def words(page: Page) -> list[str]:
    """What the table says of each consumer and its workers, and what it cannot say."""
    rows = page.rows("loaders")
    lines = [
        line
        for _, group in groupby(rows, key=lambda row: row["consumer"])
        for line in _about(list(group))
    ]
    if any((row["rest_share"] or 0) > SOME for row in rows):
        lines.append(
            "unknown: no call was seen and no processor used: poll(), locks (--layers +threads), sleep, page faults"
        )
    if any(row["rest_share"] is None for row in rows):
        lines.append(
            "what they spent outside of calls is not known: nobody read their processor time"
        )
    room = columns() - 4
    return [
        "\n    ".join([f"  {first}", *rest])
        for first, *rest in (wrapped(line, room) for line in lines)
    ]


def _about(rows: list[dict[str, Any]]) -> Iterator[str]:
    consumer, workers = rows[0], rows[1:]
    yield _waiting(consumer, numbers.things(len(workers), "worker"))
    io, waited, processor = (
        _mean(workers, f"{what}_share") for what in ("io", "waited", "processor")
    )
    if (processor or 0) > MUCH and (io or 0) < MUCH:
        yield f"its workers compute (decode, unpack) for {numbers.percent(processor)} of their time: that is no I/O"
    elif (io or 0) > MUCH:
        yield f"its workers are in I/O for {numbers.percent(io)} of their time"
    elif (waited or 0) > MUCH:
        yield f"its workers wait for it for {numbers.percent(waited)} of their time: the data is not the problem"
    yield from _processors(workers)


def _waiting(consumer: dict[str, Any], workers: str) -> str:
    name, share, rest = (
        f"process {consumer['process']}",
        consumer["waited_share"],
        consumer["rest_share"],
    )
    waited, lasted = (numbers.seconds(consumer[key]) for key in ("waited_seconds", "seconds"))
    much = f"{waited} of {lasted} ({numbers.percent(share)})"
    if consumer["waits_by"] == "main":
        return f"{name} waited {much} for its {workers}"
    if consumer["waits_by"] == "thread":
        return (
            f"a thread of {name} waits for its {workers}, and the main one did nothing for {much}"
        )
    if (rest or 0) > SOME:
        return f"{name} takes what {workers} made; how long it waited was not seen: unknown are {numbers.percent(rest)}"
    seen = "how long it waited was not seen" if rest is None else "it did not wait"
    return f"{name} takes what {workers} made; {seen}"


def _processors(workers: list[dict[str, Any]]) -> Iterator[str]:
    allowed = {row["allowed"] for row in workers}
    (one,) = allowed if len(allowed) == 1 else (None,)
    if len(workers) > 1 and one and one.isdigit():
        waited = numbers.percent(_mean(workers, "processor_wait_share"))
        yield f"its workers may all run on processor {one} only: they queued for it {waited} of their time"
    elif None in allowed:
        yield "on which processors they may run is not known"


def _mean(rows: list[dict[str, Any]], name: str) -> float | None:
    known = [row[name] for row in rows if row[name] is not None]
    return sum(known) / len(known) if known else None
