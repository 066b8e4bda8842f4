"""A run's calls as a program: its C, its table, and what had to be left out."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib import resources
from pathlib import PurePosixPath

from fathom.analysis.distribution.shapes import shapes
from fathom.codegen.generate.emit.folding import fold as folded
from fathom.codegen.replay import hdf5, mpiio, posix
from fathom.codegen.replay.calls import DIRECTORIES, LAYERS, Call, Recorded, read
from fathom.codegen.replay.compare import Expected, expected
from fathom.codegen.replay.fold import Line, fold
from fathom.codegen.replay.growth import Job
from fathom.codegen.replay.making import Cannot, LeftOut, Lines, Making, Names
from fathom.codegen.replay.order import ASKS, MISSES, Effect, Order, order
from fathom.codegen.replay.resize import Resized, resized
from fathom.codegen.replay.text import Writer, plain
from fathom.errors import RunError, printable
from fathom.run.mpi import family
from fathom.run.store import Run
from fathom.text import numbers
from fathom.text.quoting import c_string

PAGE = 4096
#: Headers by what of them is used; those without are always there.
HEADERS = {
    "dirent.h": r"\bopendir\b", "errno.h": r"\berrno\b", "hdf5.h": r"\bH5",
    "fcntl.h": r"\b(O|AT)_|\bfcntl\b|\bfallocate\b|\breadahead\b",
    "limits.h": r"\b(PATH|IOV)_MAX\b", "stdint.h": "", "stdio.h": "", "stdlib.h": "", "string.h": "",
    "sys/file.h": r"\bflock\(", "sys/mman.h": r"\bmmap\b", "sys/stat.h": r"\bmkdir|stat",
    "sys/statfs.h": r"\bstatfs\b",
    "sys/statvfs.h": r"\bstatvfs\b", "sys/uio.h": r"\biovec\b", "time.h": r"\bnanosleep\b", "unistd.h": "",
}  # fmt: skip


@dataclass(frozen=True)
class Program:
    """`left_out`: calls by reason, which the program does not make; `environment`: chooses the run's I/O library."""

    name: str
    layer: str
    mpi: str
    ranks: int
    calls: int
    text: str
    table: bytes
    left_out: Counter[str]
    remarks: list[str]
    hdf5: bool
    expected: Expected
    environment: dict[str, str]


@dataclass(frozen=True)
class Wanted:
    """Of what a program is made: calls on which files, how long it waits, on how many ranks, how large their parts."""

    think: float = 0.0
    glob: str | None = None
    ranks: int | None = None
    factor: Fraction = Fraction(1)


def program(run: Run, layer: str | None, wanted: Wanted) -> Program:
    """At this layer, else at the highest that can be replayed. RunError says why none can."""
    if layer:
        return _Build(run, read(run, layer, wanted.glob), wanted).program()
    reasons = []
    for one in LAYERS:
        try:
            recorded = read(run, one, wanted.glob)
            if any(call.layer == one for call in recorded.every()):
                return _Build(run, recorded, wanted).program()
        except RunError as why:
            reasons.append(f"at layer {one}: {why}")
    raise RunError("\n  ".join(reasons) or f"{run.name}: no call on a file that can be replayed")


class _Build:
    def __init__(self, run: Run, recorded: Recorded, wanted: Wanted) -> None:
        self.run, self.think = run, wanted.think
        if not any(recorded.calls):
            raise RunError(f"{run.name}: no call of layer {recorded.layer} on a file was recorded")
        resized_run = Resized(recorded, mpiio.views(run), shapes(run), [])
        job = Job(recorded.ranks, wanted.ranks or recorded.ranks, wanted.factor)
        self.changed = ""
        if job != job.same:
            resized_run, self.changed = resized(run, resized_run, job), f" for {job}"
        self.recorded, self.remarks = resized_run.recorded, resized_run.remarks
        self.names = Names(self.recorded)
        self.files = mpiio.Files(self.recorded, resized_run.views, _hints(run), _completed(run))
        self.library = hdf5.library(run, self.files, self.recorded.objects, resized_run.shapes)
        self.left_out = Counter(recorded.left_out)
        self.own_directories = _own_directories(self.recorded)
        self.called: set[int] = set()
        self.prepared: set[str] = set()
        self.largest = 0
        self.used: dict[str, int] = defaultdict(int)

    def program(self) -> Program:
        """The whole program."""
        sequence = order(
            self.recorded.calls, self._effects, self.files.together,
            lambda call: call.op in ("MPI_File_open", "H5Fcreate", "H5Fopen"),
        )  # fmt: skip
        self._check_new(sequence)
        writer = Writer(self.recorded.ranks, self.think)
        statements = [self._rank(rank, sequence) for rank in range(self.recorded.ranks)]
        functions, calls = writer.functions([fold(lines) for lines in statements])
        return Program(
            self.run.name, self.recorded.layer, self.recorded.mpi, self.recorded.ranks,
            sum(map(len, self.recorded.calls)), self._text(writer, sequence, functions, calls),
            writer.table.bytes(), self.left_out, self._remarks(),
            any(call.layer == "hdf5" for call in self.recorded.every()),
            expected(self.run, self.recorded, self.called, bool(self.changed), self.prepared),
            _environment(self.run, self.recorded.mpi),
        )  # fmt: skip

    def _effects(self, call: Call) -> list[Effect]:
        effects = self._direct_effects(call)
        existing = {effect.path for effect in effects if effect.does != MISSES}
        inside = {str(parent) for path in existing for parent in PurePosixPath(path).parents}
        return effects + [Effect(parent, ASKS) for parent in sorted(inside & self.own_directories)]

    def _direct_effects(self, call: Call) -> list[Effect]:
        if call.layer == "posix":
            return posix.effects(call)
        return mpiio.effects(self.files, call) if call.layer == "mpiio" else hdf5.effects(call)

    def _check_new(self, sequence: Order) -> None:
        """What HDF5 reads must be a file of HDF5: one that the run made."""
        for call in self.recorded.every():
            if call.op == "H5Fopen" and call.path in sequence.lengths:
                raise RunError(
                    f"{self.run.name}: {call.path} was there before the run: HDF5 can read no made-up file"
                )

    def _rank(self, rank: int, sequence: Order) -> Lines:
        """Statements of one rank, barriers among them."""
        making = Making(self.recorded, self.names, rank)
        makers: dict[str, Callable[[Call], Lines]] = {
            "posix": lambda call: posix.lines(making, call),
            "mpiio": mpiio.Maker(making, self.files).lines,
            "hdf5": hdf5.Maker(making, self.library).lines,
        }
        lines: Lines = []
        passed, until = 0, None
        for call, before in zip(self.recorded.calls[rank], sequence.before[rank], strict=True):
            lines += [Line("MPI_Barrier(MPI_COMM_WORLD);")] * (before - passed)
            passed = before
            gap = max(0, call.start - until) if until is not None and self.think else 0
            try:
                first, *rest = makers[call.layer](call)
            except LeftOut:
                self.left_out[f"{call.op}: moves no data"] += 1
                continue
            except (Cannot, KeyError) as failure:
                missing = isinstance(failure, KeyError)
                why = f"its {failure.args[0]} was not recorded" if missing else failure
                raise RunError(
                    f"{self.run.name}: rank {rank}: {call.op} on {call.path or 'a file'} cannot be replayed: {why}"
                ) from failure
            self.called.add(call.id)
            lines += [Line(first.text, first.numbers, gap), *rest]
            until = call.stop
        lines += [Line("MPI_Barrier(MPI_COMM_WORLD);")] * (sequence.barriers - passed)
        self.largest = max(self.largest, making.largest)
        for array, slots in making.slots.items():
            self.used[array] = max(self.used[array], slots.used)
        return lines

    def _text(self, writer: Writer, sequence: Order, functions: list[str], calls: list[str]) -> str:
        root = PurePosixPath(self.recorded.root)
        below = [str(PurePosixPath(path).relative_to(root)) for path in self.names.paths]
        before = self._before(sequence, root)
        starts = []
        if self.files.numbers:
            starts.append("\tif (wrong == 0)\n\t\tmake_communicators();")
        if writer.table.length:
            starts.append("\tif (wrong == 0)\n\t\twrong = find_table();")
        slots = {
            "\t\t/* prepare */\n": "\n".join(f"\t\t{line}" for line in before),
            "\t/* start */\n": "\n".join(starts),
            "\t\t/* replay */\n": "\n".join(f"\t\t{line}" for line in calls),
        }
        body = "\n\n".join(functions)
        parts = _parts(body, slots)
        lists = [*self._lists(), *writer.declarations()]
        code = "\n\n".join([*lists, *parts[0], body, *parts[1]])
        names = f"static const char *const name[] = {{{', '.join(map(c_string, below))}}};"
        return folded("\n\n".join([self._head(code, writer), names, code]))

    def _before(self, sequence: Order, root: PurePosixPath) -> list[str]:
        """What makes the directories, and the files that were there."""
        regular = self._kind("regular")
        directories = {
            str(part)
            for path in self.names.paths
            for part in PurePosixPath(path).relative_to(root).parents
            if str(part) != "." and str(root / part) not in regular
        } - {str(PurePosixPath(path).relative_to(root)) for path in self.own_directories}
        directories |= {
            str(PurePosixPath(path).relative_to(root))
            for path in sequence.lengths.keys() & self._kind("directory")
            if path != str(root)
        }
        files = sorted(
            (self.names[path], size)
            for path, size in sequence.lengths.items()
            if path != str(root)
            and path not in self.own_directories
            and str(PurePosixPath(path).relative_to(root)) not in directories
        )
        self.prepared = directories | {
            str(PurePosixPath(self.names.paths[file]).relative_to(root)) for file, _ in files
        }
        statements = [
            Line(f"wrong = wrong || make_directory({c_string(directory)});")
            for directory in sorted(directories)
        ]
        statements += [Line("wrong = wrong || make_file($0, $1);", file) for file in files]
        return plain(fold(statements))

    def _kind(self, kind: str) -> set[str]:
        """Names of which the run shows that they were of this kind."""
        return {one.path for one in self.recorded.objects.values() if one.kind == kind}

    def _lists(self) -> list[str]:
        """What statements name beyond numbers of ranks."""
        lists = []
        if self.library.labels:
            text = ", ".join(map(c_string, self.library.labels))
            lists.append(f"static const char *const label[] = {{{text}}};")
        if self.files.blocks:
            rows = [row for blocks in self.files.blocks for row in blocks]
            text = ", ".join(f"{{{start}, {size}}}" for start, size in rows)
            lists.append(f"static const int64_t block[][2] = {{{text}}};")
        if self.files.numbers:
            groups = list(self.files.numbers)
            lists.append(
                f"static const int members[] = {{{', '.join(str(len(g)) for g in groups)}}};"
            )
            all_ = ", ".join(str(rank) for group in groups for rank in group)
            lists.append(f"static const int member[] = {{{all_}}};")
        return lists

    def _head(self, code: str, writer: Writer) -> str:
        values = {
            "RANKS": self.recorded.ranks,
            "PAGE": PAGE,
            "ROOM": (self.largest // PAGE + 2) * PAGE,
            "DESCRIPTORS": self.used["fd"],
            "MPI_FILES": self.used["fh"],
            "REQUESTS": self.used["request"],
            "IDS": self.used["id"],
            "COMMUNICATORS": len(self.files.numbers),
            "HINTS": max(map(len, self.files.hints.values()), default=0) + 1,
            "BLOCKS": max(map(len, self.files.blocks), default=0),
            "PARTS": max((len(view.parts) for view in self.files.views.values()), default=0),
            "TABLE": writer.table.length * 8,
        }
        used = [f"\t{name} = {value}," for name, value in values.items() if _names(code, name)]
        includes = [f"#include <{name}>" for name, mark in HEADERS.items() if re.search(mark, code)]
        calls = numbers.things(sum(map(len, self.recorded.calls)), "call")
        makes = f"{calls} of {numbers.things(self.recorded.ranks, 'rank')}"
        return "\n".join(
            [
                f"/* Makes the I/O of the run {printable(self.run.name)} again{self.changed},"
                f" from layer {self.recorded.layer} down: {makes}.",
                " * Written by fathom replay. */",
                "#define _GNU_SOURCE",
                "#include <mpi.h>",
                *includes,
                "",
                "enum {",
                *used,
                "};",
            ]
        )

    def _remarks(self) -> list[str]:
        remarks = list(self.remarks)
        if self.recorded.threads > 1:
            remarks.append(
                f"calls of up to {self.recorded.threads} threads of a rank are made by one, as they began"
            )
        scattered = self.run.sql(
            "select sum(holes_memory + holes_both) as calls from counters where layer = 'mpiio'"
            " and coalesce(enclosing_layer, '') not in ('mpiio')"
        ).to_pylist()[0]["calls"]
        if scattered and self.recorded.layer == "mpiio":
            remarks.append(
                f"{scattered:,} calls had their data in several pieces of memory; here it is in one"
            )
        return remarks


def _own_directories(recorded: Recorded) -> set[str]:
    """Directories that the run made itself, and that were not there before."""
    first: dict[str, Call] = {}
    for call in sorted(recorded.every(), key=lambda call: call.stop):
        if not call.failed and call.path not in first and call.layer == "posix":
            first[call.path] = call
    return {path for path, call in first.items() if call.op in DIRECTORIES}


def _environment(run: Run, mpi: str) -> dict[str, str]:
    """Open MPI has two libraries for MPI-IO: that of the run."""
    if family(mpi) != "Open MPI":
        return {}
    return {"OMPI_MCA_io": "ompio" if run.sql("from ompio_users()").num_rows else "^ompio"}


def _names(code: str, word: str) -> bool:
    return re.search(rf"\b{word}\b", code) is not None


@cache
def _chunks() -> list[tuple[str, str]]:
    """Parts by name: what a function or variable is called; those that are always there have none."""
    text = resources.files(__package__).joinpath("parts.c").read_text(encoding="utf-8")
    return [(_name(part), part) for part in _top_level(text)[1:]]


def _top_level(text: str) -> list[str]:
    """Pieces between empty lines that are in no function."""
    parts: list[str] = []
    for piece in text.strip("\n").split("\n\n"):
        if parts and parts[-1].count("{") > parts[-1].count("}"):
            parts[-1] += "\n\n" + piece
        else:
            parts.append(piece)
    return parts


def _name(part: str) -> str:
    code = re.sub(r"/\*.*?\*/\s*", "", part, flags=re.S)
    head, brace, _ = code.partition("\n{")
    if not brace and code.count(";") > 1:
        return ""  # several variables
    declared = re.search(r"(\w+)\(" if brace else r"(\w+)(?:\[\w+\])?;", head)
    return declared[1] if declared else ""


def _parts(body: str, slots: dict[str, str]) -> tuple[list[str], list[str]]:
    """Those that are used: what the functions of the replay use, and what uses them."""
    parts = [(name, _filled(part, slots)) for name, part in _chunks()]
    chosen = {at for at, (name, _) in enumerate(parts) if name in ("", "main")}
    while True:
        text = re.sub(
            r"/\*.*?\*/", "", "\n".join([body, *(parts[at][1] for at in chosen)]), flags=re.S
        )
        more = {at for at, (name, _) in enumerate(parts) if name and _names(text, name)}
        if more <= chosen:
            break
        chosen |= more
    last = next(at for at, (name, _) in enumerate(parts) if name == "main")
    return [parts[at][1] for at in sorted(chosen - {last})], [parts[last][1]]


def _filled(part: str, slots: dict[str, str]) -> str:
    for mark, text in slots.items():
        part = part.replace(mark, f"{text}\n" if text else "")
    return part


def _hints(run: Run) -> dict[int, str]:
    rows = run.sql(
        "select object, key, value from hints_in_force where source = 'asked' and object is not null"
        " and key not like 'tuned %' order by object, key"
    ).to_pylist()
    hints: dict[int, list[str]] = defaultdict(list)
    for row in rows:
        hints[row["object"]].append(f"{row['key']}={row['value']}")
    return {one: "\n".join(lines) for one, lines in hints.items()}


def _completed(run: Run) -> dict[int, list[int]]:
    rows = run.sql(
        "select from_call, to_call from links where kind = 'completes' and to_call is not null"
    )
    completed: dict[int, list[int]] = defaultdict(list)
    for row in rows.to_pylist():
        completed[row["from_call"]].append(row["to_call"])
    return completed
