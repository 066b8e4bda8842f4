"""Statements that make the calls of MPI-IO again."""

import re
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from fathom.analysis import Source
from fathom.analysis.distribution.shapes import fitting, nests_of
from fathom.analysis.distribution.strides import Nest, nest
from fathom.codegen.replay.calls import Call, Recorded
from fathom.codegen.replay.fold import Line
from fathom.codegen.replay.making import Cannot, LeftOut, Lines, Making, flags
from fathom.codegen.replay.order import ASKS, CHANGES, MAKES, MISSES, POINTS, READS, WRITES, Effect
from fathom.text.quoting import c_string

CREATE = 1
MODES = {
    "MPI_MODE_CREATE": CREATE, "MPI_MODE_RDONLY": 2, "MPI_MODE_WRONLY": 4, "MPI_MODE_RDWR": 8,
    "MPI_MODE_DELETE_ON_CLOSE": 16, "MPI_MODE_UNIQUE_OPEN": 32, "MPI_MODE_EXCL": 64, "MPI_MODE_APPEND": 128,
    "MPI_MODE_SEQUENTIAL": 256,
}  # fmt: skip
WHENCE = {0: "MPI_SEEK_SET", 1: "MPI_SEEK_CUR", 2: "MPI_SEEK_END"}
MOST = 2**31 - 1  # bytes of one call: MPI counts them in an int


@dataclass(frozen=True)
class View:
    """Bytes of a file in the order in which a view shows them: parts, repeated every `period` bytes. `regular`: few
    parts of nested strides; else each part is a block."""

    displacement: int
    period: int
    parts: tuple[Nest, ...]
    regular: bool = True

    @property
    def plain(self) -> bool:
        """Every byte from the displacement on."""
        one = self.parts[0]
        return len(self.parts) == 1 and not one.levels and (one.first, one.run) == (0, self.period)

    @cached_property
    def total(self) -> int:
        """Bytes in one period."""
        return sum(map(_size, self.parts))

    def index(self, offset: int) -> int:
        """The how many-th byte of the view the file's byte at `offset` is."""
        at = offset - self.displacement
        if self.plain:
            return at
        for tile in self._tiles(at):
            before = tile * self.total
            for part in self.parts:
                index_in_part = _within(part, at - tile * self.period)
                if index_in_part is not None:
                    return before + index_in_part
                before += _size(part)
        raise Cannot("its offset is not in its view")

    def _tiles(self, at: int) -> range:
        """Repetitions that may hold this byte: a type may begin behind, and reach past, its extent."""
        first = min(part.first for part in self.parts)
        end = max(_place(part, _size(part) - 1) for part in self.parts)
        return range(max(0, -((end - at) // self.period)), (at - first) // self.period + 1)

    @property
    def extent(self) -> int:
        """What its type must be resized to; 0: its bytes alone give it, and its lower bound."""
        first = min(part.first for part in self.parts)
        end = max(_place(part, _size(part) - 1) for part in self.parts) + 1
        return 0 if end - first == self.period else self.period

    def place(self, index: int) -> int:
        """The file's byte that is the index-th of the view."""
        if self.plain:
            return self.displacement + index
        tile, rest = divmod(index, self.total)
        base = self.displacement + tile * self.period
        for part in self.parts:
            if rest < _size(part):
                return base + _place(part, rest)
            rest -= _size(part)
        return base


def _size(one: Nest) -> int:
    return one.run * prod(count for count, _ in one.levels)


def _place(one: Nest, index: int) -> int:
    copy, at = divmod(index, one.run)
    at += one.first
    for copies, step in one.levels:
        copy, turn = divmod(copy, copies)
        at += turn * step
    return at


def _within(one: Nest, at: int) -> int | None:
    """Which byte of the part is at this byte of the tile; None: none of it."""
    at -= one.first
    index, size = 0, _size(one)
    for copies, step in reversed(one.levels):
        size //= copies
        turn = min(at // step, copies - 1)
        index, at = index + turn * size, at - turn * step
    return index + at if 0 <= at < one.run else None


PLAIN = View(0, 1, (Nest(0, 1, ()),))


def views(source: Source) -> dict[int, View]:
    """File views by number; those that are not known byte for byte are not there."""
    rows = source.sql("from used_selections()").to_pylist()
    views_of = {row["selection"]: fitting(_view, row) for row in rows if row["form"] == "bytes"}
    return {number: view for number, view in views_of.items() if view}


def _view(row: dict[str, Any]) -> View | None:
    if not row["exact"]:
        parts = tuple(nests_of(row))
        return View(row["displacement"], row["period"], parts) if parts else None
    starts, sizes = row["block_start"], row["block_count"]
    if not starts:
        return None
    ends = [a + n for a, n in zip(starts, sizes, strict=True)]
    regular = nest(np.array([starts, ends], np.int64).T)
    if regular is not None and all(step > 0 for _, step in regular.levels):
        return View(row["displacement"], row["period"], (regular,))
    blocks = tuple(Nest(a, n, ()) for a, n in zip(starts, sizes, strict=True))
    return View(row["displacement"], row["period"], blocks, regular=False)


@dataclass
class Files:
    """What MPI-IO needs beyond one call: views, hints, who completes what."""

    recorded: Recorded
    views: Mapping[int, View]
    hints: Mapping[int, str]  # by object: "key=value" lines
    completes: Mapping[int, list[int]]  # by call that waits: calls that posted

    def __post_init__(self) -> None:
        self.hints_by_path = {
            self.recorded.objects[one].path: lines for one, lines in self.hints.items()
        }
        self.numbers: dict[tuple[int, ...], int] = {}  # of those that are made
        self.blocks: dict[tuple[tuple[int, int], ...], int] = {}
        self.refused: dict[
            str, list[list[int]]
        ] = {}  # by path and rank: calls that could not open it
        for call in self.recorded.every():
            if call.op == "MPI_File_open" and call.failed:
                of_ranks: list[list[int]] = [[] for _ in range(self.recorded.ranks)]
                self.refused.setdefault(call.path, of_ranks)[call.rank].append(call.id)

    def communicator(self, call: Call) -> tuple[str, tuple[int, ...]]:
        """As C says it, with `$2` for its number."""
        if call.failed:
            return self._of_refused(call), ()
        row = self.recorded.objects[call.object or 0].row
        members = self.recorded.groups.get(row["group_hash"], ())
        if len(members) != (row["communicator_size"] or len(members)) or not members:
            raise Cannot("the ranks that opened the file together are not all recorded")
        if members == tuple(range(self.recorded.ranks)):
            return "MPI_COMM_WORLD", ()
        if len(members) == 1:
            return "MPI_COMM_SELF", ()
        return "communicator[$2]", (self.numbers.setdefault(members, len(self.numbers)),)

    def _of_refused(self, call: Call) -> str:
        """No group is known of a file that was not opened: it is all ranks, or one."""
        times = [len(calls) for calls in self.refused[call.path]]
        if len(set(times)) == 1:
            return "MPI_COMM_WORLD"
        if sum(map(bool, times)) == 1:
            return "MPI_COMM_SELF"
        raise Cannot("some ranks failed to open it: which together is not known")

    def view(self, call: Call) -> View:
        """In force at a call."""
        if call.selection is None:
            return PLAIN
        view_in_force = self.views.get(call.selection)
        if view_in_force is None:
            raise Cannot("its view is too irregular to have been recorded")
        return view_in_force

    def together(self, call: Call) -> Hashable | None:
        """What the ranks' parts of one collective call share."""
        turn = call.arguments.get("collective")
        if call.op == "MPI_File_open" and call.failed:
            of_rank = self.refused[call.path]
            alone = len(set(map(len, of_rank))) > 1
            return None if alone else (call.path, "refused", of_rank[call.rank].index(call.id))
        if call.object is None or (not turn and call.op != "MPI_File_open"):
            return None
        row = self.recorded.objects[call.object].row
        while row["group_hash"] is None and row["parent"] in self.recorded.objects:
            row = self.recorded.objects[row["parent"]].row
        if row["group_hash"] is None:
            return None
        return row["class"], row["group_hash"], row["group_ordinal"], turn or 0


@dataclass
class Maker:
    """Of one rank."""

    making: Making
    files: Files

    def lines(self, call: Call) -> Lines:
        """Of one call of layer mpiio."""
        op = call.op.removesuffix("_c")
        if op.endswith("_end"):
            return self._end(call, op)
        if call.kind in ("read", "write", "post"):
            return self._move(call, op)
        if op in (
            "MPI_File_open",
            "MPI_File_close",
            "MPI_File_set_view",
            "MPI_File_seek",
            "MPI_File_delete",
        ):
            return getattr(self, f"_{op.removeprefix('MPI_File_')}")(call)  # type: ignore[no-any-return]
        if call.kind == "wait":
            return self._wait(call)
        return self._plain(call, op)

    def _open(self, call: Call) -> Lines:
        mode = int(call.arguments["amode"])
        if mode & 256:
            raise Cannot("a file of sequential access")
        words, more = self.files.communicator(call)
        hints = self.files.hints.get(call.object or 0)
        info = f"hints({c_string(hints)})" if hints else "MPI_INFO_NULL"
        name = self.making.names[call.path]
        opening = f"MPI_File_open({words}, path($0), {flags(mode, MODES)}, {info}, &fh[$1])"
        slot = self.making.take_slot("fh", call)
        if call.failed:
            self.making.gave("fh", call)
        check = "fails" if call.failed else "must"
        return [Line(f"{check}({opening});", (name, slot, *more))]

    def _close(self, call: Call) -> Lines:
        return [Line("must(MPI_File_close(&fh[$0]));", (self.making.gave("fh", call),))]

    def _delete(self, call: Call) -> Lines:
        statement_text = "MPI_File_delete(path($0), MPI_INFO_NULL)"
        return [
            Line(
                f"{'fails' if call.failed else 'must'}({statement_text});",
                (self.making.names[call.path],),
            )
        ]

    def _set_view(self, call: Call) -> Lines:
        if "datarep" in call.arguments:
            raise Cannot(f"a view of data as {call.arguments['datarep']}")
        at, view = self.making.opened("fh", call), self.files.view(call)
        numbers = [at, int(call.arguments["displacement"])]
        if view.plain:
            kind = "MPI_BYTE"
        elif not view.regular:
            numbers += [self._listed(view), len(view.parts), view.extent]
            kind = "listed($2, $3, $4)"
        else:
            words = []
            for part in view.parts:
                levels = [number for level in part.levels for number in level]
                places = [f"${at}" for at in range(len(numbers), len(numbers) + 2 + len(levels))]
                numbers += [part.first, part.run, *levels]
                words += [*places[:2], str(len(part.levels)), *places[2:]]
            kind = f"strided(${len(numbers)}, {len(view.parts)}, (const int64_t[]){{{', '.join(words)}}})"
            numbers.append(view.extent)
        return [Line(f"see(fh[$0], $1, {kind});", tuple(numbers))]

    def _listed(self, view: View) -> int:
        """Where its blocks begin in the program's list."""
        known = self.files.blocks
        blocks = tuple((part.first, part.run) for part in view.parts)
        return known.setdefault(blocks, sum(map(len, known)))

    def _etype(self, call: Call) -> int:
        """Bytes of the view's unit, which offsets that a program gives count: the one that this call's own shows."""
        given, view = int(call.arguments.get("view_offset", 0)), self.files.view(call)
        if given > 0 and call.offset is not None and call.offset >= 0:
            return view.index(call.offset) // given
        return 0

    def _seek(self, call: Call) -> Lines:
        given, whence = int(call.arguments["view_offset"]), WHENCE[int(call.arguments["whence"])]
        size = self._unit(call) if given else 1
        statement_text = f"MPI_File_seek(fh[$0], $1, {whence})"
        return [Line(f"must({statement_text});", (self.making.opened("fh", call), given * size))]

    def _unit(self, call: Call) -> int:
        """Of the first call behind it that shows it."""
        calls = self.making.recorded.calls[self.making.rank]
        at = calls.index(call)
        viewed = [call.object == one.object and one.op == "MPI_File_set_view" for one in calls[:at]]
        if not any(viewed):
            return 1
        for other in calls[at:]:
            if other.object == call.object and other.op == "MPI_File_set_view":
                break
            if other.object == call.object and other.kind in ("read", "write", "post"):
                size = self._etype(other)
                if size:
                    return size
        raise Cannot("the unit of its view is not known")

    def _move(self, call: Call, op: str) -> Lines:
        size, at = self.making.room(call), self.making.opened("fh", call)
        if size > MOST:
            raise Cannot("more than 2 GiB in one call")
        numbers = [at, size]
        place = ""
        if "_at" in op:
            if call.offset is None or call.offset < 0:
                raise Cannot("its offset was not recorded")
            place = "$2, "
            numbers.append(self.files.view(call).index(call.offset))
        buffer = "sink" if "read" in op else "data(0)"
        statement_text = f"{op}(fh[$0], {place}{buffer}, $1, MPI_BYTE"
        if op.endswith("_begin"):
            return [Line(f"must({statement_text}));", tuple(numbers))]
        if call.kind == "post":
            slot = self.making.slot("request").take(call.id)
            return [Line(f"must({statement_text}, &request[${len(numbers)}]));", (*numbers, slot))]
        if call.failed:
            return [Line(f"fails({statement_text}, &status));", tuple(numbers))]
        if (
            call.bytes is None or call.bytes < 0 or size == 0
        ):  # of nothing ROMIO 3.2 leaves the status as it was
            return [Line(f"must({statement_text}, &status));", tuple(numbers))]
        if call.bytes == size:
            return [Line(f"did({statement_text}, &status), $1);", tuple(numbers))]
        return [Line(f"did({statement_text}, &status), ${len(numbers)});", (*numbers, call.bytes))]

    def _end(self, call: Call, op: str) -> Lines:
        buffer = "sink" if "read" in op else "data(0)"
        return [Line(f"must({op}(fh[$0], {buffer}, &status));", (self.making.opened("fh", call),))]

    def _wait(self, call: Call) -> Lines:
        slots = self.making.slot("request")
        done = sorted(
            slots.give(post) for post in self.files.completes.get(call.id, []) if post in slots.of
        )
        if not done:
            raise LeftOut
        if len(done) > 1 and done[-1] - done[0] + 1 == len(done):
            line = "must(MPI_Waitall($1, request + $0, statuses));"
            return [Line(line, (done[0], len(done)))]
        return [Line("must(MPI_Wait(&request[$0], &status));", (slot,)) for slot in done]

    def _plain(self, call: Call, op: str) -> Lines:
        a = call.arguments
        at = self.making.opened("fh", call)
        statement_text = {
            "MPI_File_sync": "MPI_File_sync(fh[$0])",
            "MPI_File_get_size": "MPI_File_get_size(fh[$0], &length)",
            "MPI_File_get_info": "ask_hints(fh[$0])",
            "MPI_File_set_size": "MPI_File_set_size(fh[$0], $1)",
            "MPI_File_preallocate": "MPI_File_preallocate(fh[$0], $1)",
            "MPI_File_set_atomicity": "MPI_File_set_atomicity(fh[$0], $1)",
            "MPI_File_seek_shared": f"MPI_File_seek_shared(fh[$0], $1, {WHENCE.get(int(a.get('whence', 0)))})",
        }.get(op)
        if statement_text is None:
            raise LeftOut
        numbers = [at]
        if "$1" in statement_text:
            known = call.size if call.size is not None else a.get("flag", a.get("view_offset"))
            if known is None:
                raise Cannot("what it was given was not recorded")
            numbers.append(int(known) * (self._unit(call) if "shared" in op and known else 1))
        return [Line(f"{'fails' if call.failed else 'must'}({statement_text});", tuple(numbers))]


def effects(files: Files, call: Call) -> list[Effect]:
    """What a call of layer mpiio does to its file."""
    path, op = call.path, call.op.removesuffix("_c")
    if op == "MPI_File_open":
        creates = bool(int(call.arguments["amode"]) & CREATE)
        if call.failed:
            return [Effect(path, ASKS if creates else MISSES)]
        return [Effect(path, MAKES if creates else ASKS, creates=creates)]
    if call.failed:
        return []
    if op in ("MPI_File_set_size", "MPI_File_preallocate"):
        return [Effect(path, CHANGES, length=call.size if op == "MPI_File_set_size" else None)]
    if op == "MPI_File_seek_shared":
        return [Effect(path, POINTS)]
    if op == "MPI_File_delete":
        return [Effect(path, CHANGES, removes=True)]
    if call.kind in ("read", "write", "post"):
        size = call.size if call.kind == "post" else call.bytes
        does = WRITES if "write" in op else READS
        if re.search("_(shared|ordered)", op):
            end = 0 if call.placed is None else call.placed + max(size or 0, 0)
            return [Effect(path, does, end), Effect(path, POINTS)]
        if call.offset is None or call.offset < 0 or not size or size < 0:
            return [Effect(path, does)]
        view = files.view(call)
        return [Effect(path, does, view.place(view.index(call.offset) + size - 1) + 1)]
    return []
