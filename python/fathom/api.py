"""The run that `fathom.open` gives: docs/python.md. Every table is Arrow (`pyarrow.Table`), times in its columns are
what their names say: `…_seconds` in seconds, `start` and `duration` of stored tables in ns; sizes are bytes.

Errors of all: `fathom.errors.UsageError` of a question that cannot be, with what can; `RunError` of data that cannot
be used.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from fathom.analysis import findings, pictured
from fathom.analysis.latency import ask, language, model
from fathom.analysis.latency import segment as segments
from fathom.attach import block
from fathom.cache import conclusions
from fathom.errors import UsageError, needed, unknown
from fathom.pages import bars
from fathom.pages import findings as words
from fathom.run import store
from fathom.run.database import of_path, one_of, table_of
from fathom.run.filter import LEVELS
from fathom.run.limitations import every_call, explain_missing, reads_and_writes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Longest calls and requests of an answer where nobody says how many.
TOP = 1000
CONCLUSIONS = pa.schema(
    [
        ("finding", pa.string()),
        ("title", pa.string()),
        ("layer", pa.string()),
        ("says", pa.string()),
        ("lost_seconds", pa.float64()),
        ("lost_between_seconds", pa.list_(pa.float64())),
        ("sure", pa.float64()),
        ("fix", pa.string()),
        ("knob", pa.string()),
        ("proof", pa.string()),
        ("limit", pa.string()),
        ("estimate", pa.string()),
        ("seen", pa.string()),
        ("calls", pa.list_(pa.uint64())),
        ("lines", pa.list_(pa.string())),
    ]
)
# Forms of a condition: an equal value, one of several, a pattern on paths.
EQUAL = ("rank", "layer", "op", "kind")


@dataclass(frozen=True)
class Answer:
    """What `Run.query` answers.

    `tables`: by name, the one that says most first; columns are told in docs/commands/query.md. `layers`: of a
    breakdown, from the top of the stack, each with a column `LAYER_seconds`. `servers`: number to name, of those that
    the tables speak of. `notes`: what is not in the answer, and why.
    """

    query: str
    tables: dict[str, pa.Table]
    layers: list[str]
    servers: dict[int, str]
    notes: list[str]
    _query: language.Query
    _answer: ask.Answer

    @property
    def table(self) -> pa.Table:
        """The table that says most."""
        return next(iter(self.tables.values()))

    def figure(self) -> Figure:
        """The picture of `fathom query --plot`, for a notebook: bars by layer or by server, seconds, MB/s, joules or
        numbers on the axis."""
        return bars.figure(bars.picture(self._query, self._answer))

    def save(self, path: str | Path) -> None:
        """The same into a file; its ending, .png, .svg or .pdf, says the form."""
        most = bars.most_of(Path(path))
        bars.save(Path(path), bars.picture(self._query, self._answer, most))


#: What a user asks of a run; completion in a shell or notebook names no more.
OFFERED = (
    "answers by calls findings heat manifest name path query sql table tables timeline"
).split()


class Run(store.Run):
    """One run. `run.tables` names its tables, `run.table("files")` gives one, `run.sql("select …")` asks."""

    def __dir__(self) -> list[str]:
        """For completion."""
        return list(OFFERED)

    def __repr__(self) -> str:
        """How it is opened again."""
        return f"fathom.open({str(self.path)!r})"

    def _repr_pretty_(self, printer: Any, _: bool) -> None:
        """What IPython shows in a terminal."""
        printer.text(str(self))

    # The page's tables take longer to load than a query to answer: only what needs them imports them.
    def __str__(self) -> str:
        """The screen of `fathom show`."""
        from fathom.pages import page, screen, screen_content

        return screen.text(screen_content.of(page.of_run(self)))

    def _repr_html_(self) -> str:
        """The same as a notebook renders it."""
        from fathom.pages import page, screen, screen_content

        return screen.html(screen_content.of(page.of_run(self)))

    def answers(self) -> dict[str, list[str]]:
        """The questions of `fathom show --all`, each with its answer in one sentence or more."""
        from fathom.pages import answers, page

        shown = page.of_run(self)
        return dict(answers.sentences(shown.answers, shown.name, shown.manifest))

    def calls(
        self,
        *,
        rank: int | Sequence[int] | None = None,
        layer: str | Sequence[str] | None = None,
        op: str | Sequence[str] | None = None,
        kind: str | Sequence[str] | None = None,
        file: str | None = None,
        time: tuple[float, float] | None = None,
        columns: Sequence[str] | None = None,
        longest: int | None = None,
    ) -> pa.Table:
        """Calls recorded in full, one row each, in the order in which they began.

        Columns are those of table `calls` (docs/tables.md; `start`, `duration` in ns, `size`, `bytes`, `file_offset` in
        bytes) with `exclusive` (ns), `path` of the file and `source_line` of an outermost call; `columns` names fewer.
        All conditions hold together: a value or several of them, `file` a glob on paths (of a name alone in any
        directory), `time` seconds of the run in which they began, the end excluded. `longest`: only so many, those
        that lasted longest first.
        """
        given = zip(EQUAL, (rank, layer, op, kind), strict=True)
        which = [self._one_of(name, value) for name, value in given if value is not None]
        if file is not None:
            which.append(of_path(file))
        if time is not None:
            first, last = (int(second * 1e9) for second in time)
            which.append(f"start >= {first} and start < {last}")
        limit = "" if longest is None else f" limit {int(longest)}"
        return self.many(
            f"select {', '.join(map(_name, columns)) if columns else '*'} from calls_with_places()"
            f" where {' and '.join(which) or 'true'}"
            f" order by {'duration desc, id' if limit else 'start, id'}{limit}"
        )

    def _one_of(self, name: str, wanted: int | str | Sequence[int] | Sequence[str]) -> str:
        values: list[int | str] = [wanted] if isinstance(wanted, int | str) else list(wanted)
        there = self._there(name)
        for value in values:
            if there and value not in there:
                all_of = (
                    f"there are {', '.join(map(str, there[:20]))}{' …' if len(there) > 20 else ''}"
                )
                names = map(str, there if isinstance(value, str) else ())
                raise UsageError(unknown(f"this run has no {name}", str(value), names, all_of))
        return one_of(name, values)

    def _there(self, name: str) -> list[int | str]:
        """All values that a column of this run can have, where these are few."""
        if name == "rank":
            rows = self.sql(
                "select distinct rank as one from processes where rank >= 0 order by one"
            )
            return list(rows["one"].to_pylist())
        if name == "layer":
            rows = self.sql("select distinct layer as one from counters")
            recorded = self.manifest.get("configuration", {}).get("layers", [])
            return sorted({*rows["one"].to_pylist(), *recorded})
        return []

    def by(self, *keys: str) -> pa.Table:
        """The table of `fathom show --by KEY[,KEY]`: calls, bytes, seconds by layer, function, rank, file, time, …;
        one key, or several that go together. Units are in the names of columns."""
        from fathom.pages import sections

        with explain_missing(self.manifest, every_call):
            return sections.rows_by(self, keys)[1]

    def query(
        self,
        text: str,
        *,
        lines: str | None = None,
        region: str | None = None,
        time: tuple[float, float] | None = None,
        layer: str | None = None,
        function: str | None = None,
        file: str | None = None,
        top: int = TOP,
    ) -> Answer:
        """The answer of `fathom query`: `run.query("latency operation max [0-3]")`. `lines` (`write.c:10-20`),
        `region`, `time` (seconds of the run), `layer`, `function`, `file` (a glob) choose of which calls; of calls and
        requests the `top` longest, 0: all."""
        query = language.parse(text)
        segment = segments.Segment(
            lines=None if lines is None else segments.lines(lines),
            region=region,
            time=time,
            layer=layer,
            function=function,
            file=file,
        )
        with explain_missing(self.manifest, reads_and_writes):
            answer = model.answer(self, query, segment, top)
        return Answer(
            str(query),
            answer.views,
            answer.layers,
            dict(answer.servers),
            answer.notes,
            query,
            answer,
        )

    def heat(self, value: str = "time", *, layer: str | None = None) -> Figure:
        """A map of processes and time, for a notebook: how much of its time each was in I/O calls, or the bytes that
        these moved, or how many they were (`bytes`, `calls`, each by second); of the program's own calls, or of those
        of a layer."""
        with needed("heat", "plot"):
            from fathom.pages import figures

        figures.check(value)
        if layer is not None:
            self._one_of("layer", layer)
        with explain_missing(self.manifest, every_call):
            return figures.heat(self.name, pictured.cells(self, layer), value)

    def timeline(
        self,
        *,
        rank: int | Sequence[int] | None = None,
        layer: str | Sequence[str] | None = None,
        time: tuple[float, float] | None = None,
    ) -> Figure:
        """What each process did when, for a notebook: its calls in the colours of their layers, one by one where they
        are few, else how busy each part of the time was. Of some ranks (else the first processes that made calls), some
        layers, some seconds of the run."""
        with needed("timeline", "plot"):
            from fathom.pages import figures

        which = "true" if rank is None else self._one_of("rank", rank)
        if layer is not None:
            self._one_of("layer", layer)
        layers = [layer] if isinstance(layer, str) else None if layer is None else list(layer)
        span = None if time is None else (int(time[0] * 1e9), int(time[1] * 1e9))
        if span and span[0] >= span[1]:
            raise UsageError(f"timeline: time={time}: it ends before it begins")
        with explain_missing(self.manifest, every_call):
            return figures.timeline(self.name, pictured.strips(self, which, layers, span))

    def findings(self, *names: str) -> pa.Table:
        """What `fathom show --findings` says: a row per finding, the most seconds first; of these `names` (files of SQL
        among them), or all. `lost_seconds` of run time is null where a danger costs none, `lost_between_seconds` the
        least and the most that they may be; `sure` is 0 to 1; `proof` is the command that proves it, or null; `calls`
        are `calls.id` of examples, `lines` the source lines of those."""
        concluded = conclusions.find(self, findings.rules(names))
        if concluded.broken:
            path, why = next(iter(concluded.broken.items()))
            raise UsageError(why if why.startswith(path) else f"{path}: {why}")
        rows = words.listed(self, self.manifest, concluded.conclusions)
        for row, finding in zip(rows, concluded.conclusions, strict=True):
            row["calls"] = finding.calls
        return pa.Table.from_pylist(rows, schema=CONCLUSIONS)


class Recording(block.Block):
    """What `fathom.record` gives: `run` when its block has ended."""

    @cached_property
    def run(self) -> Run:
        """The run, packed."""
        return store.open_as(Run, self.directory, quiet=True)


def record(
    name: str | PathLike[str] | None,
    *,
    level: str,
    layers: str | Sequence[str],
    files: str | Sequence[str],
) -> Recording:
    """`fathom.record`."""
    if level not in LEVELS:
        raise UsageError(unknown("record: no level", level, LEVELS))
    options = ["--level", level]
    if layers:
        options.append(f"--layers={layers if isinstance(layers, str) else ','.join(layers)}")
    globs = [files] if isinstance(files, str) else files
    return Recording(name, [*options, *(f"--files={glob}" for glob in globs)])


def diff(a: str | PathLike[str], b: str | PathLike[str], by: str) -> pa.Table:
    """`fathom.diff`."""
    from fathom.analysis import difference

    if by not in difference.BY:
        raise UsageError(unknown("no table", by, difference.BY))
    first, second = (difference.side(store.open_run(path)) for path in (a, b))
    return difference.BY[by](first, second)


def landscape(runs: Iterable[str | PathLike[str]]) -> pa.Table:
    """`fathom.landscape`. In this process alone: others would start a script that calls it once more."""
    from fathom.pages import landscapes

    paths = landscapes.below([fspath(path) for path in runs])
    rows = (make() for make in landscapes.each(paths, landscapes.Wanted(), alone=True))
    return table_of([landscapes.flat(row, []) for row in rows])


def _name(column: str) -> str:
    """A column's name as SQL writes it, whatever is in it."""
    return '"' + column.replace('"', '""') + '"'
