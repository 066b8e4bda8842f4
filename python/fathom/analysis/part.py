"""What a run that was recorded in part does not tell: the same sentences on every page and screen."""

from collections.abc import Mapping, Sequence
from typing import Any

from fathom.analysis import Source, ranklist

NOT_ALIKE = "of some ranks calls were recorded, those of others only counted by operation"
NOT_IN_FULL = "calls of some ranks were recorded in full, those of others only counted"
#: Of a run that does not know its files (level job).
FILES_UNTOLD = "what was read of the system's and of interpreters' files, of sockets and pipes counts as the program's"

#: Of counts by time (table `heat`): no file is told there.
HEAT_OF_ALL = (
    "reads and writes of the MPI library's start and end, and of interpreters, are among them"
)


def of_ranks(seen: int, ranks: int) -> str:
    """Some were not recorded."""
    were = "ranks was" if seen == 1 else "ranks were"
    return f"{seen:,} of {ranks:,} {were} recorded; of the others nothing is known"


#: Marks of programs whose calls are not all seen, as runtime/edges/edges.c and runtime/handlers/uring.c begin them.
PAST = ("Go: ", "io_uring: the program drives")
WENT_PAST = (
    "the program also makes system calls that nobody records (Missing says which): what is said is"
    " of the others"
)


def went_past(source: Source) -> bool:
    """Did the program make calls that are not seen?"""
    marked = " or ".join(f"starts_with(detail, '{begin}')" for begin in PAST)
    return bool(source.sql(f"select count(*) as n from marks where {marked}")["n"][0].as_py())


def is_all_own(source: Source) -> bool:
    """Is nothing left out as a run-time's?"""
    return not source.sql("select calls from beside")["calls"][0].as_py()


def of_files(source: Source) -> tuple[str, str] | None:
    """Ranks whose files are known, and those whose reads and writes were only counted, where there are both."""
    (less,) = source.sql("from ranks_in_part()").to_pylist()
    known, counted = (less[name] or [] for name in ("ranks_with_files", "ranks_without"))
    return (_named(known), _named(counted)) if known and counted else None


def _named(ranks: Sequence[int]) -> str:
    return f"{'rank' if len(ranks) == 1 else 'ranks'} {ranklist.brief(ranks)}"


def in_part(source: Source, manifest: Mapping[str, Any]) -> list[str]:
    """A sentence for each way in which less is known of some ranks or files than of others."""
    sentences = []
    (run,) = source.sql("select ranks, ranks_seen from runs").to_pylist()
    (less,) = source.sql("from ranks_in_part()").to_pylist()
    if less["ranks_missing"]:
        sentences.append(of_ranks(run["ranks_seen"], run["ranks"]))
    elif less["files"]:
        sentences.append(NOT_ALIKE)
    elif less["calls"]:
        sentences.append(NOT_IN_FULL)
    if went_past(source):
        sentences.append(WENT_PAST)
    globs = manifest.get("configuration", {}).get("files", [])
    if globs:
        sentences.append(
            f"files were chosen ({' '.join(globs)}); of calls on others nothing is known"
        )
    return sentences
