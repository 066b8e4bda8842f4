"""The lines that `fathom-engine import-jsonl` reads (engine/import): JSON arrays, a word first. Times in ns."""

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TextIO

from fathom.catalog import stream

_FLAGS, _CLASSES = stream.numbers("op_flag"), stream.numbers("class")
TRACKED, COLLECTIVE, ALIGNMENT = (_FLAGS[name] for name in ("tracked", "collective", "alignment"))
PATH, MPI_FILE = _CLASSES["path"], _CLASSES["mpi_file"]
HDF5_FILE, DATASET = _CLASSES["hdf5_file"], _CLASSES["hdf5_dataset"]
PNETCDF_FILE, PNETCDF_VARIABLE = _CLASSES["pnetcdf_file"], _CLASSES["pnetcdf_variable"]
# Whose a counter is that nobody can take apart.
ALL = -1
# The op whose seconds are those of opens, closes and the like.
SUM = "metadata"
UNKNOWN_OFFSET = -(1 << 63)
# Source of a hint.
IN_FORCE = stream.numbers("hint_source")["in_force"]


class Damaged(Exception):
    """What is wrong with a log, as a line."""


@dataclass(frozen=True)
class Op:
    """A function; `height` of its layer: what is higher calls what is lower."""

    layer: str
    name: str
    kind: str
    height: int
    fields: str = ""
    flags: int = 0


@dataclass(frozen=True)
class Total:
    """Calls of one op on one thing."""

    calls: int
    bytes: int
    time: int
    longest: int
    first: int
    last: int
    sizes: Sequence[Sequence[int]] = ()
    # What else is known (engine/import/src/jsonl.rs); `functions` are ops here.
    more: Mapping[str, Any] = field(default_factory=dict)

    def part(self, rank: int, ranks: int) -> "Total":
        """An equal part, of sums of all ranks; sizes are of all alone."""

        def of(whole: int) -> int:
            return whole * (rank + 1) // ranks - whole * rank // ranks

        calls, moved, time = of(self.calls), of(self.bytes), of(self.time)
        return Total(calls, moved, time, self.longest, self.first, self.last)


@dataclass
class Lines:
    """Writes them; ops and objects are told when they are first used."""

    to: TextIO
    count: int = 0
    # Flags that no op has here.
    without: int = 0
    _ops: dict[Op, int] = field(default_factory=dict)
    _objects: dict[tuple[int, str, int], int] = field(default_factory=dict)

    def tell(self, *words: Any) -> None:
        """One line."""
        self.count += 1
        self.to.write(json.dumps(words, separators=(",", ":")) + "\n")

    def op(self, op: Op) -> int:
        """Its number."""
        if op not in self._ops:
            self._ops[op] = len(self._ops)
            flags = op.flags & ~self.without
            self.tell("op", self._ops[op], op.layer, op.name, op.kind, op.fields, flags, op.height)
        return self._ops[op]

    def thing(self, kind: int, name: str, parent: int = 0, numbers: Sequence[int] = ()) -> int:
        """The number of a file or of what lies in one."""
        key = (kind, name, parent)
        if key not in self._objects:
            self._objects[key] = len(self._objects) + 1
            self.tell("object", self._objects[key], kind, name, parent, list(numbers))
        return self._objects[key]

    def calls(
        self,
        process: int,
        op: Op,
        about: int,
        inside: Op | None,
        rows: Iterable[tuple[int, int, list[int]]],
    ) -> None:
        """Calls that succeeded: begin, end, fields. Those that lie in no other lie in calls of `inside`."""
        start = f'["call",{process},{self.op(op)},{about},{self._around(inside)},'
        for began, ended, fields in rows:
            self.count += 1
            self.to.write(f"{start}{began},{ended},0,{fields}]\n")

    def _around(self, inside: Op | None) -> int:
        return -1 if inside is None else self.op(inside)

    def counter(self, process: int, op: Op, about: int, inside: Op | None, total: Total) -> None:
        """What one process, or `ALL`, did by an op."""
        sizes = [list(pair) for pair in total.sizes]
        functions = [[self.op(one), calls] for one, calls in total.more.get("functions", ())]
        more = {**total.more, "functions": functions} if functions else total.more
        self.tell(
            "counter", process, self.op(op), about, self._around(inside), total.calls, total.bytes,
            total.time, total.longest, total.first, total.last, sizes, *([more] if more else []),
        )  # fmt: skip

    def heat(self, process: int, op: Op, width: int, bins: Iterable[Sequence[int]]) -> None:
        """When data moved: bins of `width` ns by number, their bytes and ns."""
        self.tell("heat", process, self.op(op), width, [list(one) for one in bins])

    def hint(self, process: int, about: int, hints: Mapping[str, str]) -> None:
        """What is in force for a file."""
        for key, value in hints.items():
            self.tell("hint", process, about, IN_FORCE, key, value)

    def end(self) -> None:
        """All is told."""
        self.tell("end", self.count)
        self.to.flush()


def configuration(layers: Iterable[str], level: str = "call") -> dict[str, Any]:
    """As run.json has it, of a run that nobody configured."""
    return {
        "layers": sorted(layers), "counted": [], "layers_asked": "", "level": level, "ranks": "", "files": [],
    }  # fmt: skip


def tell_all(tell: Callable[[Lines], None]) -> int:
    """A reader's own process: the exit status. A JSON object on stderr says why a log cannot be told."""
    try:
        tell(Lines(sys.stdout))
    except Damaged as error:
        return _report_error("", str(error))
    except OSError as error:
        return _report_error(str(error.filename or ""), str(error.strerror))
    except (UnicodeDecodeError, ValueError, OverflowError, MemoryError) as error:
        return _report_error("", f"damaged: {error}")
    sys.stdout.flush()
    return 0


def _report_error(log: str, error: str) -> int:
    """Tells fathom/run/importing.py; the exit status."""
    print(json.dumps({"log": log, "error": error}), file=sys.stderr)
    return 3
