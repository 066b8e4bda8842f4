"""`fathom run --tuned`, by effect: what is set in an unmodified program changes the I/O that is recorded of it."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from fathom.run.store import open_run
from harness import needs, paths, runner

KERNELS = paths.BUILD / "kernels"


def words(*given: object) -> list[str]:
    return [str(word) for word in given]


def fathom(*given: object, env: dict[str, str] | None = None) -> Any:
    return subprocess.run(
        words(paths.FATHOM, *given),
        env={**os.environ, **runner.STACK_ENV, **(env or {})},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


class Case:
    """A kernel on a stack, in a folder of its own."""

    def __init__(self, tmp: Path, mpi: str, kernel: str, *arguments: object) -> None:
        needs.require(needs.of_mpi(mpi))
        program = KERNELS / f"{kernel}_{needs.MPI[mpi]}"
        if not program.exists():
            pytest.skip(f"{program.name} is not built: its library is not installed")
        self.tmp, self.runs = tmp, 0
        self.command = [*runner.LAUNCH[mpi].split(), "-n", "4", program, "-r", *arguments]

    def run(self, settings: str, *options: object) -> Any:
        """Records it with these settings; what its file shows."""
        self.runs += 1
        at = self.tmp / str(self.runs)
        (at / "out").mkdir(parents=True)
        (at / "s.toml").write_text(settings)
        tuned = ["--tuned", at / "s.toml"] if settings else []
        done = fathom(
            "run", "--no-show", "-o", at / "r", *tuned, *options, "--", *self.command, at / "out"
        )
        assert done.returncode == 0, done.stderr
        (self.out,), self.at = (at / "out").iterdir(), at / "r.fathom"
        self.opened = open_run(self.at)
        effects = "from knob_effects($path, $folder)"
        return self.opened.sql(effects, path=str(self.out), folder=str(at / "out")).to_pylist()[0]

    def hints(self) -> dict[str, set[str]]:
        rows = self.opened.sql(
            "select key, list(distinct value) as v from hints_in_force where key like 'tuned %' group by key"
        )
        return {row["key"].removeprefix("tuned "): set(row["v"]) for row in rows.to_pylist()}


INFO = """
[[file]]
match = "*/synthetic.*"
[file.{layer}]
cb_nodes = {nodes}
{more}
cb_buffer_size = "{size}"
"""


@pytest.mark.some(1)
@pytest.mark.parametrize("mpi", ["mpich", "romio321", "ompio"])
def test_hints_reach_files_that_match_and_no_others(tmp_path: Path, mpi: str) -> None:
    case = Case(tmp_path, mpi, "synthetic_mpiio", "column", 256, 1024)
    layer = "ompio" if mpi == "ompio" else "romio"
    more = "" if layer == "ompio" else 'cb_config_list = "*:*"'
    few = case.run(INFO.format(layer=layer, nodes=1, size="64KiB", more=more))
    many = case.run(INFO.format(layer=layer, nodes=4, size="256KiB", more=more))
    assert (few["writers"], many["writers"]) == (1, 4)
    assert few["largest"] < many["largest"]
    assert case.hints()["cb_nodes"] == {"4"}
    other = INFO.format(layer=layer, nodes=4, size="64KiB", more=more).replace("synthetic", "other")
    case.run(other)
    assert not case.hints()


LISTS = """
accept = ["all-ranks"]
[[file]]
[file.hdf5]
alignment = [0, "64KiB"]
istore_k = 8
sieve_buf_size = "1MiB"
[[file.dataset]]
name = "*"
chunk = [16, 16]
dxpl_mpio = "collective"
[[file.dataset]]
name = "/nothing"
fill_time = "never"
[[file]]
[[file.dataset]]
name = "*"
alloc_time = "early"
"""


@pytest.mark.parametrize(
    "mpi", ["mpich", *(pytest.param(mpi, marks=pytest.mark.full) for mpi in ("romio321", "ompio"))]
)
def test_property_lists_reach_hdf5_and_the_data_is_right(tmp_path: Path, mpi: str) -> None:
    case = Case(tmp_path, mpi, "synthetic_hdf5", "-m", "independent", "block", 64, 64)
    plain = case.run("")
    tuned = case.run(LISTS)  # -r: the kernel reads all back and compares
    assert plain["collective"] == 0 < tuned["collective"]
    assert any(int(offset) % 65536 for offset in plain["offset"].split())
    data = [int(offset) for offset in tuned["offset"].split() if int(offset) >= 65536]
    assert data and not [offset for offset in data if offset % 2048]
    assert case.hints() == {
        "alignment": {"0 65536"},
        "istore_k": {"8"},
        "sieve_buf_size": {"1048576; left: the file is opened by MPI-IO"},
        "chunk": {"16 16"},
        "dxpl_mpio": {"1"},
        "alloc_time": {"1"},
    }
    chunk = case.opened.sql("select distinct value from hints_in_force where key = 'chunk'")
    assert chunk.to_pylist() == [{"value": "16x16"}]
    shown = fathom("show", case.at, "--all").stdout
    assert "Settings of this run (--tuned)" in shown
    assert "fill_time: met no open, creation or transfer" in shown


@pytest.mark.parametrize(
    ("chunk", "why"),
    [
        pytest.param(
            "[16]", "the dataset has another number of dimensions", marks=pytest.mark.full
        ),
        ("[128, 16]", "the dataset is smaller than a chunk"),
    ],
)
def test_extents_that_would_fail_the_programs_call_are_left(
    tmp_path: Path, chunk: str, why: str
) -> None:
    case = Case(tmp_path, "mpich", "synthetic_hdf5", "row", 64, 64)
    case.run(f'[[file]]\n[[file.dataset]]\nname = "*"\nchunk = {chunk}\n')
    ((left,),) = [case.hints()["chunk"]]
    assert left.endswith(f"left: {why}")


def test_hints_of_pnetcdf_are_set_at_its_own_opens(tmp_path: Path) -> None:
    case = Case(tmp_path, "romio321", "synthetic_pnetcdf", "row", 64, 64)
    rule = '[[file]]\n[file.pnetcdf]\nnc_header_align_size = "{}"\nnc_var_align_size = "{}"\n'
    for size, at in (("4KiB", 4096), ("1MiB", 1 << 20)):
        shown = case.run(rule.format(size, size))
        assert str(at) in shown["offset"].split()
    # and by its variable, for the launch
    launch = '[launch.pnetcdf]\nnc_header_align_size = "2MiB"\nnc_var_align_size = "2MiB"\n'
    assert str(2 << 20) in case.run(launch)["offset"].split()


@pytest.mark.full
def test_variables_of_the_launch_reach_romio_and_open_mpi(tmp_path: Path) -> None:
    case = Case(tmp_path, "mpich", "synthetic_mpiio", "column", 256, 1024)
    hints = '[launch.romio]\ncb_config_list = "*:*"\ncb_nodes = {}\n'
    assert [case.run(hints.format(n))["writers"] for n in (1, 4)] == [1, 4]
    (tmp_path / "open").mkdir()
    case = Case(tmp_path / "open", "ompio", "synthetic_mpiio", "column", 256, 1024)
    mca = "[launch.ompio]\nio_ompio_num_aggregators = {}\n"
    assert [case.run(mca.format(n))["writers"] for n in (1, 4)] == [1, 4]


def test_settings_hold_where_nothing_is_recorded_and_inside_the_launcher(tmp_path: Path) -> None:
    case = Case(tmp_path, "mpich", "synthetic_hdf5", "row", 64, 64)
    rule = '[[file]]\n[file.hdf5]\nalignment = [0, "1MiB"]\n'
    case.run(rule, "--level", "off")
    aligned = case.out.stat().st_size
    case.run("")
    assert aligned > 1 << 20 > case.out.stat().st_size
    (tmp_path / "s.toml").write_text(rule)
    (tmp_path / "out").mkdir()
    launcher, rest = case.command[:3], case.command[3:]
    inside = words(
        *launcher, paths.FATHOM, "run", "-o", tmp_path / "in", "--tuned", tmp_path / "s.toml"
    )
    done = subprocess.run(
        words(*inside, "--", *rest, tmp_path / "out"),
        env={**os.environ, **runner.STACK_ENV}, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "synthetic.0.h5").stat().st_size > 1 << 20


@pytest.mark.full
def test_xml_of_h5tuner_runs_a_program(tmp_path: Path) -> None:
    case = Case(tmp_path, "mpich", "synthetic_hdf5", "row", 64, 64)
    text = "<Parameters><High_Level_IO_Library><alignment>0,1048576</alignment></High_Level_IO_Library></Parameters>"
    (tmp_path / "config.xml").write_text(text)
    case.run("", "--tuned", tmp_path / "config.xml")
    assert case.hints() == {"alignment": {"0 1048576"}}
    assert case.out.stat().st_size > 1 << 20


@pytest.mark.parametrize(
    ("options", "settings", "line"),
    [
        (
            [],
            "[[file]]\n[file.romio]\ncb_buffer_size = -5\n",
            "cb_buffer_size: -5 is out of its range",
        ),
        (["--ranks", "0"], "[[file]]\n[file.romio]\ncb_nodes = 2\n", "leave --ranks out"),
        (
            [],
            '[[layout]]\ndirectory = "/proc"\n[layout.ceph]\nstripe_count = 2\n',
            "cannot set ceph.dir",
        ),
    ],
)
def test_bad_settings_start_nothing(
    tmp_path: Path, options: list[str], settings: str, line: str
) -> None:
    (tmp_path / "s.toml").write_text(settings)
    touched = tmp_path / "touched"
    done = fathom(
        "run",
        *options,
        "-o",
        tmp_path / "r",
        "--tuned",
        tmp_path / "s.toml",
        "--",
        "touch",
        touched,
    )
    assert done.returncode == 125
    assert line in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not touched.exists()
    assert not (tmp_path / "r.fathom").exists()


@pytest.mark.full
@pytest.mark.parametrize(
    ("knob", "stack", "verdict"),
    [
        ("romio.cb_buffer_size", "mpich", "alive"),
        ("romio.striping_factor", "mpich", "dead"),
        ("ompio.collective_buffering", "ompio", "inverted"),
        ("forwarder.striping_factor", "forward", "alive"),
        ("hdf5.alignment", "hdf5-mpich", "alive"),
    ],
)
def test_a_knob_is_proved_by_its_effect(
    tmp_path: Path, knob: str, stack: str, verdict: str
) -> None:
    needs.require(needs.of_mpi("ompio" if stack == "ompio" else "mpich"))
    env = {"XDG_CACHE_HOME": str(tmp_path)}
    done = fathom("list", "knobs", "--prove", knob, env=env)
    line = next(line for line in done.stdout.splitlines() if line.split()[1] == stack)
    assert line.split()[2] == f"{verdict}:", done.stdout + done.stderr
    listed = fathom("list", "knobs", "--csv", knob, env=env)
    assert f"{verdict} (" in listed.stdout


def test_a_terminal_is_told_how_many_proofs_are_left(tmp_path: Path) -> None:
    needs.require(needs.of_mpi("mpich"))
    words = f"{paths.FATHOM} list knobs --prove romio.cb_nodes romio.cb_buffer_size"
    done = subprocess.run(
        ["script", "-qec", words, "/dev/null"],
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    proved = done.stdout.count("alive: ")
    left = re.findall(r"(\d+) of (\d+), about \d+ s left", done.stdout)
    assert proved >= 2 and left == [(str(n), str(proved)) for n in range(1, proved)]
