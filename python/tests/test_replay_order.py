"""In which order ranks had the pointer that they share, where their calls overlapped."""

from __future__ import annotations

from fathom.codegen.replay.calls import Call, at_once, by_places


def write(rank: int, start: int, moved: int, placed: int) -> Call:
    return Call(
        rank, rank, "mpiio", "MPI_File_write_shared", "write", 1, start, moved + 1, 10, None, 10, None, 0, None,
        "/f", placed, moved,
    )  # fmt: skip


def test_the_earlier_bytes_had_it_first_though_their_data_went_last() -> None:
    calls = [write(0, 0, 100, 10), write(1, 5, 200, 0), write(2, 50, 300, 20)]
    (group,) = at_once(calls)
    by_places(group)
    assert [call.rank for call in sorted(calls, key=lambda call: call.moved or 0)] == [1, 0, 2]
    assert all(call.moved is not None and call.moved >= call.start for call in calls)


def test_calls_that_do_not_overlap_keep_their_times() -> None:
    """The pointer may have gone back in between."""
    calls = [write(0, 0, 100, 10), write(1, 101, 200, 0)]
    assert [len(group) for group in at_once(calls)] == [1, 1]
    assert [group[0].rank for group in at_once(calls)] == [0, 1]
