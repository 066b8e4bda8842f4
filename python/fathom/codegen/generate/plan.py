"""What a point's code does: its decisions, its library calls in order, the raw accesses they will make."""

from dataclasses import dataclass

from fathom.codegen.generate.optimise.predict import COLLECTIVE_BUFFER, How, raw_calls
from fathom.codegen.generate.optimise.requests import Calls, calls, fills
from fathom.codegen.generate.optimise.rules import Decision, Facts, decide
from fathom.codegen.generate.spec import Access, Box, Buffer, Point, Spec, Variable


@dataclass(frozen=True)
class Transfer:
    """A box of one variable that all ranks move in one call. `boxes`: by process, or of all (None)."""

    variable: Variable
    buffer: Buffer
    boxes: dict[int | None, Box]
    earlier: tuple[Box, ...] = ()  # boxes of the same access that lie before it in the buffer


@dataclass(frozen=True)
class Step:
    """One library call of the plan."""

    call: str  # create, define dimension, define variable, put attribute, end definitions, move, wait, close
    object: str


@dataclass(frozen=True)
class Plan:
    spec: Spec
    point: Point
    creates: bool  # this point makes the file; else it opens it
    decisions: list[Decision]
    transfers: list[Transfer]
    steps: list[Step]
    raw: dict[int, int]  # raw reads or writes of data, by number of processes

    @property
    def reading(self) -> bool:
        return self.point.kind == "read"

    def has(self, option: str) -> str:
        """The choice that an override's option holds."""
        return Facts(self.spec, self.point, []).chosen(option)


def plan(spec: Spec, point: Point) -> Plan:
    """All that is decided about a point."""
    counted_calls = [calls(spec, point, nprocs) for nprocs in spec.processes]
    decisions = decide(Facts(spec, point, counted_calls))
    first = next((p for p in spec.points if p.kind == "write"), None)
    creates = point is first
    transfers = _transfers(point)
    raw = {one.nprocs: _raw(spec, point, one) for one in counted_calls}
    if creates and spec.library == "pnetcdf" and spec.option("gaps", "refuse") == "fill":
        raw = {
            n: known + _raw(spec, point, fills(spec, point, n), True) for n, known in raw.items()
        }
    steps = _steps(spec, point, creates, transfers)
    return Plan(spec, point, creates, decisions, transfers, steps, raw)


def _raw(spec: Spec, point: Point, counted_calls: Calls, collective: bool = False) -> int:
    """`collective`: whatever the point's own calls are."""
    facts = Facts(spec, point, [counted_calls])
    collective = collective or facts.chosen("calls") == "collective"
    # HDF5 moves each run by a call of its own, and nothing is sieved
    by_runs = spec.library in ("hdf5", "netcdf4") and not collective
    buffer = int(spec.layout["cb_buffer_size"].words[0]) if "cb_buffer_size" in spec.layout else 0
    how = How(
        reading=point.kind == "read",
        together=spec.library == "pnetcdf" and facts.chosen("posting") == "nonblocking",
        collective=collective,
        plain=spec.library == "posix",
        two_phase=facts.chosen("two_phase"),
        sieving=facts.chosen("sieving") == "auto" and not by_runs,
        packed=spec.in_memory.packed,
        buffer=buffer or COLLECTIVE_BUFFER,
    )
    return raw_calls(counted_calls, how)


def _transfers(point: Point) -> list[Transfer]:
    """Accesses of all processes one by one; those of single processes to a variable and buffer side by side."""
    transfers: list[Transfer] = []
    alone: dict[tuple[int, str, int], Transfer] = {}
    turns: dict[tuple[int, str, int | None], int] = {}
    for access in point.accesses:
        for at, box in enumerate(access.boxes):
            earlier = access.boxes[:at]
            if access.process is None:
                transfers.append(Transfer(access.variable, access.buffer, {None: box}, earlier))
                continue
            turn = _turn(turns, access)
            key = (access.variable.number, access.buffer.name, turn)
            if key not in alone:
                alone[key] = Transfer(access.variable, access.buffer, {}, earlier)
                transfers.append(alone[key])
            alone[key].boxes[access.process] = box
    return transfers


def _turn(turns: dict[tuple[int, str, int | None], int], access: Access) -> int:
    key = (access.variable.number, access.buffer.name, access.process)
    turns[key] = turns.get(key, -1) + 1
    return turns[key]


def _steps(spec: Spec, point: Point, creates: bool, transfers: list[Transfer]) -> list[Step]:
    library, path = spec.library, spec.option("file", "the file")
    steps = [Step("create" if creates else "open", path)]
    if creates and library not in ("mpiio", "posix"):
        if library != "hdf5":
            steps += [Step("define dimension", name) for name in spec.dimensions]
        steps += [Step("define variable", v.path) for v in spec.variables.values()]
        steps += [Step("put attribute", a.name) for a in spec.attributes]
        if library != "hdf5":
            steps.append(Step("end definitions", path))
    posts = library == "pnetcdf" and spec.option("posting", "nonblocking") == "nonblocking"
    steps += [Step("post" if posts else point.kind, t.variable.path) for t in transfers]
    if posts:
        steps.append(Step("wait for all", path))
    return [*steps, Step("close", path)]
