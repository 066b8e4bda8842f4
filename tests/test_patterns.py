"""`fathom patterns` on real programs: what is known of each kernel; decompositions drawn by lot, element by element."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from harness import needs, paths
from harness.runner import LAUNCH, MPI, STACK_ENV

sys.path.append(str(paths.ROOT / "python" / "tests"))

import decompositions
from decompositions import Decomposition
from expansion import expand, is_regular, to_bytes

#: Kernel, MPI, arguments before the directory; then of each array (its name, or of bytes where it begins; `r`: read):
#: grid, distribution, end of the key. After kernels/README.md and what is known of the codes.
S3D = {
    "yspecies": ("2,2", "*,*,BLOCK,BLOCK", "(*,*,BLOCK,BLOCK)"),
    "u": ("2,2", "*,*,BLOCK,BLOCK", "(*,*,BLOCK,BLOCK)"),
    "pressure": ("2,2", "*,BLOCK,BLOCK", "(*,BLOCK,BLOCK)"),
    "temp": ("2,2", "*,BLOCK,BLOCK", "(*,BLOCK,BLOCK)"),
}
BLOCKS = "GEN_BLOCK((/4,5,6,4/))"
FLASH = {
    **dict.fromkeys(("dens", "velx", "f13_"), ("4", f"{BLOCKS},*,*,*", "(GEN_BLOCK,*,*,*)")),
    **dict.fromkeys(("gid", "coordinates", "blocksize"), ("4", f"{BLOCKS},*", "(GEN_BLOCK,*)")),
    "bndbox": ("4", f"{BLOCKS},*,*", "(GEN_BLOCK,*,*)"),
    "lrefine": ("4", BLOCKS, "(GEN_BLOCK)"),
}
BYTES_OF_S3D = 8 * 16 * 16 * 16
JOBS: dict[str, tuple[str, str, str, dict[str, tuple[str, str, str]]]] = {
    "s3d-hdf5": ("s3d_hdf5", "mpich", "-c 2 16 16 16 2 2 1", S3D),
    "s3d-pnetcdf": ("s3d_pnetcdf", "romio321", "-c 1 16 16 16 2 2 1", S3D),
    "s3d-posted": ("s3d_pnetcdf", "romio321", "-m nonblocking -c 1 16 16 16 2 2 1", S3D),
    # x and y of bytes are told apart; the species and z, which are whole, are one dimension. 8 * 11 * 16 blocks.
    "s3d-views": ("s3d_mpiio", "mpich", "-c 1 16 16 16 2 2 1", {
        str(n * BYTES_OF_S3D): ("2,2", "*,BLOCK,BLOCK", "(*,BLOCK,BLOCK)") for n in (0, 11, 14, 15)
    }),
    "s3d-deep-views": ("s3d_mpiio", "mpich", "-c 1 16 16 16 2 1 2", {
        "0": ("2,2", "*,BLOCK,BLOCK", "(*,BLOCK,BLOCK)"),
        str(14 * BYTES_OF_S3D): ("2,2", "BLOCK,BLOCK", "(BLOCK,BLOCK)"),
    }),
    "flash-hdf5": ("flash_hdf5", "mpich", "-b 4 -f c", FLASH),
    "flash-pnetcdf": ("flash_pnetcdf", "romio321", "-b 4 -f c", FLASH),
    "vpic": ("vpic_hdf5", "mpich", "-p 1000", dict.fromkeys(
        ("x", "y", "z", "px", "py", "pz", "id1", "id2"), ("4", "BLOCK", "(BLOCK)")
    )),
    "vpic-uneven": ("vpic_hdf5", "mpich", "-p 1000 -u", {
        "x": ("4", "GEN_BLOCK((/1000,1500,1000,1000/))", "(GEN_BLOCK)"),
    }),
    "vorpal": ("vorpal_hdf5", "mpich", "8 8 6 2 2 2 2 2 1", {
        "Step#0/Block/E/0": ("2,2", "*,GEN_BLOCK((/6,8/)),GEN_BLOCK((/18,24/))", "(*,GEN_BLOCK,GEN_BLOCK)"),
    }),
    "gcrm": ("gcrm_hdf5", "mpich", "-l 3 2 1", {"Step#0/Block/data/0": ("4", "*,*,BLOCK", "(*,*,BLOCK)")}),
    "gcrm-chunks": ("gcrm_hdf5", "mpich", "-k -l 3 2 1", {"Step#0/Block/data/0": ("4", "*,*,BLOCK", "(*,*,BLOCK)")}),
    # boxes of different sizes, dealt out: no distribution has that form, and it is not guessed
    "chombo": ("chombo_hdf5", "mpich", "-b 5 -l 2 -c 1", {
        "level_0/boxes": ("4", "CYCLIC,*", "(CYCLIC,*)"),
        "level_1/data:offsets=0": ("1", "ONE_RANK", "(ONE_RANK)"),
        "level_1/data:datatype=0": ("", "IRREGULAR", "(IRREGULAR)"),
    }),
    "athena": ("athena_mpiio", "mpich", "-t 2 -s 2 -l 2 -x 4", {
        "restart.0000.bin 0": ("4", "*,BLOCK", "(*,BLOCK)"),
        "restart.0001.bin 2048": ("4", "*,BLOCK", "(*,BLOCK)"),
        "history.0000.1.bin 0": ("4", "BLOCK", "(BLOCK)"),
        "tab.0001.2.bin 0": ("1", "ONE_RANK", "(ONE_RANK)"),
    }),
    "ior": ("ior_posix", "mpich", "3 65536 16384", {"0": ("4", "CYCLIC(65536)", "(CYCLIC(k))")}),
    "ior-one-segment": ("ior_posix", "mpich", "1 65536 16384", {"0": ("4", "BLOCK", "(BLOCK)")}),
    "ior-mpiio": ("ior_mpiio", "mpich", "3 65536 16384", {"0": ("4", "CYCLIC(65536)", "(CYCLIC(k))")}),
    "ior-hdf5": ("ior_hdf5", "mpich", "3 65536 16384", {"data": ("4", "CYCLIC(8192)", "(CYCLIC(k))")}),
    "ior-files": ("ior_posix", "mpich", "-F 2 65536 16384", {"ior.00000003.bin 0": ("1", "ONE_RANK", "(ONE_RANK)")}),
    "row": ("synthetic_hdf5", "mpich", "row 32 50", {"matrix": ("4", "BLOCK,*", "(BLOCK,*)")}),
    "row-views": ("synthetic_mpiio", "mpich", "row 30 50", {
        "0": ("4", "GEN_BLOCK((/2800,3200,2800,3200/))", "(BLOCK)"),
    }),
    "column-views": ("synthetic_mpiio", "mpich", "column 30 52", {"0": ("4", "*,BLOCK", "(*,BLOCK)")}),
    "block": ("synthetic_pnetcdf", "romio321", "block 30 50", {"matrix": ("2,2", "BLOCK,BLOCK", "(BLOCK,BLOCK)")}),
    # 65 lines each, more than are listed
    "block-views": ("synthetic_mpiio", "mpich", "block 130 50", {"0": ("2,2", "BLOCK,BLOCK", "(BLOCK,BLOCK)")}),
    "tile": ("tile_mpiio", "mpich", "-r -e 2 2 2 8 6 2 1", {"0 r": ("2,2", "BLOCK,BLOCK", "(BLOCK,BLOCK) ghosts")}),
    # records of five variables: each is written slice by slice in bands, one is read in blocks
    "volume": ("volume_pnetcdf", "romio321", "-r -v 2 8 8 4 2 2 1", {
        "pressure": ("4", "*,BLOCK,*", "(*,BLOCK,*)"), "vx r": ("2,2", "*,BLOCK,BLOCK", "(*,BLOCK,BLOCK)"),
    }),
}  # fmt: skip
USES = {
    "athena": {"restart.*.bin": "shared", "history.*.bin": "shared", "tab.*.bin": "per process"},
    "ior-files": {"ior.*.bin": "per process"},
    "ior": {"ior.bin": "shared"},
}
STEPS = {
    "s3d-hdf5": "2 x (open, 4 x (create dataset, write, close dataset), close)",
    "s3d-views": "open, 4 x write, close",
    "s3d-posted": "open, 4 x post write, wait, close",
    "vpic": "open, 8 x (create dataset, write, close dataset), close",
    "ior": "open, 12 x write, close",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("patterns")


def run_fathom(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in (paths.FATHOM, *words)],
        env={**os.environ, **STACK_ENV},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )


def record(run: Path, program: Path, mpi: str, *arguments: object, level: str = "call") -> Path:
    """The run directory of a program on four ranks."""
    words = ["run", "--no-show", "-o", run, "--level", level, "--"]
    done = run_fathom(*words, *LAUNCH[mpi].split(), "-n", "4", program, *arguments)
    assert done.returncode == 0, done.stderr
    return run.with_name(run.name + ".fathom")


@cache
def recorded(place: Path, job: str, level: str = "call") -> Path:
    kernel, mpi, arguments, _ = JOBS[job]
    needs.require(needs.of_mpi(mpi))
    data = place / f"data-{job}-{level}"
    data.mkdir()
    program = paths.BUILD / "kernels" / f"{kernel}_{MPI[mpi]}"
    return record(place / f"{job}-{level}", program, mpi, *arguments.split(), data, level=level)


def content(run: Path) -> dict[str, Any]:
    done = run_fathom("patterns", run, "--json")
    assert done.returncode == 0, done.stderr
    got: dict[str, Any] = json.loads(done.stdout)
    return got


def name_of(pattern: dict[str, Any]) -> set[str]:
    """As the tables above name it: by array or first byte, with the file's name or without."""
    file = Path(pattern["path"]).name
    first = pattern["first_byte"]
    array = str(first) if pattern["array"] is None else pattern["array"].lstrip("/")
    suffix = " r" if pattern["direction"] == "read" else ""
    return {f"{array}{suffix}", f"{file} {array}{suffix}"}


@pytest.mark.some(8)
@pytest.mark.parametrize("job", JOBS)
def test_what_is_known_of_each_kernel(place: Path, job: str) -> None:
    page = content(recorded(place, job))
    for name, (grid, forms, shape) in JOBS[job][3].items():
        patterns = [one for one in page["patterns"] if name in name_of(one)]
        assert patterns, name
        for pattern in patterns:
            lines = pattern["hpf"]
            assert (f"!HPF$ PROCESSORS P({grid})" in lines) == bool(grid), lines
            (distribute,) = (line for line in lines if "DISTRIBUTE" in line)
            assert f"({forms})" in distribute, name
            assert pattern["key"].endswith(f" {shape}"), name
    known = sum(one["features"]["bytes"] for one in page["patterns"] if is_regular(one))
    assert page["explained"] == pytest.approx(known / page["bytes"])
    if job != "chombo":
        assert all(is_regular(one) for one in page["patterns"] if job in one["path"])


@pytest.mark.some(3)
@pytest.mark.parametrize("job", sorted(USES | STEPS))
def test_how_files_are_used(place: Path, job: str) -> None:
    files = {one["files"]: one for one in content(recorded(place, job))["files"]}
    for name, use in USES.get(job, {}).items():
        assert files[name]["use"] == use
    if job in STEPS:
        (steps,) = (one["steps"] for one in files.values() if f"data-{job}" in one["paths"][0])
        assert steps == STEPS[job]


def test_the_grid_counts_x_fastest(place: Path) -> None:
    """S3D's rank is x + 2 y: the last of z, y, x is the fastest."""
    for pattern in content(recorded(place, "s3d-hdf5"))["patterns"]:
        rank = len(pattern["extents"])
        assert pattern["distribution"]["rank_order"] == [rank - 1, rank - 2]


def test_a_key_is_the_same_at_another_size(place: Path) -> None:
    """IOR's blocks of another size and number; and what fills chunks is the same pattern as what does not."""
    keys = [content(recorded(place, job))["patterns"][0]["key"] for job in ("gcrm", "gcrm-chunks")]
    assert keys == ["hdf5 write collective 4 (*,*,BLOCK)"] * 2
    data = place / "other"
    data.mkdir()
    program = paths.BUILD / "kernels" / "ior_posix_mpich"
    other = content(record(place / "ior-other", program, "mpich", "5", "8192", "8192", data))
    assert other["patterns"][0]["key"] == content(recorded(place, "ior"))["patterns"][0]["key"]


def test_chunks_are_said(place: Path) -> None:
    page = run_fathom("patterns", recorded(place, "gcrm-chunks")).stdout
    assert "stored in chunks of 6x3x4: where they lie in the file is not known" in page


def test_pieces_in_turn_are_said(place: Path) -> None:
    page = run_fathom("patterns", recorded(place, "chombo")).stdout
    assert (
        "DISTRIBUTE data_datatype_0(IRREGULAR)\n    10 pieces of 640 B to 2.5 KiB, the ranks in turn"
        in page
    )


@pytest.mark.parametrize("level", ["job", "file"])
def test_counters_alone_are_not_enough(place: Path, level: str) -> None:
    done = run_fathom("patterns", recorded(place, "ior", level))
    assert (done.returncode, done.stdout) == (3, "")
    assert len(done.stderr.strip().splitlines()) <= 2  # the packer's own line
    assert f"fathom show ior-{level} --next prepares the run that has them" in done.stderr


# ---- decompositions drawn by lot, written by a real program


def boxes(one: Decomposition, rank: int) -> list[tuple[list[int], list[int]]]:
    """A rank's part as boxes: start and count of each."""
    boxes_: list[tuple[list[int], list[int]]] = [([], [])]
    for some in one.parts[rank]:
        boxes_ = [
            ([*start, first], [*count, n])
            for start, count in boxes_
            for first, n in decompositions.runs(some)
        ]
    return boxes_


def plan(decompositions_: dict[str, list[Decomposition]], data: Path) -> str:
    lines = []
    for form, some in decompositions_.items():
        for one in some:
            extents = " ".join(map(str, one.extents))
            path = data / f"{one.name}.{form}"
            lines.append(f"array {form} {path} {one.element} {len(one.extents)} {extents}")
            for rank, part in one.parts.items():
                if form == "hdf5" and one.element == 8:
                    slabs = decompositions.hyperslabs(part)
                    words = [[n for row in zip(*slab, strict=True) for n in row] for slab in slabs]
                    lines += [f"slab {rank} {' '.join(map(str, slab))}" for slab in words]
                else:
                    words = [[*start, *count] for start, count in boxes(one, rank)]
                    lines += [f"box {rank} {' '.join(map(str, box))}" for box in words]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("mpi", ["mpich", pytest.param("romio321", marks=pytest.mark.full)])
def test_decompositions_of_a_real_program(tmp_path: Path, mpi: str) -> None:
    needs.require(needs.of_mpi(mpi))
    draw = random.Random(4)
    small: dict[str, Any] = {"longest": (200, 100, 12, 6), "room": 4}
    decompositions_ = {
        "hdf5": [decompositions.decomposition(draw, f"a{i}", **small) for i in range(30)],
        "view": [decompositions.decomposition(draw, f"b{i}", decompositions.LINES, **small) for i in range(20)],
        "posix": [
            decompositions.decomposition(draw, f"c{i}", decompositions.LINES, (200, 30, 8, 4), (1, 4), room=4)
            for i in range(20)
        ],
    }  # fmt: skip
    (tmp_path / "data").mkdir()
    (tmp_path / "plan").write_text(plan(decompositions_, tmp_path / "data"))
    program = paths.PROGRAMS / "programs" / f"hdf5_decompose_{MPI[mpi]}"
    page = content(record(tmp_path / "r", program, mpi, tmp_path / "plan"))
    of = {Path(one["path"]).name: [] for one in page["patterns"]}
    for one in page["patterns"]:
        of[Path(one["path"]).name].append(one)
    for form, some in decompositions_.items():
        for one in some:
            check(form, one, of[f"{one.name}.{form}"])


def check(form: str, one: Decomposition, patterns: list[dict[str, Any]]) -> None:
    context = (one.kinds, one.extents, [pattern["hpf"] for pattern in patterns])
    if form == "hdf5":
        (pattern,) = patterns
        assert is_regular(pattern), context
        assert expand(pattern) == one.elements(), context
        return
    held: dict[int, set[int]] = {rank: set() for rank in one.parts}
    for pattern in patterns:
        assert is_regular(pattern) or form == "posix", context
        if is_regular(pattern):
            for rank, some in to_bytes(pattern).items():
                held[rank] |= some
    shift = 512 if form == "view" else 0
    real = {
        rank: {
            shift + first + i
            for first, count in decompositions.byte_runs(one, rank)
            for i in range(count)
        }
        for rank in one.parts
    }
    if all(is_regular(pattern) for pattern in patterns):
        assert held == real, context
    if {*one.kinds} <= {"block", "whole"}:
        assert all(is_regular(pattern) for pattern in patterns), context
