"""Raw data and metadata below HDF5: each lower call is one or the other, and where it went in the file
says, by another HDF5's account of the file, whether that is true."""

from __future__ import annotations

import os
import subprocess
from bisect import bisect_right
from pathlib import Path
from typing import Any

import pytest
from harness import needs, paths, tables
from harness.runner import LAUNCH, STACK_ENV

#: docs/tables.md, "Metadata and raw data": each POSIX transfer with the type of memory it serves.
MEMORY = """
with recursive above as (
	select id as lower, parent from calls where layer = 'posix' and kind in ('read', 'write') and bytes > 0
	union all
	select lower, c.parent from above join calls c on c.id = above.parent
	where c.op not like 'H5FD%'
)
select c.kind, c.file_offset, c.bytes, a.value
from above join calls h on h.id = above.parent and h.op like 'H5FD%'
join args a on a.call = h.id and a.name = 'mem_type' join calls c on c.id = above.lower
join files f on f.file = c.file where list_contains(f.paths, ?)
"""
LOWER = """
select count(*) from calls c join files f using (file)
where list_contains(f.paths, ?) and c.layer = 'posix' and c.kind in ('read', 'write') and c.bytes > 0
"""


def run(tmp: Path, *command: object) -> Any:
    directory = tmp / "run.fathom"
    done = subprocess.run(
        [str(word) for word in (paths.FATHOM, "run", "--no-show", "-o", directory, "--", *command)],
        env={**os.environ, **STACK_ENV},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return tables.connect(directory)


def raw_extents(path: Path) -> list[tuple[int, int]]:
    """(first byte, end) of all raw data, touching ones joined."""
    h5py = pytest.importorskip("h5py")
    found: list[tuple[int, int]] = []

    def visit(_: str, item: Any) -> None:
        if not isinstance(item, h5py.Dataset):
            return
        if item.chunks:
            chunks = (item.id.get_chunk_info(i) for i in range(item.id.get_num_chunks()))
            found.extend((c.byte_offset, c.byte_offset + c.size) for c in chunks)
        elif item.id.get_offset() is not None:
            found.append((item.id.get_offset(), item.id.get_offset() + item.id.get_storage_size()))

    with h5py.File(path) as file:
        file.visititems(visit)
    joined: list[tuple[int, int]] = []
    for start, end in sorted(found):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def place(extents: list[tuple[int, int]], start: int, end: int) -> str:
    """Where bytes lie: `raw`, `metadata`, or `both`."""
    at = bisect_right(extents, (start, 1 << 62)) - 1
    if at >= 0 and end <= extents[at][1]:
        return "raw"
    touches = (at >= 0 and start < extents[at][1]) or (
        at + 1 < len(extents) and end > extents[at + 1][0]
    )
    return "both" if touches else "metadata"


def assert_told_apart(connection: Any, path: Path) -> None:
    rows = connection.execute(MEMORY, [str(path)]).fetchall()
    assert len(rows) == connection.execute(LOWER, [str(path)]).fetchone()[0]
    extents = raw_extents(path)
    said = {"raw": 0, "metadata": 0}
    for kind, offset, size, mem_type in rows:
        what = "raw" if mem_type == 3 else "metadata"
        said[what] += 1
        # HDF5 reads an object's header before it knows how long it is: such a read may end in what follows
        end = offset + (1 if kind == "read" and what == "metadata" else size)
        where = place(extents, offset, end)
        assert where == what, (
            f"{kind} of {size} at {offset} is said to be {what}, but lies in {where}"
        )
    assert min(said.values()) > 10, said


@pytest.mark.parametrize("how", ["collective", "independent"])
@pytest.mark.parametrize("stack", ["mpich", "ompio", "romio321"])
def test_parallel(stack: str, how: str, tmp_path: Path) -> None:
    needs.require(needs.of_mpi(stack))
    program = paths.PROGRAMS / "programs" / f"hdf5_memory_{needs.MPI[stack]}"
    path = tmp_path / "f.h5"
    connection = run(tmp_path, *LAUNCH[stack].split(), "-n", 3, program, path, how)
    assert_told_apart(connection, path)
