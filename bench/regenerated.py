"""FLASH's and S3D's checkpoints by generated code and by hand, on PnetCDF: instructions, raw writes, seconds.

The kernels are those of kernels/; only what writes their files is another. Both ways are built alike.
"""

from __future__ import annotations

import re
import shlex
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path

from tools import ROOT, BenchError, Row, run, scratch

LAUNCH: list[str | Path] = [*"mpiexec.openmpi --allow-run-as-root --oversubscribe -n 2".split()]
ROMIO = {"OMPI_MCA_io": "romio321"}
#: When timed, memory that was freed is kept: whether glibc gives 8 MB back and faults them in anew depends on what
#: happens to lie above them in the heap, and was 2 % of a checkpoint of S3D.
UNTRIMMED = {"MALLOC_TRIM_THRESHOLD_": "2000000000", "MALLOC_MMAP_THRESHOLD_": "2000000000"}
#: Of the hand-written kernel's: seconds, and instructions.
LIMIT = 1.02
HAND, GENERATED = "form_pnetcdf", "form_generated"
#: Generated code and the hand-written in one process, by turns.
BOTH = "both"
COMMON = ("run", "account", "options", "layout", "form_posix")
SECONDS = re.compile(r"^(way|against)_seconds=([0-9.]+)$", re.MULTILINE)
COLLECTED = re.compile(r"^==\d+== Collected : (\d+)$", re.MULTILINE)
RAW = re.compile(r"\bpwrite(?:64|v)?\(\d+<[^>]*\.nc>")


@dataclass(frozen=True)
class Case:
    """A kernel with arguments for callgrind on one rank, for a look, and for a measurement on two."""

    name: str
    kernel: str
    language: str
    counted: list[str]
    quick: list[str]
    full: list[str]


S3D = {
    "counted": ["-c", "1", "32", "32", "32", "1", "1", "1"],
    "quick": ["-c", "8", "64", "64", "64", "2", "1", "1"],
    "full": ["-c", "24", "64", "64", "64", "2", "1", "1"],
}
#: -g: where the unknowns lie in memory, guard cells around.
CASES = [
    Case(
        "FLASH in C",
        "flash",
        "c",
        ["-g", "-b", "8", "-f", "c"],
        ["-g", "-f", "c" * 8],
        ["-g", "-f", "c" * 24],
    ),
    Case("S3D in C", "s3d", "c", **S3D),
    Case("S3D in Fortran", "s3d", "fortran", **S3D),
]


def pkg_config(*words: str) -> list[str]:
    return shlex.split(run(["pkg-config", *words, "pnetcdf"]))


def build(case: Case, directory: Path) -> dict[str, Path]:
    """Programs, by the way they write."""
    source = ROOT / "examples" / "generate" / f"{case.kernel}.iog"
    python = [sys.executable, "-m", "fathom", "generate"]
    run([*python, source, "-o", directory, "--language", case.language])
    common = [ROOT / "kernels" / "common" / f"{name}.c" for name in COMMON]
    sources = [ROOT / "kernels" / case.kernel / f"{case.kernel}.c", *common]
    ours = [ROOT / "bench" / "generated" / f"{case.kernel}.c"]
    if case.language == "fortran":
        ours += fortran(case, directory)
    else:
        ours.append(directory / f"{case.kernel}_io.c")
    by_hand = [ROOT / "kernels" / "common" / "form_pnetcdf.c"]
    ways = {HAND: by_hand, GENERATED: ours, BOTH: [*by_hand, *ours]}
    return {way: compiled(case, directory, way, [*sources, *its]) for way, its in ways.items()}


def fortran(case: Case, directory: Path) -> list[Path]:
    """Objects of the module and of what C calls it by."""
    modules = [f"-I{path.parent}" for path in Path("/usr/lib").glob("*/fortran/*/pnetcdf.mod")]
    by_c = ROOT / "bench" / "generated" / "s3d_by_fortran.f90"
    sources: list[str | Path] = [f"{case.kernel}_io.f90", by_c]
    run(["mpifort.openmpi", "-O2", *modules, "-c", *sources], cwd=directory)
    return [directory / f"{case.kernel}_io.o", directory / "s3d_by_fortran.o"]


def compiled(case: Case, directory: Path, way: str, sources: list[Path]) -> Path:
    program = directory / f"{case.kernel}_{way}"
    which = [f"-DWAY={GENERATED}", f"-DAGAINST={HAND}"] if way == BOTH else [f"-DWAY={way}"]
    words = ["-O2", f"-I{directory}", "-DFORM=form_timed", *which]
    if case.language == "fortran":
        words.append("-DBY_FORTRAN")
    timed = ROOT / "bench" / "generated" / "timed.c"
    libraries = [*pkg_config("--cflags", "--libs"), "-lmpi_usempif08", "-lmpi_mpifh", "-lgfortran"]
    run(["mpicc.openmpi", *words, "-o", program, timed, *sources, *libraries])
    return program


def arguments(case_arguments: list[str], out: Path) -> list[str | Path]:
    return ["-m", "nonblocking", *case_arguments, out]


def instructions(program: Path, case: Case, directory: Path) -> int:
    """Of writing one file, by callgrind: the libraries below included."""
    out = directory / "counted"
    out.mkdir(exist_ok=True)
    profile = directory / "profile"
    valgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}"]
    log = directory / "callgrind.log"
    valgrind += ["--toggle-collect=written", f"--log-file={log}"]
    run([*valgrind, program, *arguments(case.counted, out)], ROMIO)
    collected = COLLECTED.search(log.read_text())
    if not collected or not int(collected.group(1)):
        raise BenchError(f"callgrind counted nothing in {program}")
    return int(collected.group(1))


def seconds(program: Path, words: list[str], out: Path) -> list[tuple[float, float]]:
    """Of two files of generated code, and of the two hand-written beside them in one process, time after time.

    Not of the first four: the process's very first file is generated code's, and pays for memory never touched before.
    """
    out.mkdir(exist_ok=True)
    output = run([*LAUNCH, program, *arguments(words, out)], {**ROMIO, **UNTRIMMED})
    seconds_of: dict[str, list[float]] = {"way": [], "against": []}
    for way, took in SECONDS.findall(output):
        seconds_of[way].append(float(took))
    ours, hand = (
        [a + b for a, b in zip(way[2::2], way[3::2], strict=True)] for way in seconds_of.values()
    )
    if not ours:
        raise BenchError(f"{program} did not write both ways")
    return list(zip(ours, hand, strict=True))


def raw_writes(program: Path, case: Case, directory: Path) -> int:
    """Of the files of a look, seen by strace."""
    out, log = directory / "traced", directory / "log"
    out.mkdir(exist_ok=True)
    trace: list[str | Path] = ["strace", "-f", "-y", "-s", "0", "-o", log]
    calls = ["-e", "trace=pwrite64,pwritev,write"]
    run([*trace, *calls, *LAUNCH, program, *arguments(case.quick, out)], ROMIO)
    return len(RAW.findall(log.read_text()))


def measured(case: Case, quick: bool, directory: Path) -> list[Row]:
    """Rows of one kernel."""
    programs = build(case, directory)
    hand, ours = programs[HAND], programs[GENERATED]
    counts = [instructions(one, case, directory) / 1e6 for one in (ours, hand)]
    writes = [raw_writes(one, case, directory) for one in (ours, hand)]
    words = case.quick if quick else case.full
    out, runs = directory / "out", 4 if quick else 20
    took = [pair for _ in range(runs) for pair in seconds(programs[BOTH], words, out)]
    ratio = statistics.median(a / b for a, b in took)
    times = [statistics.median(way) / 2 * 1000 for way in zip(*took, strict=True)]
    fewer = writes[0] <= writes[1]
    return [
        limited(f"{case.name}: instructions of a checkpoint", counts, "M", counts[0] / counts[1]),
        Row(
            f"{case.name}: raw writes",
            *(writes[0], "", writes[1]),
            writes[0] / writes[1],
            "<= 1",
            fewer,
        ),
        limited(f"{case.name}: a checkpoint on 2 ranks", times, "ms", ratio),
    ]


def limited(what: str, pair: list[float], unit: str, ratio: float) -> Row:
    return Row(what, pair[0], unit, pair[1], ratio, f"<= {LIMIT}", ratio <= LIMIT)


def rows(quick: bool) -> list[Row]:
    every_row: list[Row] = []
    for case in CASES:
        # A disk's own ups and downs are larger than what is asked.
        with scratch("/dev/shm") as directory:
            every_row += measured(case, quick, directory)
    return every_row
