"""The last part of a page: how many calls were recorded, what tracing cost, what is missing."""

from pathlib import PurePath
from signal import SIGKILL, SIGPIPE, SIGTERM, Signals

from fathom.analysis import summary
from fathom.analysis.landscape import are_files_known
from fathom.analysis.part import FILES_UNTOLD, went_past
from fathom.pages.part import Page
from fathom.run.launchers import starts_others
from fathom.run.manifest import TOOLS, ended, failure, imported_by
from fathom.text import numbers
from fathom.text.quoting import shell
from fathom.text.tables import printable

MOST_LINES = 20
UNSEEN = 0.05  # of a run in which a script's shell alone ran
#: Signals whose name does not say why they are sent.
SENT_BY: dict[int, str] = {
    SIGPIPE: ": nothing read what it wrote any more",
    SIGKILL: ": out of memory, or by somebody",
}


def _recorded(page: Page) -> tuple[str, list[tuple[str, int]]]:
    seen = summary.coverage(page.source, page.manifest.get("configuration", {}).get("counted", []))
    calls_in_all = seen["recorded"] + seen["counted"]
    if not calls_in_all:
        return "no call was recorded", seen["by_choice"]
    share = f" ({numbers.percent(seen['recorded'] / calls_in_all)})"
    calls = "calls"
    if went_past(page.source):
        calls, share = "calls that were seen", ""
    line = (
        f"{seen['recorded']:,} of {calls_in_all:,} {calls} recorded in full{share}, "
        f"{seen['counted']:,} in counters only"
    )
    return line, seen["by_choice"]


def one_line(page: Page) -> str:
    """Coverage and cost, for an answer that is no page."""
    return f"{_recorded(page)[0]}; cost of tracing: {_cost(page)}"


def coverage(page: Page) -> list[str]:
    """Calls recorded in full and counted, the cost of tracing, the size of the streams."""
    runs = page.runs
    line, by_choice = _recorded(page)
    size = numbers.size(runs["stream_bytes"])
    # Where most calls were only counted, the bytes are not those of rows.
    by_rows = runs["events"] > runs["counted"]
    per = f", {numbers.size(runs['stream_bytes'] / runs['events'])} per call" if by_rows else ""
    silent = _silent_layers(page)
    return [
        f"  {line}",
        *(
            f"  layer {layer} is counted only: {calls:,} calls; --layers +{layer} records them"
            for layer, calls in by_choice
        ),
        f"  cost of tracing: {_cost(page)}",
        f"  streams: {size}{per}",
        *([f"  no call seen of: {', '.join(silent)}"] if silent else []),
        *([] if are_files_known(page.source) else [f"  files are not told: {FILES_UNTOLD}"]),
        *_left_out(page),
    ]


def apart(calls: int, files: int, seconds: float) -> str | None:
    """What is not the program's, if there is any."""
    if not calls:
        return None
    return (
        f"{numbers.things(calls, 'call')} on {numbers.things(files, 'file')}, {numbers.seconds(seconds)}, of the MPI"
        " library's start and end, of launchers, and on files of the system and of interpreters"
    )


def left_out(calls: int, files: int, seconds: float) -> list[str]:
    """The same as a line, with what puts it in."""
    omitted = apart(calls, files, seconds)
    return [f"left out: {omitted}; --with-runtime puts them in"] if omitted else []


def _left_out(page: Page) -> list[str]:
    (row,) = summary.beside(page.source).to_pylist()
    return [f"  {line}" for line in left_out(**row)]


def _silent_layers(page: Page) -> list[str]:
    configuration = page.manifest.get("configuration", {})
    layers_asked = configuration.get("layers", []) if configuration.get("layers_asked") else []
    seen = {row["layer"] for row in page.rows("layers")} | {"user"}  # its regions need not be there
    if page.rows("waits"):
        seen.add("threads")
    return [name for name in layers_asked if name not in seen]


def _cost(page: Page) -> str:
    tool = imported_by(page.manifest)
    if tool:
        return f"that of {tool}, which does not say it"
    (own,) = page.rows("tracing")
    rows = f"{numbers.seconds(own['seconds'])} in {numbers.things(own['calls'], 'row')} of Fathom's own work"
    if page.per_call is None:
        return f"{rows}; what each call adds could not be measured here{_around(page)}"
    calls = page.runs["events"] + page.runs["counted"]
    total = own["seconds"] + calls * page.per_call
    return (
        f"{numbers.seconds(total)} summed over processes: {rows}, and {calls:,} calls at "
        f"{numbers.seconds(page.per_call)}, as measured on this machine{_around(page)}"
    )


def _around(page: Page) -> str:
    """What `fathom run` took before its first process was recorded and after the last: a launcher's time is in it."""
    started, ended_ = page.manifest.get("start_ns"), page.manifest.get("end_ns")
    if not started or not ended_ or not page.runs["started"]:
        return ""
    seconds = (ended_ - started - page.runs["duration"]) / 1e9
    if seconds <= 0:  # a script's are its own, some call's time is damaged, or a clock was set
        return ""
    return (
        f"; {numbers.seconds(seconds)} at most before the program and after it, with the launcher's"
    )


def _usual(page: Page) -> list[int]:
    """Signals that end processes of a run of which nothing is the matter: whose reader ended, and workers that are no
    longer needed."""
    return [SIGPIPE, SIGTERM] if ended(page.manifest) and not failure(page.manifest) else [SIGPIPE]


def _killed(number: int | None) -> str:
    """How processes that did not end in order ended."""
    if number is None:
        return "did not end in order: killed, aborted, ended by a system call of its own, or its node was lost"
    names = {one.value: one.name for one in Signals}
    return f"ended by {names.get(number, f'signal {number}')}{SENT_BY.get(number, '')}"


def _cut(page: Page, signals: list[int]) -> int:
    """How many calls these signals cut off, also on files of the system: of the same calls as the run's own number."""
    sql = (
        "with cut as (select process, state from calls union all select process, state from runtime_calls)"
        " select count(*) as n from cut join processes using (process)"
        " where state <> 'done' and list_contains($signals, signal)"
    )
    return int(page.source.sql(sql, signals=signals)["n"][0].as_py()) if signals else 0


def _unseen(page: Page) -> list[str]:
    """What a script did itself, where it took a part of the run that is worth a line."""
    command = page.manifest.get("command")
    if not command or not page.runs["processes"] or not starts_others(str(command[0])):
        return []
    (alone,) = page.source.sql("select unseen_time() / 1e9 as seconds").to_pylist()
    seconds, run_seconds = alone["seconds"], page.runs["duration"] / 1e9
    if seconds < UNSEEN * run_seconds:
        return []
    name = printable(PurePath(str(command[0])).name)
    return [
        f"  for {numbers.seconds(seconds)} of {numbers.seconds(run_seconds)} no program ran that is recorded: "
        f"{name} itself worked or waited, or what cannot be recorded (fathom doctor)"
    ]


def missing(page: Page, usual: bool = True) -> list[str]:
    """What is not in the tables, and why; the most frequent first. `usual`: also what ends as it should."""
    runs = page.runs
    killed = {number: count for (how, number), count in page.ended.items() if how == "killed"}
    left_out = [] if usual else [number for number in _usual(page) if killed.pop(number, 0)]
    counts = [
        *((count, "process", _killed(number)) for number, count in killed.items()),
        (page.how_many("open"), "process", "still ran when the run was packed"),
        (runs["unfinished"] - _cut(page, left_out), "call", "had not ended, or its row is lost"),
        (runs["chunks_skipped"], "damaged stretch", "skipped"),
        (runs["chunks_missing"], "chunk", "missing"),
    ]
    lines = [
        f"  {numbers.things(count, what, None if what[-1] in 'lk' else what + 'es')} {how}"
        for count, what, how in counts
        if count
    ]
    lines += _unseen(page)
    for row in page.rows("missing"):
        detail = f": {printable(row['detail'])}" if row["detail"] else ""
        # What an imported log lacks, and which calls were dropped, is one mark, whose value says how often.
        by_value = row["kind"] in TOOLS or row["kind"] == "calls dropped"
        often = row["value"] if by_value else row["marks"]
        times = f" ({often:,} times)" if often > 1 else ""
        lines.append(f"  {printable(row['kind'])}{detail}{times}")
    if len(lines) > MOST_LINES:
        more = len(lines) - MOST_LINES
        lines[MOST_LINES:] = [
            f"  and {more:,} more: fathom query {shell([page.name])} --sql 'from marks'"
        ]
    return lines
