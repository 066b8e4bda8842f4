"""Raw-data writes and reads that a plan will make, with ROMIO on one node (one aggregator).

The model: a two-phase call over a contiguous extent E makes ceil(E / cb_buffer_size) accesses; a collective
call whose ranks do not interleave makes each rank's own. A rank's own access is one per contiguous run, unless
ROMIO sieves: then one per buffer of the span.
"""

from dataclasses import dataclass

from fathom.codegen.generate.optimise.requests import Calls, Request, interleaved

COLLECTIVE_BUFFER = 16 << 20
SIEVE_READ = 4 << 20
SIEVE_WRITE = 512 << 10


@dataclass(frozen=True)
class How:
    """What the count depends on."""

    reading: bool
    together: bool  # all transfers in one call
    collective: bool
    plain: bool  # POSIX: no MPI-IO below
    two_phase: str  # auto, force, off
    sieving: bool
    packed: bool  # what lies scattered in memory is given as one piece
    buffer: int = COLLECTIVE_BUFFER


def raw_calls(calls: Calls, how: How) -> int:
    """How many reads or writes of data reach the file system."""
    groups = [calls.together()] if how.together else calls.transfers
    return sum(_of_call(group, how) for group in groups if group)


def _of_call(group: list[Request], how: How) -> int:
    if how.plain:
        return sum(r.runs for r in group)
    worth = how.two_phase == "force" or (how.two_phase == "auto" and interleaved(group))
    if how.collective and worth:
        extent = max(r.end for r in group) - min(r.first for r in group)
        return -(-extent // how.buffer)
    return sum(_own(r, how) for r in group)


def _own(request: Request, how: How) -> int:
    """ROMIO moves what is scattered in memory as it does what is scattered in the file."""
    runs = request.runs if how.packed else max(request.runs, request.in_memory)
    if runs == 1 or not how.sieving:
        return runs
    buffer = SIEVE_READ if how.reading else SIEVE_WRITE
    return -(-(request.end - request.first) // buffer)
