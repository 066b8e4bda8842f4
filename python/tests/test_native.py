"""The native command: what it makes, whom it starts, how it ends."""

import json
import os
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parents[2] / "runtime" / "command"
LAUNCHER_VARIABLES = ("PMI_", "PMIX_", "OMPI_", "SLURM_", "MPI_LOCAL", "FATHOM_", "LD_PRELOAD")
NEEDS_CC = pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")
pytestmark = NEEDS_CC


def preloaded(command: Path) -> str:
    """The library's path as only the GNU C library's loader follows it."""
    return f"$ORIGIN{'/..' * 64}{command.with_name('libfathom.so')}"


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command built from this tree, with an empty library in the place of libfathom.so."""
    place = tmp_path_factory.mktemp("native")
    flags = [
        "-std=c11",
        "-D_GNU_SOURCE",
        '-DFATHOM_VERSION="9.8.7"',
        "-fsanitize=address,undefined",
    ]
    subprocess.run(["cc", *flags, *SOURCES.glob("*.c"), "-o", place / "fathom"], check=True)
    empty = place / "empty.c"
    empty.write_text("int fathom_test_library;\n")
    subprocess.run(["cc", "-shared", "-fPIC", empty, "-o", place / "libfathom.so"], check=True)
    return place / "fathom"


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[dict[str, str]]:
    """No launcher, rings below the test's own folder."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(LAUNCHER_VARIABLES)}
    # The sanitizer's library must come first; memory is left to the end of the process on purpose.
    yield inherited | {
        "FATHOM_RING": str(tmp_path / "ring"),
        "ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0",
    }


def run(command: Path, cwd: Path, environment: dict[str, str], *words: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [command, *words], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(("words", "status", "says"), [
    (["run"], 125, "which program"),
    (["run", "--bogus", "true"], 125, "no option '--bogus'"),
    (["run", "-x", "true"], 125, "no option '-x'; fathom run --help"),
    (["run", "--lyaers", "posix", "true"], 125, "no option '--lyaers'; is it '--layers'? fathom run --help"),
    (["run", "--budgte=1M", "true"], 125, "is it '--budget'?"),
    (["run", "--no-show=1", "true"], 125, "--no-show takes no value; leave '=1' out"),
    (["run", "--layers", "posxi", "true"], 125, "no layer 'posxi'; is it 'posix'?"),
    (["run", "--level", "jbo", "true"], 125, "is it 'job'?"),
    (["run", "-o"], 125, "needs a value"),
    (["run", "--layers", "posix,foo", "true"], 125, "no layer 'foo'"),
    (["run", "--level", "deep", "true"], 125, "'deep' is no level; there are off"),
    (["run", "--mmap", "clean", "true"], 125, "'clean' is not known"),
    (["run", "--keep-calls-if", "failed", "--strace", "true"], 125, "with --strace the calls are elsewhere"),
    (["env", "--keep-calls-if", "failed"], 125, "fathom pack RUN --keep-calls-if decides at the job's end"),
    (["run", "--budget", "3q", "true"], 125, "'3q' is no size"),
    (["run", "--budget", "-1", "true"], 125, "'-1' is no size"),
    (["run", "--ranks", "3-1", "true"], 125, "'3-1' is no list"),
    (["run", "--ranks", "1,,2", "true"], 125, "is no list"),
    (["run", "--files", "", "true"], 125, "a glob is not empty"),
    (["run", "-o", "/nowhere/x", "true"], 125, "cannot make /nowhere/x.fathom"),
    (["run", "no-such-program"], 127, "no-such-program: No such file"),
    (["run", "/etc"], 126, "/etc: Is a directory"),
    (["run", "/etc/passwd"], 126, "Permission denied"),
    (["env", "true"], 125, "takes no program"),
])  # fmt: skip
def test_wrong_input_is_one_line_and_makes_nothing(
    command: Path,
    environment: dict[str, str],
    tmp_path: Path,
    words: list[str],
    status: int,
    says: str,
) -> None:
    got, out, err = run(command, tmp_path, environment, *words)
    assert (got, out) == (status, "")
    assert says in err
    assert err.startswith("fathom: ")
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_no_place_for_rings_makes_no_run(
    command: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    environment["FATHOM_RING"] = "/nowhere/ring"
    got, out, err = run(command, tmp_path, environment, "run", "-o", "x", "true")
    assert (got, out, err.count("\n")) == (125, "", 1)
    assert "rings in /nowhere: No such file or directory; name a folder" in err
    assert list(tmp_path.iterdir()) == []


def test_a_run_leaves_a_whole_run_json(
    command: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    environment["MPICH_TEST"] = 'a "quoted"\tvalue'
    words = [
        "run",
        "--no-show",
        "-o",
        "x",
        "--budget",
        "1MiB",
        "--layers",
        "posix",
        "--files",
        "/a/*",
        "--files",
        "!*.log",
        "--ranks",
        "0-3:2",
        "--",
        "sh",
        "-c",
        "exit 7",
        "\udcff",
    ]
    status, out, err = run(command, tmp_path, environment, *words)
    assert (status, out) == (7, "")
    assert err == f"fathom: run directory {tmp_path}/x.fathom\n"
    manifest = json.loads((tmp_path / "x.fathom" / "run.json").read_text())
    assert manifest["command"] == ["sh", "-c", "exit 7", "\ufffd"]
    assert manifest["environment"]["MPICH_TEST"] == 'a "quoted"\tvalue'
    assert manifest["exit"] == {"status": 7}
    assert manifest["fathom"] == "9.8.7"
    assert 0 < manifest["start_ns"] <= manifest["end_ns"]
    assert manifest["configuration"] | {"ring": 0, "library": 0} == {
        "layers": ["posix"], "counted": [], "layers_asked": "posix",
        "level": "call", "budget": 1 << 20, "ranks": "0-3:2",
        "files": ["/a/*", "!*.log"], "ring": 0, "library": 0,
    }  # fmt: skip
    node = next((tmp_path / "x.fathom" / "streams").iterdir())
    assert node.name.startswith(Path("/proc/sys/kernel/random/boot_id").read_text().strip())
    assert (node / "mounts").read_text() == Path("/proc/self/mountinfo").read_text()
    assert "kernel=Linux" in (node / "node").read_text()
    assert not (tmp_path / "ring").exists()  # nothing was left in it
    status, _, err = run(command, tmp_path, environment, *words)
    assert status == 125
    assert "exists" in err


USUAL = [
    *("posix", "mpiio", "hdf5", "pnetcdf", "netcdf", "stdio", "aio", "user", "server", "disk"),
    "fortran",
]


@pytest.mark.parametrize(
    ("asked", "recorded", "counted"),
    [
        ([], USUAL, ["mpi"]),
        (["--layers", "+mpi"], [*USUAL[:3], "mpi", *USUAL[3:]], []),
        (["--layers", "-hdf5,+threads"], [*USUAL[:2], *USUAL[3:7], "threads", *USUAL[7:]], ["mpi"]),
        (["--layers", "-mpi"], USUAL, []),
        (["--layers", "mpiio,mpi:counted"], ["mpiio"], ["mpi"]),
        (["--layers", "mpiio,posix,-mpiio"], ["posix"], []),
    ],
)
def test_layers_are_named_added_left_out_or_counted(
    command: Path,
    environment: dict[str, str],
    tmp_path: Path,
    asked: list[str],
    recorded: list[str],
    counted: list[str],
) -> None:
    script = 'echo "$FATHOM_LAYERS"; cat "$FATHOM_RING/control" > page'
    words = ["run", "--no-show", "-o", "x", *asked, "sh", "-c", script]
    _, out, _ = run(command, tmp_path, environment, *words)
    assert out.strip() == ",".join([*recorded, *(f"{name}:counted" for name in counted)])
    configuration = json.loads((tmp_path / "x.fathom" / "run.json").read_text())["configuration"]
    assert (configuration["layers"], configuration["counted"]) == (recorded, counted)
    gate = int.from_bytes((tmp_path / "page").read_bytes()[16:24], "little")
    numbers = {"posix": 0, "mpiio": 1, "hdf5": 2, "mpi": 3, "pnetcdf": 4, "netcdf": 5}
    numbers |= {
        "stdio": 6,
        "aio": 7,
        "threads": 8,
        "user": 9,
        "server": 10,
        "disk": 11,
        "fortran": 12,
    }
    want = sum(1 << numbers[name] for name in recorded) | 1 << 31 | 3 << 32
    assert gate == want | sum(1 << 34 + numbers[name] for name in counted)


def test_the_program_finds_environment_and_control_page(
    command: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    environment["LD_PRELOAD"] = "/lib/other.so"
    script = 'echo "$FATHOM_RUN $LD_PRELOAD $FATHOM_FILES"; cat "$FATHOM_RING/control" > page'
    _, out, _ = run(
        command,
        tmp_path,
        environment,
        "run",
        "--no-show",
        "--level",
        "file",
        "--layers",
        "mpiio,hdf5",
        "--budget",
        "2k",
        "sh",
        "-c",
        script,
    )
    assert out == f"{tmp_path}/sh.1.fathom /lib/other.so:{preloaded(command)} \n"
    page = (tmp_path / "page").read_bytes()
    assert len(page) == 4096
    magic, version, size, gate, generation, budget = struct.unpack_from("<8sIIQQQ", page)
    assert (magic, version, size, generation, budget) == (b"FATHOMCP", 1, 4096, 1, 2048)
    assert gate == 0b110 | 1 << 31 | 2 << 32
    assert not any(page[40:1024])
    assert page[1024:].rstrip(b"\0") == f"{tmp_path}/sh.1.fathom".encode()


def test_names_count_up_and_name_the_program(
    command: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    shutil.copy("/bin/true", tmp_path / "solver")
    for _ in range(2):
        run(command, tmp_path, environment, "run", "--no-show", "env", "A=1", "./solver")
    assert {p.name for p in tmp_path.glob("*.fathom")} == {"solver.1.fathom", "solver.2.fathom"}


def test_death_by_signal_is_seen_above(
    command: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    status, _, _ = run(
        command, tmp_path, environment, "run", "--no-show", "sh", "-c", "kill -KILL $$"
    )
    assert status == -signal.SIGKILL
    manifest = json.loads((tmp_path / "sh.1.fathom" / "run.json").read_text())
    assert manifest["exit"] == {"signal": 9}


def test_signals_sent_to_us_reach_the_program(
    command: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    script = "trap 'echo got it; exit 9' TERM; touch ready; while :; do sleep 0.05; done"
    with subprocess.Popen(
        [command, "run", "--no-show", "sh", "-c", script],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        deadline = time.monotonic() + 20
        while not (tmp_path / "ready").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        process.terminate()
        assert process.communicate(timeout=100)[0] == "got it\n"
    assert process.returncode == 9


def rank(environment: dict[str, str], number: int, job: str) -> dict[str, str]:
    return environment | {"PMIX_RANK": str(number), "PMIX_NAMESPACE": job}


@pytest.mark.parametrize("named", [True, False])
def test_ranks_agree_on_one_directory(
    command: Path, environment: dict[str, str], tmp_path: Path, named: bool
) -> None:
    words = [command, "run", *(["-o", "job"] if named else []), "sh", "-c", "echo $FATHOM_RUN"]
    ranks = [
        subprocess.Popen(
            words,
            cwd=tmp_path,
            env=rank(environment, number, "job-1"),
            text=True,
            stdout=subprocess.PIPE,
        )
        for number in range(12)
    ]
    answers = {process.communicate()[0] for process in ranks}
    assert {process.returncode for process in ranks} == {0}
    assert len(answers) == 1
    run_directory = Path(answers.pop().strip())
    assert [run_directory] == list(tmp_path.glob("*.fathom"))
    assert json.loads((run_directory / "run.json").read_text())["launcher"] == "pmix"
    assert sorted(p.name for p in run_directory.iterdir()) == ["run.json", "streams"]
    assert sorted(p.name for p in next((run_directory / "streams").iterdir()).iterdir()) == [
        "mounts", "node",
    ]  # fmt: skip
    assert [p.name for p in (tmp_path / "ring").iterdir()] == ["control"]


def test_a_name_used_again_meets_no_old_rings(
    command: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    del environment["FATHOM_RING"]
    rings = set()
    for job in ("job-1", "job-2"):
        words = ["run", "-o", "x", "sh", "-c", "echo $FATHOM_RING"]
        outs = {run(command, tmp_path, rank(environment, n, job), *words)[1] for n in (0, 1)}
        assert len(outs) == 1
        rings |= outs
        shutil.rmtree(tmp_path / "x.fathom")
    assert len(rings) == 2
    for ring in rings:
        shutil.rmtree(ring.strip())


def test_rows_of_two_jobs_never_mix(
    command: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    words = ["run", "-o", "x", "true"]
    assert run(command, tmp_path, rank(environment, 0, "job-1"), *words)[0] == 0
    assert run(command, tmp_path, rank(environment, 1, "job-1"), *words)[0] == 0
    status, _, err = run(command, tmp_path, rank(environment, 0, "job-2"), *words)
    assert status == 125
    assert "holds another run" in err


def test_a_launcher_without_a_job_id_asks_for_a_name(
    command: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    several_nodes = environment | {"MPI_LOCALRANKID": "0", "MPI_LOCALNRANKS": "2", "PMI_SIZE": "4"}
    status, _, err = run(command, tmp_path, several_nodes, "run", "true")
    assert status == 125
    assert "-o NAME" in err
    assert run(command, tmp_path, several_nodes, "run", "-o", "x", "true")[0] == 0


def test_a_batch_script_of_slurm_is_no_rank(
    command: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    batch = environment | {"SLURM_PROCID": "0", "SLURM_JOB_ID": "7", "SLURM_STEP_ID": "4294967291"}
    run(command, tmp_path, batch, "run", "--no-show", "true")
    assert (tmp_path / "true.1.fathom").is_dir()
    run(command, tmp_path, batch | {"SLURM_STEP_ID": "3"}, "run", "true")
    assert (tmp_path / "true.7.3.fathom").is_dir()


def test_env_of_several_tasks_is_one_run_if_asked(
    command: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    words = ["env", "-o", "x", "--shell", "json"]
    tasks = [rank(environment, number, "job-1") for number in range(2)]
    replies = [run(command, tmp_path, task, *words, "--join") for task in tasks]
    assert [status for status, _, _ in replies] == [0, 0]
    assert replies[0][1] == replies[1][1]
    status, _, err = run(command, tmp_path, tasks[1], *words)
    assert status == 125
    assert "x.fathom exists" in err
    status, _, err = run(command, tmp_path, rank(environment, 0, "job-2"), *words, "--join")
    assert status == 125
    assert "holds another run" in err


def test_inside_a_run_a_rank_joins_it(
    command: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    inner = f"PMIX_RANK=0 PMIX_NAMESPACE=1 {command} run true"
    status, _, err = run(
        command, tmp_path, environment, "run", "--no-show", "-o", "x", "sh", "-c", inner
    )
    assert (status, [p.name for p in tmp_path.glob("*.fathom")]) == (0, ["x.fathom"]), err


NASTY = '!it\'s a \\ "$HOME" `x` *.log'


@pytest.mark.parametrize(("shell", "script"), [
    ("sh", 'eval "$(./env)"'),
    ("bash", 'eval "$(./env)"'),
    ("bash", "./env > e; export LD_PRELOAD=/lib/before.so; . ./e"),
    ("csh", 'eval "`./env`"'),
    ("tcsh", "./env > e\nsource e"),
    ("fish", "./env | source"),
])  # fmt: skip
def test_env_prints_what_a_shell_can_read(
    command: Path, environment: dict[str, str], tmp_path: Path, shell: str, script: str
) -> None:
    if not shutil.which(shell):
        pytest.skip(f"no {shell}")
    place = tmp_path / "it's here"
    place.mkdir()
    words = [
        command,
        *f"env -o x --level job --budget 1k --shell {shell}".split(),
        "--files",
        NASTY,
    ]
    (place / "env").write_text(f"#!/bin/sh\n{shlex.join(map(str, words))}\n")
    (place / "env").chmod(0o755)
    show = "import json, os; print(json.dumps(dict(os.environ)))"
    (place / "script").write_text(f"{script}\nexec {sys.executable} -c '{show}'\n")
    environment |= {"FATHOM_RANKS": "3", "FATHOM_MMAP": "dirty"}  # of an older job
    done = subprocess.run(
        [shell, "script"], cwd=place, env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout, done.stderr
    variables = json.loads(done.stdout)
    assert variables["FATHOM_RUN"] == f"{place}/x.fathom"
    assert (variables["FATHOM_LEVEL"], variables["FATHOM_BUDGET"]) == ("job", "1024")
    assert variables["FATHOM_FILES"] == NASTY
    assert "FATHOM_RANKS" not in variables and "FATHOM_MMAP" not in variables
    before = ["/lib/before.so"] if "before" in script else []
    assert variables["LD_PRELOAD"].split(":") == [*before, preloaded(command)]
    assert json.loads((place / "x.fathom" / "run.json").read_text())["command"] == []


def test_env_as_json_and_what_cannot_be_said(
    command: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    environment["LD_PRELOAD"] = "/lib/other.so"
    globs = ["--files", "a", "--files", "!b"]
    _, out, _ = run(command, tmp_path, environment, "env", "-o", "x", "--shell", "json", *globs)
    variables = json.loads(out)
    assert (variables["FATHOM_FILES"], variables["FATHOM_RANKS"]) == ("a\n!b", None)
    assert variables["LD_PRELOAD"] == f"/lib/other.so:{preloaded(command)}"
    del environment["LD_PRELOAD"]
    for words, says in (
        (["env", "--shell", "csh", *globs], "one --files at most"),
        (["env", "--shell", "powershell"], "none of sh, csh, fish, json"),
        (["run", "--shell", "sh", "true"], "an option of fathom env"),
        (["run", "--join", "true"], "an option of fathom env"),
    ):
        status, out, err = run(command, tmp_path, environment, *words)
        assert (status, out, err.count("\n")) == (125, "", 1)
        assert says in err
    assert [path.name for path in tmp_path.glob("*.fathom")] == ["x.fathom"]


def test_a_rank_starts_no_interpreter(
    command: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    if not shutil.which("strace"):
        pytest.skip("no strace")
    log = tmp_path / "log"
    subprocess.run(
        ["strace", "-f", "-qq", "-e", "trace=execve", "-o", log, command, "run", "true"],
        cwd=tmp_path,
        env=rank(environment, 0, "j"),
        check=True,
    )
    started = [line.split('"')[1] for line in log.read_text().splitlines() if line.endswith("= 0")]
    assert [Path(name).name for name in started] == ["fathom", "true"]


@pytest.fixture
def everybodys() -> Iterator[Path]:
    """A folder that other users may look into."""
    with tempfile.TemporaryDirectory(prefix="fathom-test.") as place:
        Path(place).chmod(0o755)
        yield Path(place)
        for path in Path(place).rglob("*"):
            path.chmod(0o755)


PACKAGE = Path(__file__).resolve().parents[1] / "fathom"


@pytest.mark.parametrize(("closed", "says"), [
    ("lib", "/lib: Permission denied"),
    ("lib/fathom", "/lib/fathom: Permission denied"),
    ("lib/fathom/__init__.py", "/lib/fathom/__init__.py: Permission denied"),
    ("lib/fathom/__main__.py", "__main__.py: Permission denied"),
    ("", "finds no package fathom"),
])  # fmt: skip
def test_a_package_that_cannot_be_read_is_one_line(
    command: Path, environment: dict[str, str], everybodys: Path, closed: str, says: str
) -> None:
    """Root can read everything: the command is then started as nobody."""
    python = shutil.which("python3", path="/usr/bin:/bin")
    if not python:
        pytest.skip("no Python of the system")
    library = everybodys / "lib"
    library.mkdir()
    if closed:
        # A compiled module would stand for its source, which nobody would then open.
        shutil.copytree(PACKAGE, library / "fathom", ignore=shutil.ignore_patterns("__pycache__"))
        (everybodys / closed).chmod(0)
    own = shutil.copy(command, everybodys / "fathom")
    as_nobody = {"user": 65534, "group": 65534} if os.geteuid() == 0 else {}
    done = subprocess.run(
        [own, "query", "x", "--sql", "select 1"],
        env=environment | {"FATHOM_PYTHON": python, "PYTHONPATH": str(library)},
        cwd="/", capture_output=True, text=True, check=False, **as_nobody,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (125, "", 1), done.stderr
    assert done.stderr.startswith("fathom: ")
    assert says in done.stderr


def test_who_looks_at_processes_sees_the_command(
    command: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\nprintf "%s|" "$@"\n')
    python.chmod(0o755)
    done = subprocess.run(
        [command, "show", "a run"],
        env=environment | {"FATHOM_PYTHON": str(python)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    start, _, words = done.stdout.partition("|show|")
    assert len(start) < 80 and words == "a run|", done.stdout
