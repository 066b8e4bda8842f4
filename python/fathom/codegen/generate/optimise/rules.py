"""The rules, one function each: what is decided, why, and which option of the specification says otherwise.

A rule that does not touch a library says nothing of it. Numbers are those of docs/generate-language.md.
"""

from collections.abc import Callable
from dataclasses import dataclass

from fathom.codegen.generate.language import expression as ex
from fathom.codegen.generate.optimise.requests import Calls, interleaved
from fathom.codegen.generate.spec import Point, Spec

#: Options that override a rule, and what each may be; the first is what the rule chooses.
OVERRIDES = {
    "two_phase": ("auto", "force", "off"),
    "calls": ("collective", "independent"),
    "sieving": ("auto", "off"),
    "posting": ("nonblocking", "blocking"),
    "format": ("cdf5", "cdf2", "cdf1"),
    "metadata": ("collective", "independent"),
    "gaps": ("refuse", "fill"),
    "memory": ("auto", "packed", "datatype"),
}
#: What a rule that is switched off leaves: I/O as it would be without it.
OFF = {
    "two_phase": "off",
    "calls": "independent",
    "sieving": "off",
    "posting": "blocking",
    "metadata": "independent",
    "memory": "datatype",
}


@dataclass(frozen=True)
class Decision:
    """`option` is what overrides it, "" where nothing does."""

    rule: int
    subject: str
    choice: str
    reason: str
    option: str = ""


@dataclass(frozen=True)
class Facts:
    """What the rules look at: the specification, one point of it, what its ranks ask of the file."""

    spec: Spec
    point: Point
    calls: list[Calls]

    @property
    def mpiio(self) -> bool:
        return self.spec.library != "posix"

    def chosen(self, option: str) -> str:
        """The override, else the rule's own."""
        return self.spec.option(option, OVERRIDES[option][0])

    def reason_of_user(self, option: str) -> str:
        """Whether the user said so."""
        return "as asked for" if option in self.spec.options else ""

    def interleaves(self) -> bool:
        """In any call, with any of the numbers of processes."""
        for call in self.calls:
            groups = call.transfers
            if self.spec.library == "pnetcdf" and self.chosen("posting") == "nonblocking":
                groups = [call.together()]
            if any(interleaved(group) for group in groups):
                return True
        return False


def _two_phase(f: Facts) -> Decision | None:
    if not f.mpiio:
        return None
    choice = f.chosen("two_phase")
    if f.interleaves():
        reason = "ranks interleave in the file, so ROMIO exchanges data and writes large pieces"
    else:
        reason = "ranks follow each other in the file: ROMIO lets each move its own pieces"
    return Decision(
        1, "two-phase I/O", choice, f.reason_of_user("two_phase") or reason, "two_phase"
    )


def _calls(f: Facts) -> Decision | None:
    if not f.mpiio:
        return Decision(2, "calls", "independent", "POSIX has no other")
    reason = "every rank takes part, with a count of 0 where it has nothing: no rank can be missed"
    return Decision(2, "calls", f.chosen("calls"), f.reason_of_user("calls") or reason, "calls")


def _sieving(f: Facts) -> Decision | None:
    if not f.mpiio:
        return None
    large = "left to the MPI library: nothing in the pattern speaks against it"
    return Decision(
        3, "data sieving", f.chosen("sieving"), f.reason_of_user("sieving") or large, "sieving"
    )


def _posting(f: Facts) -> Decision | None:
    if f.spec.library != "pnetcdf":
        return None
    count = len(f.point.accesses)
    reason = f"{count} access{'es' * (count > 1)} become{'s' * (count == 1)} one call of MPI-IO"
    return Decision(
        4, "posting", f.chosen("posting"), f.reason_of_user("posting") or reason, "posting"
    )


def _records(f: Facts) -> Decision | None:
    if not any(v.dimensions[0].length is None for v in f.point.variables()):
        return None
    reason = "record variables interleave in a classic file, so all are moved in one call"
    return Decision(
        5, "records", "all together" if f.spec.library == "pnetcdf" else "chunks", reason
    )


def _define(f: Facts) -> Decision | None:
    if f.spec.library not in ("pnetcdf", "netcdf4") or f.point.kind == "read":
        return None
    reason = "one define mode, so nothing moves in the file afterwards"
    return Decision(6, "definitions", "all before the data", reason)


def _fill(f: Facts) -> Decision | None:
    if f.spec.library in ("mpiio", "posix") or f.point.kind == "read":
        return None
    if f.chosen("gaps") == "fill":
        return Decision(7, "fill values", "written", "as asked for: gaps are filled", "gaps")
    return Decision(7, "fill values", "never", "the ranks cover every element", "gaps")


def _format(f: Facts) -> Decision | None:
    if f.spec.library != "pnetcdf" or f.point.kind == "read":
        return None
    reason = "no dimension or variable is too large for it"
    return Decision(8, "format", f.chosen("format"), f.reason_of_user("format") or reason, "format")


def _types(f: Facts) -> Decision | None:
    if f.spec.library != "hdf5":
        return None
    return Decision(
        9, "types", "equal in memory and file", "a conversion would break collective I/O"
    )


def _metadata(f: Facts) -> Decision | None:
    if f.spec.library != "hdf5":
        return None
    reason = "ranks write it together, in a few pieces, not each its own"
    return Decision(
        10,
        "HDF5 metadata",
        f.chosen("metadata"),
        f.reason_of_user("metadata") or reason,
        "metadata",
    )


def _storage(f: Facts) -> Decision | None:
    if f.spec.library not in ("hdf5", "netcdf4") or f.point.kind == "read":
        return None
    if any(d.length is None for d in f.spec.dimensions.values()):
        return Decision(11, "storage", "chunks of a record", "only chunks can grow")
    return Decision(11, "storage", "contiguous", "nothing grows and nothing is compressed")


def _version(f: Facts) -> Decision | None:
    if f.spec.library != "hdf5":
        return None
    return Decision(12, "HDF5 version", "from 1.10", "no call that is newer is needed")


def _files(f: Facts) -> Decision | None:
    ranks = "any number of ranks can read it again"
    return Decision(13, "files", f"one, shared, by {len(f.spec.points)} I/O points", ranks)


def _hints(f: Facts) -> Decision | None:
    if not f.mpiio:
        return None
    names = ", ".join(f.spec.layout)
    if names:
        return Decision(14, "hints", names, "the layout block says so")
    return Decision(14, "hints", "none", "the file system is not described: no layout block")


def _packing(f: Facts) -> Decision | None:
    buffers = [a.buffer.name for a in f.point.accesses if a.buffer.memory is not None]
    if not buffers:
        return None
    what = ", ".join(dict.fromkeys(buffers))
    way = f.spec.in_memory
    described = "a hyperslab" if f.spec.library == "hdf5" else "a datatype"
    choice = "packed" if way.packed else described
    return Decision(15, f"memory of {what}", choice, way.reason, "memory")


def _offsets(f: Facts) -> Decision | None:
    boxes = [box for access in f.point.accesses for box in access.boxes]
    needed = [*(e for box in boxes for e in box.start), *f.spec.named().values()]
    sums = {p.function for e in needed for p in ex.parts(e) if isinstance(p, ex.Call)}
    if not sums & {"before", "total"}:
        return None
    return Decision(16, "offsets", "MPI_Scan, MPI_Allreduce", "each rank knows only its own size")


def _lump(f: Facts) -> Decision | None:
    lump = f.spec.lump
    if lump is None:
        return None
    n, name = len(lump.members), lump.whole.name
    dims = ", ".join(d.name for d in lump.whole.dimensions)
    reason = f"as asked for: its {n} parts are {' '.join(lump.members)}"
    if lump.fastest:
        reason += "; in memory they lie side by side, so one access moves all"
    return Decision(17, "variables", f"{name}({dims})", reason, "lump")


RULES: tuple[Callable[[Facts], Decision | None], ...] = (
    _two_phase,
    _calls,
    _sieving,
    _posting,
    _records,
    _define,
    _fill,
    _format,
    _types,
    _metadata,
    _storage,
    _version,
    _files,
    _hints,
    _packing,
    _offsets,
    _lump,
)


def decide(facts: Facts) -> list[Decision]:
    """What each rule says of a point, by number."""
    return [decision for rule in RULES if (decision := rule(facts)) is not None]
