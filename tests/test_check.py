"""`fathom check`: what is mended is told from what is not, on a busy machine too; amounts are those of the program."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree

import pytest
from harness import needs, paths, runner

#: Reads columns of a dataset one at a time, or all of them at once.
COLUMNS = """import sys, numpy as np, h5py
with h5py.File("a.h5", "w") as f:
    f["grid"] = np.zeros((512, 512))
with h5py.File("a.h5", "r") as f:
    g = f["grid"]
    if sys.argv[1] == "mended":
        a = g[:, :64]
    else:
        for i in range(64):
            g[:, i]
"""
UNMENDED_LINE = 10
#: Says how often it does what.
SUMS = """import os, fathom
with fathom.region("save"):
    for n in range(3):
        out = os.open(f"out.{n}.bin", os.O_CREAT | os.O_WRONLY)
        for at in range(10 + n):
            os.pwrite(out, bytes(100), 100 * at)
        os.fsync(out)
        os.close(out)
log = os.open("log", os.O_CREAT | os.O_WRONLY)
os.write(log, bytes(7))
os.close(log)
"""
OPENS, REQUESTS, SYNCS, BYTES = 3, 33, 3, 3300
#: Programs that want a processor at any time: in `make test`, and of a hundred rounds, so many of which run at once.
BUSY, LOAD, AT_ONCE = 6, 20, 10


def fathom(folder: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [str(paths.FATHOM), *map(str, words)]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )


def record(folder: Path, name: str, *command: str | Path, options: tuple[str, ...] = ()) -> Path:
    done = fathom(folder, "run", "--no-show", *options, "-o", name, "--", *command)
    assert done.returncode == 0, done.stderr
    return folder / name


@contextmanager
def loaded(busy: int) -> Iterator[None]:
    """The machine is busy otherwise."""
    programs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(busy)]
    try:
        yield
    finally:
        for program in programs:
            program.kill()
            program.wait()


def columns(folder: Path, state: str) -> list[str | Path]:
    (folder / "columns.py").write_text(COLUMNS)
    return [sys.executable, "columns.py", state]


def checkpoint(folder: Path, state: str) -> list[str | Path]:
    """S3D by MPI-IO: gathered in large pieces, or written piece by piece by each rank."""
    (folder / "data").mkdir()
    hints = folder / "hints"
    hints.write_text(f"romio_cb_write {'enable' if state == 'mended' else 'disable'}\n")
    return [
        "env", f"ROMIO_HINTS={hints}", *shlex.split(runner.LAUNCH["mpich"]), "-n", "4",
        paths.BUILD / "kernels" / "s3d_mpiio_mpich", *"-c 2 24 24 24 2 2 1".split(), "data",
    ]  # fmt: skip


PROGRAMS = {"columns": (columns, []), "checkpoint": (checkpoint, needs.of_mpi("mpich"))}


def told_apart(name: str, folder: Path, rounds: int, busy: int = BUSY, at_once: int = 1) -> None:
    program, need = PROGRAMS[name]
    needs.require(need)

    def recorded(state: str, number: int) -> Path:
        place = folder / f"{state}{number}"
        place.mkdir()
        return record(place, "run", *program(place, state))

    limits = folder / "io.toml"
    done = fathom(folder, "check", recorded("mended", 0), "--write", limits)
    assert done.returncode == 0, done.stderr

    def tell(number: int) -> None:
        for state, status in (("mended", 0), ("unmended", 1)):
            run = recorded(state, number)
            done = fathom(folder, "check", run, "--against", limits)
            assert done.returncode == status, (number, state, done.stdout, done.stderr)
            shutil.rmtree(run.parent)

    with loaded(busy - at_once), ThreadPoolExecutor(at_once) as threads:
        assert len(list(threads.map(tell, range(1, rounds + 1)))) == rounds


@pytest.mark.some(1)
@pytest.mark.parametrize("name", PROGRAMS)
def test_mended_from_unmended_on_a_busy_machine(name: str, tmp_path: Path) -> None:
    told_apart(name, tmp_path, 2)


@pytest.mark.full
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_hundred_of_a_hundred_times(name: str, tmp_path: Path) -> None:
    told_apart(name, tmp_path, 100, LOAD, AT_ONCE)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved")
    (folder / "save.py").write_text(SUMS)
    return record(folder, "run", sys.executable, "save.py")


def against(run: Path, limits: str, *more: str | Path) -> subprocess.CompletedProcess[str]:
    (run.parent / "io.toml").write_text(limits)
    return fathom(run.parent, "check", run, "--against", "io.toml", *more)


AMOUNTS = {"opens": OPENS, "requests": REQUESTS, "syncs": SYNCS, "bytes_written": BYTES}


@pytest.mark.parametrize("part", ['files = "out.*.bin"', 'region = "save"'])
def test_amounts_are_those_of_the_program(saved: Path, part: str) -> None:
    limits = [f'{name} = "== {value}"' for name, value in AMOUNTS.items()]
    limits += ['bytes_read = "== 0"', 'bytes_moved = "== 1 * needed"']
    done = against(saved, "\n".join(["[[part]]", part, *limits]))
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert against(saved, f'[[part]]\n{part}\nopens = "== 1 * files"').returncode == 0
    less = [f'{name} = "<= {value - 1}"' for name, value in AMOUNTS.items()]
    done = against(saved, "\n".join(["[[part]]", part, *less]), "--json")
    assert done.returncode == 1
    content = json.loads(done.stdout)
    values = {row["quantity"]: row["value"] for row in content["limits"] if not row["kept"]}
    assert values == AMOUNTS and content["broken"] == len(AMOUNTS)


def test_the_lines_are_those_that_did_it(tmp_path: Path) -> None:
    program = SUMS.splitlines()
    (tmp_path / "save.py").write_text(SUMS)
    run = record(tmp_path, "run", sys.executable, "save.py")
    limits = [f'{name} = "< 1"' for name in AMOUNTS]
    done = against(run, "\n".join(["[[part]]", 'region = "save"', *limits]), "--json")
    for row in json.loads(done.stdout)["limits"]:
        call = {"opens": "os.open", "syncs": "os.fsync"}.get(row["quantity"], "os.pwrite")
        (line,) = row["lines"]
        assert call in program[line["line"] - 1] and line["amount"] == AMOUNTS[row["quantity"]]


def test_what_is_written_is_kept_and_says_parts(saved: Path) -> None:
    path = saved.parent / "made.toml"
    assert fathom(saved.parent, "check", saved, "--write", path, "--with-seconds").returncode == 0
    content = tomllib.loads(path.read_text())
    assert content["run"]["opens"] == f"<= {OPENS + 1}" and "seconds" in content["run"]
    named = [part.get("files") or part.get("region") for part in content["part"]]
    assert named == ["out.*.bin", "log", "save"]
    done = fathom(saved.parent, "check", saved, "--against", path)
    assert done.returncode == 0 and "keeps all" in done.stdout
    path.write_text("something else")
    done = fathom(saved.parent, "check", saved, "--write", path)
    assert done.returncode == 2 and path.read_text() == "something else"


def test_forms_for_others_name_the_line(tmp_path: Path) -> None:
    run = record(tmp_path, "run", *columns(tmp_path, "unmended"))
    limits = '[run]\nbytes_moved = "<= 1.1 * needed"\nopens = "<= 10"\n'
    done = against(run, limits, "--sarif", "io.sarif", "--junit", "io.xml")
    assert done.returncode == 1 and f"columns.py:{UNMENDED_LINE} " in done.stdout
    log = json.loads((tmp_path / "io.sarif").read_text())
    assert log["version"] == "2.1.0"
    (sarif,) = log["runs"]
    (result,) = sarif["results"]
    assert sarif["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    (place,) = result["locations"]
    assert place["physicalLocation"] == {
        "artifactLocation": {"uri": "columns.py", "uriBaseId": "SRCROOT"},
        "region": {"startLine": UNMENDED_LINE},
    }
    (suite,) = ElementTree.parse(tmp_path / "io.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    (broken,) = suite.iter("failure")
    assert f"columns.py:{UNMENDED_LINE}" in (broken.text or "")


def test_of_what_was_only_counted(tmp_path: Path) -> None:
    (tmp_path / "save.py").write_text(SUMS)
    options = ("--level", "file")
    run = record(tmp_path, "counted", sys.executable, "save.py", options=options)
    done = against(run, f'[[part]]\nfiles = "out.*.bin"\nrequests = "== {REQUESTS}"\nopens = "< 1"')
    assert done.returncode == 1 and "not known: record at level call" in done.stdout
    assert "requests" not in done.stdout
    done = against(run, '[[part]]\nregion = "save"\nopens = "< 1"')
    assert done.returncode == 3 and "--level call" in done.stderr
    run = record(tmp_path, "job", sys.executable, "save.py", options=("--level", "job"))
    done = against(run, '[run]\nopens = "< 100"')
    assert done.returncode == 3 and "--level file" in done.stderr


@pytest.mark.parametrize(
    ("limits", "says"),
    [
        ("[run]\nopen = '<= 1'", "no quantity 'open'; is it 'opens'?"),
        ("[run]\nopens = 1", "opens: '1' is no limit, as \"<= 10\""),
        ("[run]\nopens = '<= 1 mb'", "no unit 'mb'"),
        ("[run]\nopens = '<= 1 * wanted'", "nothing is called 'wanted'"),
        ("[part]\nopens = '<= 1'", "parts are written [[part]]"),
        ("[runs]\nopens = '<= 1'", "no key 'runs'; is it 'run'?"),
        ("format = 2", "its format is not 1"),
        ("", "there is no limit in it"),
        ("[", "io.toml: "),
    ],
)
def test_limits_that_are_none(saved: Path, limits: str, says: str) -> None:
    done = against(saved, limits)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert says in done.stderr


TESTS = """import os, pytest

@pytest.mark.io(files="*.bin", opens="<= 1", syncs="<= 1", bytes_moved="<= 1 * needed")
def test_kept(tmp_path):
    print("what pytest does with this counts for nothing")
    (tmp_path / "a.bin").write_bytes(bytes(100))

@pytest.mark.io(syncs="<= 1")
@pytest.mark.io(requests="<= 1 KiB")
def test_broken(tmp_path):
    with open(tmp_path / "a.bin", "wb", 0) as out:
        for _ in range(5):
            os.fsync(out.fileno())

@pytest.mark.io(opens="10")
def test_wrong():
    pass

@pytest.mark.io(opens="<= 1")
def test_fails_by_itself():
    assert False, "by itself"

def test_unmarked():
    pass
"""


def test_pytest(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TESTS)
    words = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "fathom.assist.pytest_plugin",
        "--strict-markers",
    ]
    environment = {
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PATH": "/usr/bin:/bin",
        "HOME": str(tmp_path),
    }
    done = subprocess.run(
        [*words, "-q", f"--basetemp={tmp_path}/base", "test_it.py"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stdout
    assert "3 failed, 2 passed" in done.stdout and "warning" not in done.stdout
    line = TESTS.splitlines().index("            os.fsync(out.fileno())") + 1
    assert f"syncs is 5, and its limit is <= 1\n    test_it.py:{line} test_broken: 5" in done.stdout
    assert "'10' is no limit" in done.stdout and "by itself" in done.stdout


def ctest(build: Path) -> subprocess.CompletedProcess[str]:
    for words in (["cmake", "--build", "."], ["ctest", "--output-on-failure"]):
        done = subprocess.run(
            words, cwd=build, capture_output=True, text=True, timeout=300, check=False
        )
    return done


def test_the_example_of_ctest(tmp_path: Path) -> None:
    needs.require(["cmake", "ctest", "cc"])
    shutil.copytree(paths.ROOT / "examples" / "check", tmp_path / "check")
    source, build = tmp_path / "check", tmp_path / "build"
    words = ["cmake", "-S", source, "-B", build, f"-DFATHOM={paths.FATHOM}"]
    subprocess.run(words, check=True, capture_output=True, timeout=300)
    assert ctest(build).returncode == 0
    program = source / "save.c"
    program.write_text(
        program.read_text().replace("1 << 17", "1 << 9").replace("n < 8", "n < 2048")
    )
    done = ctest(build)
    assert (
        done.returncode != 0 and "save.io" in done.stdout and "breaks 1 of 3 limits" in done.stdout
    )


def test_every_pytest_finds_the_plugin() -> None:
    project = tomllib.loads((paths.ROOT / "pyproject.toml").read_text())["project"]
    assert [*project["entry-points"]["pytest11"].values()] == ["fathom.assist.pytest_plugin"]
