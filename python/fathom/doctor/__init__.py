"""What `fathom doctor` looks at. Each check is a function that gives findings."""

from collections.abc import Iterator

from fathom.doctor import facts, installation, machine, mpi, program
from fathom.doctor.finding import Finding

__all__ = ["Finding", "all_of", "the_facts"]


def all_of(program_name: str | None) -> Iterator[Finding]:
    """Every check: of Fathom, of the machine, of the program."""
    path = program.find(program_name) if program_name else None
    yield from the_facts()
    for room in (installation, machine, mpi):
        for check in room.CHECKS:
            yield from check()
    if path:
        yield from program.check(path)


def the_facts() -> Iterator[Finding]:
    """What bugs depend on."""
    for check in facts.CHECKS:
        yield from check()
