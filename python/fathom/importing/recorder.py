"""Reads a directory of Recorder and tells what it found: `python -m fathom.importing.recorder DIRECTORY`."""

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from fathom.importing.functions import UNKNOWN_OFFSET, Function, function, told
from fathom.importing.lines import MPI_FILE, PATH, Damaged, Lines, Op, configuration, tell_all
from fathom.importing.patterns import INTEGER, Offsets
from fathom.importing.positions import Positions
from fathom.importing.recording import Calls, Recording, Signature

# Arguments of functions, in order, as the writer has them; `-`: of no use here. Where none is given: the file alone.
SHAPES = {
    "path flags mode": "open open64",
    "path mode": "creat creat64 mkdir chmod mkfifo access",
    "path - count": "read write",
    "path - count offset": "pread pread64 pwrite pwrite64",
    "path count": "readv writev",
    "- size count path": "fread fwrite",
    "path offset whence": "lseek lseek64 fseek fseeko",
    "path length": "truncate ftruncate",
    "- path": "__xstat __xstat64 __lxstat __lxstat64 __fxstat __fxstat64",
    "-": "dup dup2 pipe umask getcwd msync readdir closedir tmpfile linkat",
    "- - - - path": "mmap mmap64",
    "- path amode - file": "MPI_File_open",
    "file offset unit pattern": "MPI_File_set_view",
    "file offset - count type": "MPI_File_read_at MPI_File_write_at MPI_File_read_at_all MPI_File_write_at_all",
    "file - count type": (
        "MPI_File_read MPI_File_write MPI_File_read_all MPI_File_write_all MPI_File_read_shared "
        "MPI_File_write_shared MPI_File_read_ordered MPI_File_write_ordered"
    ),
}  # fmt: skip
ARGUMENTS = {name: shape.split() for shape, names in SHAPES.items() for name in names.split()}
# Types of C by their bytes.
SIZES = {
    1: "BYTE CHAR SIGNED_CHAR UNSIGNED_CHAR INT8_T UINT8_T",
    2: "SHORT UNSIGNED_SHORT INT16_T UINT16_T",
    4: "INT UNSIGNED FLOAT INT32_T UINT32_T",
    8: "LONG UNSIGNED_LONG LONG_LONG LONG_LONG_INT UNSIGNED_LONG_LONG DOUBLE INT64_T UINT64_T",
}
TYPES = {f"MPI_{name}": size for size, names in SIZES.items() for name in names.split()}
# Whose a function may be, by the begin of its name.
LAYERS = {
    "MPI_": ("mpiio", "mpi"), "H5": ("hdf5",), "ncmpi_": ("pnetcdf",), "nc_": ("netcdf",), "": ("posix", "stdio"),
}  # fmt: skip
SEEK_SET, SEEK_CUR = 0, 1
UNKNOWN_FILE = "???"
# Of a file that a communicator opened: its access mode and the size of its communicator are in no object.
NO_NUMBERS = (0, 0)
HALF, WHOLE = 1 << 31, 1 << 32
LONGEST = 1 << 60  # of a run, in ns
THREADS = "ranks with calls of several threads, not told apart: {} was not 1"
BARE = "calls of HDF5, PnetCDF and netCDF have neither files nor bytes: those are in MPI-IO's and POSIX's inside"
DISTANCES = "ranks of several threads, whose offsets are unknown: RECORDER_INTRAPROCESS_PATTERN_RECOGNITION was 1"
LIMITS = (
    "results are not recorded: a read or write that was short, or failed, and an open that failed, look as whole ones; "
    "bytes are those that were asked for, and positions follow them",
    "each rank's times are from the end of its own MPI_Init: how far ranks are apart is unknown; what was before "
    "MPI_Init or after MPI_Finalize is not recorded",
    "times are whole ticks from the call before: they fall behind by half a tick a call, and a pause of 2^32 ticks "
    "(429 s, if none was set) is missing from them",
    "a file is its name, and a blank in it an underscore; processes have neither number, host nor program; places in "
    "the code are not read",
    "stat of newer C libraries, mmap (by version 3), what a program starts and what was opened before MPI_Init are "
    "not recorded",
)


@dataclass
class Rank:
    """What is known of a rank while its calls are told."""

    number: int
    offsets: Offsets
    positions: Positions = field(default_factory=Positions)
    # By Recorder's numbers of MPI-IO's files, their names, and of those that have a view where that begins and bytes of
    # its unit; None: it has holes, or nobody knows.
    files: dict[str, str] = field(default_factory=dict)
    views: dict[str, tuple[int, int] | None] = field(default_factory=dict)


class Telling:
    """What was found, in lines."""

    def __init__(self, recording: Recording, lines: Lines) -> None:
        self.recording, self.lines = recording, lines
        self.functions: dict[str, Function | None] = {}
        self.layers: set[str] = set()
        self.left: Counter[str] = Counter()
        self.threaded = self.unordered = self.bare = self.last = 0

    def all(self) -> None:
        """Every line."""
        self.lines.tell("host", 0, "unknown")
        for number in range(self.recording.ranks):
            self.lines.tell("process", number, 0, {"executable": "", "command": [], "rank": number})
            self._rank(number, self.recording.rank(number))
        self._run()
        self._marks()
        self.lines.end()

    def _rank(self, number: int, calls: Calls) -> None:
        """Its calls; where they can be those of one thread they are, else nobody knows whose they are."""
        threads = {calls.signatures[one].thread for one in set(calls.which)} - {0}
        times = None if threads else _of_one_thread(calls)
        alone = times is not None
        self.threaded += not (alone or threads)
        ordered = alone or len(threads) == 1
        self.unordered += self.recording.distances and not ordered
        rank = Rank(number, self.recording.offsets(number, ordered))
        ticks = 1e9 * self.recording.tick
        for which, (began, ended) in zip(calls.which, times or _times(calls), strict=True):
            signature = calls.signatures[which]
            thread = signature.thread or (rank.number + 1 if alone else 0)
            span = (round(began * ticks), round(ended * ticks))
            self.last = max(self.last, span[1])
            if self.last > LONGEST:
                raise Damaged(f"rank {number} has times that cannot be")
            self._call(rank, signature, span, thread % WHOLE)

    def _call(self, rank: Rank, call: Signature, times: tuple[int, int], thread: int) -> None:
        known = self._function(call.function)
        if call.function in ("dup", "dup2") or not thread:
            rank.positions.forked()
        if known is None:
            self.left[f"calls of {call.function}"] += 1
            return
        words = dict(zip(ARGUMENTS.get(call.function, _alone(known)), call.words, strict=False))
        words.pop("-", None)
        if "offset" in words:
            words["offset"] = rank.offsets.real(call.function, words["offset"])
        if known.layer == "mpiio":
            op, fields, about = self._mpiio(rank, known, call.function, words)
        else:
            path = "" if words.get("path") == UNKNOWN_FILE else words.pop("path", "")
            numbers = {key: int(word) for key, word in words.items() if INTEGER.fullmatch(word)}
            # What was asked for, since what came of it is not known.
            if "count" in numbers:
                numbers["ret"] = numbers["count"]
            elif "whence" in numbers and "offset" in numbers and known.layer == "posix":
                begin = {SEEK_SET: 0, SEEK_CUR: rank.positions.at(path)}.get(numbers["whence"])
                if begin is not None:
                    numbers["ret"] = begin + numbers["offset"]
            op, fields, _ = told(known, call.function, (path, thread), numbers, rank.positions)
            self.bare += known.layer in ("hdf5", "pnetcdf", "netcdf")
            about = self.lines.thing(PATH, path) if path else 0
        self.lines.call(rank.number, op, about, times, 0, fields, thread)

    def _mpiio(
        self, rank: Rank, known: Function, name: str, words: dict[str, str]
    ) -> tuple[Op, list[int], int]:
        """The op, its fields and its file."""
        file = words.get("file", "")
        if "path" in words:
            rank.files[file] = words["path"]
            rank.views.pop(file, None)
        about = (
            self.lines.thing(MPI_FILE, rank.files[file], 0, NO_NUMBERS) if file in rank.files else 0
        )
        numbers = {key: int(word) for key, word in words.items() if INTEGER.fullmatch(word)}
        if name == "MPI_File_set_view":
            unit = TYPES.get(words.get("unit", ""))
            whole = unit and "offset" in numbers and words.get("pattern") == words["unit"]
            rank.views[file] = (numbers["offset"], unit or 0) if whole else None
        each = TYPES.get(words.get("type", ""))
        if each is None or "count" not in numbers:
            fields = {"amode": numbers["amode"]} if "amode" in numbers else {}
        else:
            size = each * max(0, numbers["count"])
            view = rank.views.get(file, (0, 1))
            offset = UNKNOWN_OFFSET
            if view and "offset" in numbers:
                offset = view[0] + view[1] * numbers["offset"]
            fields = {"size": size, "offset": offset, "bytes": size}
        return known.op(name, ",".join(fields)), list(fields.values()), about

    def _function(self, name: str) -> Function | None:
        """Which one of Fathom's catalogue a name is."""
        if name not in self.functions:
            layers = next((of for begin, of in LAYERS.items() if name.startswith(begin)), ())
            found = (function(layer, name) for layer in layers)
            self.functions[name] = next((one for one in found if one), None)
        known = self.functions[name]
        if known:
            self.layers.add(known.layer)
        return known

    def _run(self) -> None:
        start = round(self.recording.start * 1e9)
        said = {
            "recorder": "recorder", "start_ns": start, "end_ns": start + self.last,
            "processes": self.recording.ranks, "ranks": True, "program": "unknown", "command": [], "directory": "",
            "job": "", "versions": {"recorder": self.recording.version}, "configuration": configuration(self.layers),
        }  # fmt: skip
        self.lines.tell("run", said)

    def _marks(self) -> None:
        """What the tables lack."""
        found = [(limit, 1) for limit in LIMITS]
        found += [
            (THREADS.format(self.recording.layout.threads), self.threaded),
            (DISTANCES, self.unordered),
            (BARE, self.bare),
        ]
        self.lines.marks(found, self.left)


def _alone(known: Function) -> list[str]:
    """Where a function has no shape of its own: it begins with its file, in layers that name files."""
    return {"mpiio": ["file"], "posix": ["path"], "stdio": ["path"]}.get(known.layer, [])


def _times(calls: Calls) -> Iterator[tuple[int, int]]:
    """Begin and end of each call in ticks; numbers go round, so that an end before its begin may be one behind it."""
    at = 0
    for before, behind in zip(calls.times[::2], calls.times[1::2], strict=True):
        took = (behind - before) % WHOLE
        at += before
        yield at, at + (took if took < HALF else 0)


def _of_one_thread(calls: Calls) -> list[tuple[int, int]] | None:
    """Begins and ends, where no two calls overlap without one being inside the other.

    Ticks are cut off at each call, so that what follows a call with others inside may seem to begin within it, by less
    than a tick for each of them: it is moved behind. More than that, and there were threads."""
    found: list[tuple[int, int]] = []
    around: list[int] = []  # the last call at each depth, the outermost first
    moved = 0
    for which, (began, ended) in zip(calls.which, _times(calls), strict=True):
        depth = calls.signatures[which].depth
        began, ended = began + moved, ended + moved
        if depth < len(around):
            before = around[depth]
            late = max(0, found[before][1] - began)
            if late > len(found) - before:
                return None
            began, ended, moved = began + late, ended + late, moved + late
        if depth:
            if depth > len(around) or began > found[around[depth - 1]][1]:
                return None
            ended = min(ended, found[around[depth - 1]][1])
        around[depth:] = [len(found)]
        found.append((began, ended))
    return found


def main(names: list[str]) -> int:
    """Tells the directory as one run."""
    return tell_all(lambda lines: Telling(Recording(Path(names[0])), lines).all())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
