"""HDF5 of every version that is here, and raw data and metadata below it: each lower call is one or the other,
and where it went in the file says, by another HDF5's account of the file, whether that is true.

FATHOM_TEST_HDF5 names further libraries to test with (globs, separated by ':'): those of older Python packages."""

from __future__ import annotations

import importlib.util
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


def run(tmp: Path, *command: object, env: dict[str, str] | None = None) -> tuple[Any, str]:
    """The run's tables, and what the program printed."""
    directory = tmp / "run.fathom"
    done = subprocess.run(
        [str(word) for word in (paths.FATHOM, "run", "--no-show", "-o", directory, "--", *command)],
        env={**os.environ, **STACK_ENV, **(env or {})},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return tables.connect(directory), done.stdout


def raw_extents(path: Path) -> list[tuple[int, int]]:
    """(first byte, end) of all raw data, touching ones joined."""
    h5py = pytest.importorskip("h5py")
    extents_: list[tuple[int, int]] = []

    def visit(_: str, item: Any) -> None:
        if not isinstance(item, h5py.Dataset):
            return
        if item.chunks:
            chunks = (item.id.get_chunk_info(i) for i in range(item.id.get_num_chunks()))
            extents_.extend((c.byte_offset, c.byte_offset + c.size) for c in chunks)
        elif item.id.get_offset() is not None:
            extents_.append(
                (item.id.get_offset(), item.id.get_offset() + item.id.get_storage_size())
            )

    with h5py.File(path) as file:
        file.visititems(visit)
    joined: list[tuple[int, int]] = []
    for start, end in sorted(extents_):
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


def is_heap(path: Path, offset: int) -> bool:
    """A global heap, where values of variable length lie: raw data to HDF5, of no dataset."""
    with path.open("rb") as file:
        file.seek(offset)
        return file.read(4) == b"GCOL"


def assert_told_apart(connection: Any, path: Path, least: int) -> None:
    rows = connection.execute(MEMORY, [str(path)]).fetchall()
    assert len(rows) == connection.execute(LOWER, [str(path)]).fetchone()[0]
    extents = raw_extents(path)
    counts = {"raw": 0, "metadata": 0}
    for kind, offset, size, mem_type in rows:
        what = "raw" if mem_type == 3 else "metadata"
        counts[what] += 1
        # HDF5 reads an object's header before it knows how long it is: such a read may end in what follows
        end = offset + (1 if kind == "read" and what == "metadata" else size)
        where = "raw" if is_heap(path, offset) else place(extents, offset, end)
        assert where == what, (
            f"{kind} of {size} at {offset} is said to be {what}, but lies in {where}"
        )
    assert min(counts.values()) >= least, counts


@pytest.mark.some(2)
@pytest.mark.parametrize("how", ["collective", "independent"])
@pytest.mark.parametrize("stack", ["mpich", "ompio", "romio321"])
def test_parallel(stack: str, how: str, tmp_path: Path) -> None:
    needs.require(needs.of_mpi(stack))
    program = paths.PROGRAMS / "programs" / f"hdf5_memory_{needs.MPI[stack]}"
    path = tmp_path / "f.h5"
    connection, _ = run(tmp_path, *LAUNCH[stack].split(), "-n", 3, program, path, how)
    assert_told_apart(connection, path, 10)


def libraries() -> list[Path]:
    """Each copy of HDF5 on this machine that needs no MPI."""
    patterns = os.environ.get("FATHOM_TEST_HDF5", "").split(":")
    patterns += ["/usr/lib/*/libhdf5_serial.so.10[0-9]"]
    for package in ("h5py", "netCDF4"):
        spec = importlib.util.find_spec(package)
        if spec and spec.origin:
            patterns.append(f"{Path(spec.origin).parents[1]}/{package.lower()}.libs/libhdf5-*.so*")
    return [
        path
        for pattern in patterns
        if pattern
        for path in sorted(Path("/").glob(pattern.lstrip("/")))
    ]


#: What any_hdf5 does: op, class and name of its object, bytes; the last word is what a version that has the call
#: prints. "-" is none.
CALLS = """
H5Fcreate file {path}
H5Gcreate2 group /fields
H5Dcreate2 dataset /fields/plain
H5Acreate2 attribute /fields/plain/unit
H5Awrite attribute /fields/plain/unit 24
H5Aread attribute /fields/plain/unit 12
H5Aclose attribute /fields/plain/unit
H5Acreate1 attribute /fields/plain/old
H5Aclose attribute /fields/plain/old
H5Arename dataset /fields/plain
H5Aopen_by_name attribute /fields/plain/older
H5Aclose attribute /fields/plain/older
H5Adelete dataset /fields/plain
H5Aexists dataset /fields/plain
H5Dwrite dataset /fields/plain 1600
H5Dwrite dataset /fields/plain 160
H5Dread dataset /fields/plain 168
H5Dread dataset /fields/plain 24
H5Dclose dataset /fields/plain
H5Dcreate2 dataset /fields/chunked
H5Dwrite dataset /fields/chunked 1600
H5Dset_extent dataset /fields/chunked
H5Dread dataset /fields/chunked 2400
H5Dwrite_chunk dataset /fields/chunked 400 chunks
H5Dclose dataset /fields/chunked
H5Dcreate2 dataset /fields/text
H5Dwrite dataset /fields/text 16
H5Dclose dataset /fields/text
H5Dcreate2 dataset /fields/first
H5Dcreate2 dataset /fields/second
H5Dwrite_multi file {path} 128 several
H5Dclose dataset /fields/first
H5Dclose dataset /fields/second
H5EScreate - - - events
H5Dcreate_async dataset /fields/later - events
H5Dwrite_async dataset /fields/later 64 events
H5Dclose_async dataset /fields/later - events
H5ESwait - - 64 events
H5ESclose - - - events
H5Lcreate_soft group /fields
H5Lmove group /fields
H5Lexists group /fields
H5Ldelete group /fields
H5Tcommit2 datatype /count
H5Tclose datatype /count
H5Oopen datatype /count
H5Oclose datatype /count
H5Fflush file {path}
H5Gclose group /fields
H5Gopen1 group /fields
H5Gclose group /fields
H5Fclose file {path}
"""
#: What is in force, of the file and what lies in it.
HINTS = {
    "{path}": {
        "driver": "sec2",
        "alignment": "4096 bytes, of objects of 1024 and more",
        "sieve_buffer": "65536 bytes",
        "metadata_cache": "2097152 bytes at most",
    },
    "/fields/plain": {"type": "float32 BE", "layout": "contiguous", "alloc_time": "late"},
    "/fields/chunked": {
        "type": "float64 LE",
        "layout": "chunked",
        "chunk": "5x10",
        "filters": "shuffle(8) deflate(6)",
        "fill_value": "given",
        "chunk_cache": "4194304 bytes, 1009 slots",
    },
    "/fields/text": {"type": "string variable length", "fill_time": "at allocation"},
    "/fields/plain/unit": {"type": "float32 LE"},
    "/count": {"type": "int32 LE"},
}


def expected_calls(words: list[str], path: Path) -> list[tuple[str, str, str, int | None]]:
    """The rows of CALLS that a version with these words makes."""
    rows = []
    for line in CALLS.split("\n")[1:-1]:
        op, what, name, size, word = (*line.split(" "), "-", "-")[:5]
        if word == "-" or word in words:
            named = "" if name == "-" else name.format(path=path)
            rows.append((op, what.strip("-"), named, None if size == "-" else int(size)))
    return rows


@pytest.mark.parametrize("library", libraries(), ids=lambda path: str(path.name))
def test_every_version(library: Path, tmp_path: Path) -> None:
    """The same program through each: its own account of what it did is the table above."""
    path = tmp_path / "f.h5"
    program = paths.PROGRAMS / "programs" / "any_hdf5"
    # a wheel's library finds its neighbours only by those who load it
    env = {"LD_LIBRARY_PATH": str(library.parent)}
    connection, printed = run(tmp_path, program, library, path, env=env)
    version, *words = printed.split()
    print(f"HDF5 {version}: {library}")
    rows = connection.execute(
        "select op, coalesce(replace(o.class, 'hdf5_', ''), ''), coalesce(o.name, ''), bytes "
        "from calls left join objects o using (object) "
        "where layer = 'hdf5' and op not like 'H5FD%' and error = 0 order by start"
    ).fetchall()
    assert rows == expected_calls(words, path)
    hints = connection.execute(
        "select o.name, key, value from hints_in_force h join objects o using (object) "
        "where source = 'in force' and o.class like 'hdf5%'"
    ).fetchall()
    for name, expected in HINTS.items():
        stated = {key: value for of, key, value in hints if of == name.format(path=path)}
        if version.startswith("1.12"):  # does not say whether a file is HDF5's own to ask about
            stated.setdefault("metadata_cache", "2097152 bytes at most")
        assert {key: stated.get(key) for key in expected} == expected, name
    completed = connection.execute(
        "select p.op, l.bytes, l.kind from links l join calls w on w.id = l.from_call "
        "join calls p on p.id = l.to_call where w.op = 'H5ESwait' order by p.start"
    ).fetchall()
    posted = [("H5Dcreate_async", 0), ("H5Dwrite_async", 64), ("H5Dclose_async", 0)]
    assert completed == [(*post, "completes") for post in posted if "events" in words]
    selections = connection.execute(
        "select s.total, s.exact, s.blocks from calls join selections s using (selection) "
        "where op in ('H5Dread', 'H5Dwrite') order by start"
    ).fetchall()
    assert selections == [(20, True, 1), (21, True, 2), (3, True, 3)]
    assert_told_apart(connection, path, 3)
