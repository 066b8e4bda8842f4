"""`fathom replay`: what a replay does is recorded again, and must be what the run did, call by call."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
from harness import case, needs, paths, runner, tables

LAYERS = {
    "hdf5": ("hdf5", "mpiio", "posix"),
    "mpiio": ("mpiio", "posix"),
    "posix": ("posix",),
}
#: The outermost calls of these layers on files below a directory, MPICH's errors without their numbers; below no call
#: that MPI starts by itself.
CALLS = """
with recursive above as (
	select id as inner_call, parent from calls where parent is not null
	union all
	select inner_call, c.parent from above join calls c on c.id = above.parent where c.parent is not null
), inside as (
	select distinct inner_call from above join calls c on c.id = above.parent
	where list_contains($layers, c.layer) or c.kind = 'comm'
)
select coalesce(c.rank, c.process), c.layer, replace(c.op, 'MPI_Test', 'MPI_Wait'), o.name,
	c.file_offset, c.size, c.bytes, case when c.layer = 'mpiio' then c.error & 127 else c.error end,
	(select max(value) from args a where a.call = c.id and a.name = 'collective') as collective
from calls c join objects o using (object)
where list_contains($layers, c.layer) and (c.layer = 'hdf5' or starts_with(o.name, $root))
	and c.id not in (select inner_call from inside)
order by c.process, c.start, c.depth"""
RAW = """
select coalesce(c.rank, c.process), c.op, c.size, c.bytes from calls c join objects o using (object)
where layer = 'posix' and kind in ('read', 'write') and starts_with(o.name, $root)"""
#: Asked of MPI and HDF5, and not asked again: no byte of data moves.
ASKED = (
    "MPI_File_get_byte_offset",
    "MPI_File_get_position",
    "MPI_File_get_view",
    "MPI_File_get_amode",
    "H5Lexists",
)


def fathom(*words: object, cwd: Path, status: int = 0) -> str:
    """What it says on stderr."""
    done = subprocess.run(
        [str(paths.FATHOM), *map(str, words)], cwd=cwd, env={**os.environ, **runner.STACK_ENV},
        capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    assert done.returncode == status, done.stderr + done.stdout
    return done.stderr


def job(mpi: str, program: Path, *words: object, ranks: int = 4) -> list[object]:
    needs.require(needs.of_mpi(mpi))
    return [*runner.LAUNCH[mpi].split(), "-n", ranks, program, *words]


def kernel(mpi: str, name: str) -> Path:
    built = paths.BUILD / "kernels" / f"{name}_{needs.MPI[mpi]}"
    if not built.exists():
        pytest.skip(f"{built.name} is not built: its library is not installed")
    return built


def program(mpi: str, name: str) -> Path:
    return paths.PROGRAMS / "programs" / "mpi" / f"{name}_{needs.MPI[mpi]}"


def record(tmp: Path, name: str, command: list[object]) -> Path:
    fathom("run", "--no-show", "-o", name, "--", *command, cwd=tmp)
    return tmp / f"{name}.fathom"


def calls(run: Path, level: str, root: Path) -> dict[int, list[tuple[Any, ...]]]:
    """By rank, names below `root`."""
    with tables.connect(run) as connection:
        values = {"layers": LAYERS[level], "root": f"{root}/"}
        rows = connection.execute(CALLS, values).fetchall()
    by_rank: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
    for rank, layer, op, name, *rest in rows:
        if op not in ASKED:
            by_rank[rank].append((layer, op, name.removeprefix(str(root)), *rest))
    return by_rank


def raw(run: Path, root: Path) -> Counter[tuple[Any, ...]]:
    with tables.connect(run) as connection:
        return Counter(connection.execute(RAW, {"root": f"{root}/"}).fetchall())


def again(
    tmp: Path, run: Path, level: str, mpi: str, *options: object, ranks: int = 4
) -> tuple[Path, Path]:
    """The replay's run, and the directory of its files."""
    built, out = tmp / f"replay_{level}", tmp / f"again_{level}"
    fathom("replay", run, "--layer", level, "--build", built, *options, cwd=tmp)
    return record(tmp, f"again_run_{level}", job(mpi, built, out, ranks=ranks)), out


def same(
    tmp: Path, run: Path, files: Path, level: str, mpi: str, ranks: int = 4
) -> dict[int, list[tuple[Any, ...]]]:
    """Asserts that the replay is the run, whose files were in `files`; its calls."""
    other, out = again(tmp, run, level, mpi, ranks=ranks)
    seen, replayed = calls(run, level, files), calls(other, level, out)
    assert sum(map(len, seen.values())) > 0
    for rank, wanted in seen.items():
        assert replayed[rank] == wanted, f"rank {rank} of {run.name} at level {level}"
    assert raw(other, out) == raw(run, files)
    return seen


def recorded(
    tmp: Path, mpi: str, built: Path, *words: object, name: str = "run", ranks: int = 4
) -> tuple[Path, Path]:
    files = tmp / f"out_of_{name}"
    files.mkdir()
    return record(tmp, name, job(mpi, built, *words, files, ranks=ranks)), files


KERNELS = [
    ("mpich", "s3d_mpiio", ("-r", "-c", 2, 8, 8, 8, 2, 2, 1), ("mpiio", "posix")),
    ("ompio", "s3d_mpiio", ("-c", 2, 8, 8, 8, 2, 2, 1), ("mpiio",)),
    ("romio321", "s3d_pnetcdf", ("-c", 1, 8, 8, 8, 2, 2, 1), ("mpiio", "posix")),
    ("mpich", "flash_hdf5", ("-x", 2, "-b", 2, "-p", 3, "-f", "c"), ("hdf5", "mpiio")),
    ("mpich", "vpic_hdf5", ("-p", 100), ("hdf5", "mpiio", "posix")),
    *(("mpich", "synthetic_mpiio", ("-r", way, 33, 37), ("mpiio",)) for way in ("row", "column")),
    ("ompio", "synthetic_mpiio", ("-r", "-m", "independent", "block", 33, 37), ("mpiio",)),
    ("mpich", "ior_posix", ("-r", "-F", 2, 4096, 1024), ("posix",)),
    ("mpich", "s3d_hdf5", ("-c", 1, 8, 8, 8, 2, 2, 1), ("hdf5",)),
    ("romio321", "vorpal_hdf5", (4, 4, 4, 0, 0, 0, 2, 2, 1), ("hdf5",)),
    ("mpich", "athena_mpiio", ("-t", 1), ("mpiio",)),
]
QUICK = "s3d_mpiio-mpich"


@pytest.mark.parametrize(
    ("mpi", "name", "words", "levels"),
    [
        pytest.param(
            *one, id=(label := f"{one[1]}-{one[0]}-{number}"),
            marks=[] if label.startswith(QUICK) else pytest.mark.full,
        )
        for number, one in enumerate(KERNELS)
    ],
)  # fmt: skip
def test_a_replay_makes_the_calls_of_a_kernel(
    tmp_path: Path, mpi: str, name: str, words: tuple[object, ...], levels: tuple[str, ...]
) -> None:
    run, files = recorded(tmp_path, mpi, kernel(mpi, name), *words)
    for level in levels:
        same(tmp_path, run, files, level, mpi)
    assert SAME in fathom("replay", run, "--in", "new", cwd=tmp_path)


#: What of a call a rank's part of an array shows in: a dataset's extents, what was selected from where on, a view.
PARTS = """
select c.rank, c.op, replace(o.name, $root, ''), o.extents, s.total, s.box_count,
	list_sort(list(a.name || ' ' || a.value) filter (a.name in ('start', 'displacement')))
from calls c join objects o using (object) left join args a on a.call = c.id
	left join selections s on s.selection = c.selection
where c.layer in ('hdf5', 'mpiio') and (c.layer = 'hdf5' or starts_with(o.name, $root))
	and not exists (from calls p where p.id = c.parent and p.layer in ('hdf5', 'mpiio'))
group by all"""
#: Where a file's bytes were moved by the system, whoever asked for it.
PLACED = """
select c.rank, c.op, replace(o.name, $root, ''), c.file_offset, c.size, c.bytes
from calls c join objects o using (object)
where c.layer = 'posix' and c.kind in ('read', 'write') and starts_with(o.name, $root)"""
S3D, VPIC, ROW, COLUMN, BLOCK = (
    ("s3d_mpiio", "mpiio"), ("vpic_hdf5", "hdf5"),
    *(("synthetic_mpiio", "mpiio") for _ in range(3)),
)  # fmt: skip
#: A kernel, level, its words on 4 ranks; options of the replay; words and ranks of the same kernel.
RESIZED = [
    (*S3D, ("-r", "-c", 2, 8, 8, 8, 2, 2, 1), ("--nprocs", 8), ("-r", "-c", 2, 8, 16, 8, 2, 4, 1), 8),
    (*VPIC, ("-p", 100), ("--nprocs", 2), ("-p", 100), 2),
    ("ior_posix", "posix", ("-r", "-F", 2, 4096, 1024), ("--nprocs", 12), ("-r", "-F", 2, 4096, 1024), 12),
    ("ior_posix", "posix", ("-r", 2, 4096, 1024), ("--nprocs", 8), ("-r", 2, 4096, 1024), 8),
    (*S3D, ("-c", 1, 8, 8, 8, 2, 2, 1), ("--scale", 2), ("-c", 1, 8, 16, 8, 2, 2, 1), 4),
    (*S3D, ("-c", 1, 8, 8, 8, 2, 2, 1), ("--nprocs", 2), ("-c", 1, 8, 4, 8, 2, 1, 1), 2),
    (*VPIC, ("-p", 100), ("--scale", 2), ("-p", 200), 4),
    (*ROW, ("-r", "row", 32, 40), ("--nprocs", 8, "--scale", "1/2"), ("-r", "row", 32, 40), 8),
    (*COLUMN, ("-r", "column", 32, 40), ("--nprocs", 8), ("-r", "column", 32, 80), 8),
    (*COLUMN, ("column", 32, 40), ("--scale", 2), ("column", 32, 80), 4),
    (*BLOCK, ("-r", "block", 32, 40), ("--scale", 2), ("-r", "block", 64, 40), 4),
    ("s3d_hdf5", "hdf5", ("-c", 1, 8, 8, 8, 2, 2, 1), ("--nprocs", 8), ("-c", 1, 8, 16, 8, 2, 4, 1), 8),
    ("athena_mpiio", "mpiio", ("-t", 1), ("--nprocs", 8), ("-t", 1), 8),
]  # fmt: skip


@pytest.mark.full
@pytest.mark.parametrize(
    ("mpi", "name", "level", "words", "options", "larger", "ranks"),
    [
        pytest.param(
            mpi, *one, id=f"{number}-{one[0]}-{mpi}{''.join(map(str, one[3]))}",
            marks=[] if number < 3 and mpi == "mpich" else pytest.mark.full,
        )
        for mpi in needs.MPI
        for number, one in enumerate(RESIZED)
    ],
)  # fmt: skip
def test_on_other_ranks_or_sizes_a_replay_is_the_kernel_on_these(
    tmp_path: Path, mpi: str, name: str, level: str, words: tuple[object, ...],
    options: tuple[object, ...], larger: tuple[object, ...], ranks: int,
) -> None:  # fmt: skip
    built = kernel(mpi, name)
    run, _ = recorded(tmp_path, mpi, built, *words)
    other, out = again(tmp_path, run, level, mpi, *options, ranks=ranks)
    wanted, files = recorded(tmp_path, mpi, built, *larger, name="larger", ranks=ranks)
    assert calls(other, level, out) == calls(wanted, level, files)
    for question in (PARTS, PLACED):
        seen, replayed = counted(wanted, question, files), counted(other, question, out)
        assert replayed == seen and (seen or (question, level) == (PARTS, "posix"))


def counted(run: Path, question: str, root: Path) -> Counter[str]:
    with tables.connect(run) as connection:
        rows = connection.execute(question, {"root": f"{root}/"}).fetchall()
        return Counter(str(row) for row in rows if row[1] not in ASKED)


def test_other_ranks_or_sizes_of_what_is_not_regular_are_refused(tmp_path: Path) -> None:
    def refused(run: Path, *options: object, status: int = 3) -> str:
        return fathom("replay", run, *options, "--in", "new", cwd=tmp_path, status=status)

    rows, _ = recorded(tmp_path, "mpich", kernel("mpich", "synthetic_mpiio"), "row", 33, 37)
    message = refused(rows, "--nprocs", 8)
    assert "synthetic.0.bin" in message and "the ranks' parts differ in size" in message
    assert "--layer mpiio" in refused(rows, "--nprocs", 8, "--layer", "posix")
    assert "no number of ranks" in refused(rows, "--nprocs", 0, status=2)
    assert "no number above 0" in refused(rows, "--scale", "x", status=2)
    turns, _ = recorded(
        tmp_path, "mpich", kernel("mpich", "ior_posix"), 2, 4096, 1024, name="turns"
    )
    assert "in several calls" in refused(turns, "--scale", 2)
    assert "blocks of 4096 have no whole size" in refused(turns, "--scale", "1/3")
    assert not (tmp_path / "new").exists()


def test_accesses_without_any_order_are_rows_of_a_table(tmp_path: Path) -> None:
    """Processes without MPI, too. What was only read is made first, as long as the reads need; short and failing calls
    are as they were."""
    files = tmp_path / "out"
    files.mkdir()
    (files / "input").write_bytes(bytes(300000))
    script = paths.TESTS / "programs" / "random_access.py"
    run = record(tmp_path, "run", [paths.PYTHON, script, files, 400, 4])
    other, out = again(tmp_path, run, "posix", "mpich", "--files", f"{files}/*")
    assert (tmp_path / "replay_posix.table").stat().st_size > 4 * 400 * 8
    seen = [one for _, one in sorted(calls(run, "posix", files).items()) if one]
    replayed = [one for _, one in sorted(calls(other, "posix", out).items()) if one]
    before = replayed[0][: len(replayed[0]) - len(seen[0])]
    assert [one[1] for one in before[:2]] == ["open", "write"] and {o[2] for o in before} == {
        "/input"
    }
    replayed[0] = replayed[0][len(before) :]
    assert replayed == seen
    assert any(one[5] is not None and one[5] < one[4] for one in seen[0] if one[1] == "pread")
    assert (out / "own.3").stat().st_size == 1000


@pytest.mark.parametrize("mpi", ["mpich", pytest.param("ompio", marks=pytest.mark.full)])
def test_requests_of_mpi_are_posted_and_completed_again(tmp_path: Path, mpi: str) -> None:
    files = tmp_path / "out"
    files.mkdir()
    run = record(tmp_path, "run", job(mpi, program(mpi, "posted"), files / "f"))
    seen = same(tmp_path, run, files, "mpiio", mpi)
    assert [one[1] for one in seen[0]].count("MPI_File_iwrite_all") == 3


WAYS = ("split", "shared", "ordered", "turns", "gap", "asked", "failed", "atomic")


@pytest.mark.some(4)
@pytest.mark.parametrize(
    ("mpi", "way"),
    [
        pytest.param(
            mpi, way, id=f"{way}-{mpi}", marks=[] if mpi == "mpich" else pytest.mark.full
        )
        for mpi in needs.MPI
        for way in WAYS
    ],
)  # fmt: skip
def test_every_way_of_mpi_io_is_made_as_it_was(tmp_path: Path, mpi: str, way: str) -> None:
    """Split collective calls with their ends, pointers that ranks share in the order that was, views that begin behind
    their displacement, directories that were asked for, opens that failed, atomic mode."""
    run, files = recorded(tmp_path, mpi, program(mpi, "again"), way, ranks=3)
    seen = same(tmp_path, run, files, "mpiio", mpi, ranks=3)
    if way == "split":
        assert sum(one[1].endswith("_end") for one in seen[0]) == 5
    assert SAME in fathom("replay", run, "--layer", "posix", "--in", "new", cwd=tmp_path)


SAME = "fathom: replay: the same: its calls by layer, function, file, size, offset and bytes"


@pytest.mark.full
def test_what_the_library_does_otherwise_is_named(tmp_path: Path) -> None:
    """Open MPI's two libraries: that of the run is taken; the other's system calls differ."""
    run, _ = recorded(tmp_path, "ompio", program("ompio", "again"), "gap", ranks=3)
    assert SAME in fathom("replay", run, "--layer", "mpiio", "--in", "new", cwd=tmp_path)
    other = ["--launcher", "env OMPI_MCA_io=romio321 mpiexec.openmpi"]
    words = ["replay", run, "--layer", "mpiio", *other, "--in", "other"]
    message = fathom(*words, cwd=tmp_path, status=1)
    assert SAME not in message
    line = (
        r"differs: pwrite \(posix\) on gap: .* calls? of .* bytes in the run, .* here: the library"
    )
    assert re.search(line, message)


def source(tmp: Path, run: Path, *options: object) -> str:
    fathom("replay", run, "--emit-c", tmp / "io.c", *options, cwd=tmp)
    text = (tmp / "io.c").read_text()
    words = ["mpicc.mpich", "-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-c", "io.c"]
    subprocess.run(words, cwd=tmp, check=True)
    return text


def test_what_is_regular_is_a_few_loops(tmp_path: Path) -> None:
    """Ranks of IOR differ by where they begin alone; so do steps."""
    run, _ = recorded(tmp_path, "mpich", kernel("mpich", "ior_posix"), 8, 16384, 1024)
    text = source(tmp_path, run)
    (body,) = re.findall(r"static void replay\(void\)\n\{\n(.*?)\n\}\n", text, re.S)
    assert body.count("pwrite") == 1 and body.count("for (") == 2 and "of_rank" not in text
    assert "16384 * rank" in body and "65536 * i" in body and "1024 * j" in body
    assert not (tmp_path / "io.table").exists()
    assert "think" not in text and "think" in source(tmp_path, run, "--think", "1000")


def test_never_over_files_that_are_there(tmp_path: Path) -> None:
    run, files = recorded(tmp_path, "mpich", kernel("mpich", "ior_posix"), 1, 2048, 1024)
    before = {one: one.read_bytes() for one in files.iterdir()}
    message = fathom("replay", run, "--in", files, cwd=tmp_path, status=1)
    assert f"replay: {files}: Directory not empty; name an empty one" in message
    assert {one: one.read_bytes() for one in files.iterdir()} == before
    fathom("replay", run, "--in", tmp_path / "new", cwd=tmp_path)
    replayed = {one.name: len(one.read_bytes()) for one in (tmp_path / "new").iterdir()}
    assert replayed == {one.name: len(data) for one, data in before.items()}


#: Names that change relative to a directory, by libc's remove(), and a call that is refused for what it was given.
NAMES = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
os.chdir(sys.argv[1])
at = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
os.mkdir("d", dir_fd=at)
with open("d/a", "wb") as file:
    file.write(bytes(10))
os.link("d/a", "d/b", src_dir_fd=at, dst_dir_fd=at)
os.rename("d/a", "c", src_dir_fd=at, dst_dir_fd=at)
with open("c", "rb", buffering=0) as file:
    assert libc.lseek(file.fileno(), 0, 77) == -1
    file.read(4)
os.unlink("d/b", dir_fd=at)
assert libc.remove(b"d") == 0
os.link("c", "e")
"""


def test_changes_of_names_are_made_again(tmp_path: Path) -> None:
    files = tmp_path / "files"
    files.mkdir()
    run = record(tmp_path, "run", [sys.executable, "-c", NAMES, files])
    said = fathom("replay", run, "--in", "new", cwd=tmp_path)
    assert SAME in said
    assert {path.name: path.stat().st_size for path in (tmp_path / "new/files").iterdir()} == {
        "c": 10,
        "e": 10,
    }


def test_what_cannot_be_replayed_is_refused_by_name(tmp_path: Path) -> None:
    command = job("mpich", kernel("mpich", "ior_posix"), 1, 2048, 1024, tmp_path)
    fathom("run", "--no-show", "--level", "file", "-o", "counted", "--", *command, cwd=tmp_path)
    message = fathom("replay", "counted", "--in", "new", cwd=tmp_path, status=3)
    assert "only counted" in message and "--level call" in message
    assert not (tmp_path / "new").exists()
    fathom("replay", "counted", cwd=tmp_path, status=2)
    shutil.rmtree(tmp_path / "counted.fathom")
    message = fathom("replay", "counted", "--in", "new", cwd=tmp_path, status=3)
    assert "counted" in message


def test_of_a_program_that_asks_for_names_only_nothing_is_made_again(tmp_path: Path) -> None:
    run = record(tmp_path, "run", ["/bin/ls", tmp_path])
    message = fathom("replay", run, "--emit-c", "io.c", cwd=tmp_path, status=3)
    assert "run: no call on a file that can be replayed" in message
    assert not (tmp_path / "io.c").exists()


LEADS_OUT = """
import os, sys
os.chdir(sys.argv[1])
with open("data", "wb", 0) as file:
    file.write(bytes(4))
os.symlink("/etc/passwd", "link")
with open("link", "rb", 0) as file:
    file.read(10)
"""


def test_a_link_that_leads_out_is_left_out_and_said(tmp_path: Path) -> None:
    files = tmp_path / "files"
    files.mkdir()
    run = record(tmp_path, "run", [paths.PYTHON, "-S", "-c", LEADS_OUT, files])
    own = ("--files", f"{files}/*")
    assert "outside of the directory" in fathom("replay", run, *own, "--in", "new", cwd=tmp_path)
    sizes = {path.name: path.lstat().st_size for path in (tmp_path / "new").iterdir()}
    assert sizes == {"data": 4, "link": 10} and not any(
        path.is_symlink() for path in (tmp_path / "new").iterdir()
    )


LEAVES = """
import os, sys
os.mkdir("deep")
fd = os.open("deep/../a", os.O_CREAT | os.O_RDWR, 0o644)
for at in range(5):
    os.pwrite(fd, bytes(300), at * 300)
os.close(fd)
os.rename("a", "../result")
open("../victim", "wb", 0).close()
os.unlink("../victim")
"""


def test_no_name_leads_out_of_the_directory(tmp_path: Path) -> None:
    """By `..` a program names what lies beside its directory: a replay has it below its own."""
    needs.require(needs.of_mpi("mpich"))
    work, again = tmp_path / "work", tmp_path / "again"
    work.mkdir()
    again.mkdir()
    command = [str(paths.FATHOM), "run", "--no-show", "-o", str(tmp_path / "run"), "--"]
    command += [paths.PYTHON, "-S", "-c", LEAVES]
    subprocess.run(command, cwd=work, check=True, capture_output=True)
    precious = [again / "result", again / "victim", again / "a", tmp_path / "victim"]
    for path in precious:
        path.write_text("precious")
    own = ("--files", f"{tmp_path}/*")
    output = fathom("replay", tmp_path / "run", *own, "--in", "in", cwd=again)
    assert [path.read_text() for path in precious] == ["precious"] * len(precious), output
    assert (tmp_path / "result").stat().st_size == 1500
    assert {path.name for path in again.iterdir()} == {"in", "result", "victim", "a"}
    assert (again / "in/result").stat().st_size == 1500


ALIKE = r"""
import os
for at, name in enumerate((b"d\xff", b"d\xfe"), 1):
    fd = os.open(name, os.O_CREAT | os.O_RDWR, 0o644)
    for piece in range(5):
        os.pwrite(fd, bytes(1000), piece * 1000 * at)
    os.close(fd)
"""


def test_names_that_differ_in_bytes_that_are_no_letters_are_two_files(tmp_path: Path) -> None:
    needs.require(needs.of_mpi("mpich"))
    work = tmp_path / "work"
    work.mkdir()
    command = [str(paths.FATHOM), "run", "--no-show", "-o", str(tmp_path / "run"), "--"]
    subprocess.run(
        [*command, paths.PYTHON, "-S", "-c", ALIKE], cwd=work, check=True, capture_output=True
    )
    fathom("replay", tmp_path / "run", "--files", f"{work}/*", "--in", "in", cwd=tmp_path)
    assert sorted(one.stat().st_size for one in (tmp_path / "in").iterdir()) == [5000, 9000]


@pytest.mark.parametrize("name", ["../victim", "/tmp/victim", "work/../../victim"])
def test_a_program_that_was_changed_refuses_names_that_lead_out(tmp_path: Path, name: str) -> None:
    run, _ = recorded(tmp_path, "mpich", kernel("mpich", "ior_posix"), 1, 2048, 1024)
    text = source(tmp_path, run)
    (first, *_) = re.findall(r'name\[\] = \{"([^"]*)"', text)
    (tmp_path / "io.c").write_text(text.replace(f'"{first}"', f'"{name}"'))
    subprocess.run(["mpicc.mpich", "-std=c11", "-o", "io", "io.c"], cwd=tmp_path, check=True)
    words = [*runner.LAUNCH["mpich"].split(), "-n", "4", "./io", "in"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode != 0 and done.stderr.count("leads out of the directory") == 1
    assert not (tmp_path / "victim").exists() and not (tmp_path / "in").exists()


#: In each suite: mistakes; so many calls that they are a table.
QUICK_CASES = (("failing-calls", "plain"), ("threads-64", ""))


def recorded_whole() -> list[Any]:
    """The programs of tests/see whose every call is a row."""
    cases = [
        one for path in sorted((paths.TESTS / "see").glob("*.toml")) for one in case.load(path)
    ]
    return [
        pytest.param(
            one,
            id=f"{one.path.stem}-{one.name}",
            marks=[] if (one.path.stem, one.variant) in QUICK_CASES else pytest.mark.full,
        )
        for one in cases
        if one.level == "call" and one.recorded and not (one.unfinished or one.partial)
    ]


#: Of what is not made again, or not by the library alike, the reason.
REASONS = (
    "cannot be replayed: ",
    "were only counted ",
    "no call on a file that can be replayed",
    "a replay needs every",
)
OTHERWISE = re.compile(r"differs: .*: (the library below \w+ divides its work|the file reached)")


@pytest.mark.parametrize("one", recorded_whole())
def test_programs_are_replayed_or_refused_with_the_reason(tmp_path: Path, one: case.Case) -> None:
    needs.require([*one.needs, *(needs.of_mpi(one.mpi) if one.mpi else [])])
    runner.run(one, tmp_path)
    command = [str(paths.FATHOM), "replay", "run", "--in", "again"]
    done = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, **runner.STACK_ENV}, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    said = done.stderr
    if done.returncode == 0:
        assert SAME in said
    elif done.returncode == 1:
        lines = [line for line in said.splitlines() if "differs: " in line]
        assert lines and all(map(OTHERWISE.search, lines)), said
    else:
        assert done.returncode == 3 and any(reason in said for reason in REASONS), said
