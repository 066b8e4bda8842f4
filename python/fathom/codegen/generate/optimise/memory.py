"""Rule 15: whether what lies scattered in memory is packed into a copy, or described to the library by a datatype."""

from fathom.codegen.generate.language.mistake import Mistake
from fathom.codegen.generate.optimise.requests import calls, interleaved
from fathom.codegen.generate.spec import InMemory, Spec

#: Libraries that can be told where the parts lie: MPI's datatypes, HDF5's hyperslabs of memory. PnetCDF can too, but
#: makes a copy of its own by it, element by element.
DESCRIBED = ("hdf5", "mpiio")
#: Bytes side by side in memory from which a datatype costs the processor hardly more than a copy: of 512 KiB written by
#: two-phase I/O of MPICH 4.0 about 95 thousand instructions more, with rows of 128 bytes 370 thousand (callgrind).
LONG = 4096


def in_memory(spec: Spec) -> InMemory:
    """What the rule chooses, or the option `memory` asks for. Errors: Mistake for a library that has no datatype."""
    choice = spec.option("memory", "auto")
    if choice == "datatype" and spec.library not in DESCRIBED:
        raise Mistake(
            spec.options["memory"].place,
            f"{spec.library} gains nothing by a datatype: memory that is scattered would be copied as well",
            f"take the option out: it is packed; or choose {' or '.join(DESCRIBED)}",
        )
    if choice != "auto":
        return InMemory(choice == "packed", "as asked for")
    if spec.library not in DESCRIBED:
        return InMemory(
            True, "what is moved lies scattered in memory; a packed copy is moved in one piece"
        )
    short, exchanged = _looked_at(spec)
    if short:
        return InMemory(True, "what lies side by side is short: a list of it is as large as a copy")
    if not exchanged:
        return InMemory(
            True,
            "ranks do not interleave: ROMIO would pass it through a small buffer, and read before it writes",
        )
    return InMemory(False, "rows are long, and ROMIO takes them from there as it exchanges data")


def _looked_at(spec: Spec) -> tuple[bool, bool]:
    """Whether any rank's runs in memory are short; whether all that is scattered is exchanged by two-phase I/O."""
    wished = spec.option("two_phase", "auto")
    exchange = wished != "off" and spec.option("calls", "collective") == "collective"
    short = False
    for point in spec.points:
        for nprocs in spec.processes:
            for group in calls(spec, point, nprocs).transfers:
                scattered = [r for r in group if r.in_memory > 1]
                short |= any(r.bytes < LONG * r.in_memory for r in scattered)
                exchange &= not scattered or wished == "force" or interleaved(group)
    return short, exchange
