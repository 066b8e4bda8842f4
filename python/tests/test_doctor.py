"""Each check of `fathom doctor`, on a machine or a program that really is as it should not be."""

import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from fathom.__main__ import main
from fathom.doctor import Finding, installation, machine, mpi, program, the_facts, traced
from fathom.run import elf
from fathom.run.launchers import starts_others
from hypothesis import given
from hypothesis import strategies as st

pytestmark = pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")
ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="must be root")
Paths = Iterable[str | Path]


def needs(*tools: str) -> pytest.MarkDecorator:
    gone = [tool for tool in tools if not shutil.which(tool)]
    return pytest.mark.skipif(bool(gone), reason=f"not installed: {' '.join(gone)}")


def build(
    place: Path, *flags: str | Path, text: str = "int main(void) { return 0; }", cc: str = "cc"
) -> Path:
    source = place / "main.c"
    source.write_text(text)
    subprocess.run([cc, source, *flags, "-o", place / "program"], cwd=place, check=True)
    return place / "program"


def library(place: Path, name: str) -> Path:
    (place / "empty.c").write_text("int fathom_test_empty;\n")
    flags = ["-shared", "-fPIC", f"-Wl,-soname,{name}"]
    subprocess.run(["cc", *flags, place / "empty.c", "-o", place / name], check=True)
    return place / name


def by_name(findings: Iterable[Finding]) -> dict[str, Finding]:
    return {finding.what: finding for finding in findings}


def of(path: Path) -> dict[str, Finding]:
    findings = by_name(program.check(path))
    assert all(finding.do for finding in findings.values() if finding.verdict == "problem")
    return findings


# Programs.


def test_a_static_program(tmp_path: Path) -> None:
    finding = of(build(tmp_path, "-static"))["program"]
    assert (finding.verdict, "static" in finding.detail) == ("problem", True)
    assert "fathom cc" in finding.do


@needs("mpicc.mpich", "mpicc.openmpi")
def test_two_mpis_in_one_program(tmp_path: Path) -> None:
    text = "int MPI_Init(void *, void *); int main(void) { return MPI_Init(0, 0); }"
    flags = [
        word
        for name in ("mpicc.mpich", "mpicc.openmpi")
        for word in subprocess.run(
            [name, "-show"], capture_output=True, text=True, check=True
        ).stdout.split()
        if word.startswith(("-L", "-l"))
    ]
    finding = of(build(tmp_path, "-Wl,--no-as-needed", *flags, text=text))["MPI"]
    assert (finding.verdict, "MPICH and Open MPI" in finding.detail) == ("problem", True)


def test_one_mpi_under_two_names_is_one(tmp_path: Path) -> None:
    both = [library(tmp_path, name) for name in ("libmpich.so.12", "libmpichfort.so.12")]
    findings = of(build(tmp_path, "-Wl,--no-as-needed", *both, f"-Wl,-rpath,{tmp_path}"))
    assert (findings["MPI"].verdict, findings["MPI"].detail) == ("ok", "MPICH")


def test_a_library_that_is_not_there(tmp_path: Path) -> None:
    gone = library(tmp_path, "libgone.so.3")
    path = build(tmp_path, "-Wl,--no-as-needed", gone, f"-Wl,-rpath,{tmp_path}")
    assert "libraries" not in of(path)
    gone.unlink()
    assert (of(path)["libraries"].verdict, "libgone.so.3" in of(path)["libraries"].detail) == (
        "problem",
        True,
    )


HDF5 = """#include <hdf5.h>
int main(void) { H5Fclose(H5Fcreate("x.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
	return (int)H5Dwrite(0, 0, 0, 0, 0, 0); }"""


@needs("h5pcc.mpich")
def test_hdf5_linked_in_statically_and_not(tmp_path: Path) -> None:
    path = build(tmp_path, text=HDF5, cc="h5pcc.mpich")
    assert (of(path)["layer hdf5"].verdict, "-shlib" in of(path)["layer hdf5"].do) == (
        "limit",
        True,
    )
    subprocess.run(["strip", path], check=True)
    assert of(path)["layer hdf5"].verdict == "limit"
    findings = of(build(tmp_path, "-shlib", text=HDF5, cc="h5pcc.mpich"))
    assert findings["layer hdf5"] == Finding("layer hdf5", "ok", "H5Dwrite, H5Fclose, H5Fcreate")
    assert "mpiio" in findings["by a library"].detail
    assert by_name(mpi.hdf5())["HDF5"].verdict == "limit"


@needs("mpicc.openmpi")
def test_layers_that_a_program_calls(tmp_path: Path) -> None:
    text = """#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv) { MPI_File f; MPI_Init(&argc, &argv);
	MPI_File_open(MPI_COMM_WORLD, "x", MPI_MODE_RDONLY, MPI_INFO_NULL, &f); MPI_Barrier(MPI_COMM_WORLD);
	return puts("x") + (int)pwrite(1, "", 0, 0); }"""
    findings = of(build(tmp_path, text=text, cc="mpicc.openmpi"))
    layers = {
        name: finding.detail for name, finding in findings.items() if name.startswith("layer ")
    }
    assert layers == {
        "layer mpi": "MPI_Barrier", "layer mpiio": "MPI_File_open", "layer posix": "pwrite", "layer stdio": "puts",
    }  # fmt: skip


@needs("mpif90.openmpi")
def test_fortran_names(tmp_path: Path) -> None:
    source = tmp_path / "main.f90"
    source.write_text(
        "program p\nuse mpi\ninteger :: f, e\ncall MPI_INIT(e)\ncall MPI_FILE_OPEN(MPI_COMM_WORLD, 'x', &\n"
        "MPI_MODE_RDONLY, MPI_INFO_NULL, f, e)\nend program\n"
    )
    subprocess.run(["mpif90.openmpi", source, "-o", tmp_path / "program"], check=True)
    assert of(tmp_path / "program")["layer mpiio"].detail == "MPI_File_open"


def test_a_program_without_lines_or_names(tmp_path: Path) -> None:
    assert of(build(tmp_path, "-g"))["source lines"].verdict == "ok"
    named = of(build(tmp_path))["source lines"]
    assert (named.verdict, "by function" in named.detail) == ("limit", True)
    stripped = of(build(tmp_path, "-s"))["source lines"]
    assert (stripped.verdict, "by address" in stripped.detail) == ("limit", True)


@needs("objcopy")
def test_a_debug_file_of_its_own_is_not_read(tmp_path: Path) -> None:
    """As Debian's programs have it."""
    path = build(tmp_path, "-g")
    debug = tmp_path / "program.debug"
    for words in (["--only-keep-debug"], ["--strip-all", f"--add-gnu-debuglink={debug}"]):
        out = debug if words[0] == "--only-keep-debug" else path
        subprocess.run(["objcopy", *words, path, out], check=True)
    finding = of(path)["source lines"]
    assert (finding.verdict, "its debug file is not read" in finding.detail) == ("limit", True)


@needs("musl-gcc")
def test_another_c_library(tmp_path: Path) -> None:
    finding = of(build(tmp_path, cc="musl-gcc"))["program"]
    assert (finding.verdict, "ld-musl" in finding.detail) == ("problem", True)


@pytest.mark.parametrize("loader", ["/system/bin/linker64", "/lib/ld-uClibc.so.0"])
def test_any_other_loader(tmp_path: Path, loader: str) -> None:
    finding = of(build(tmp_path, f"-Wl,--dynamic-linker={loader}"))["program"]
    assert (finding.verdict, loader in finding.detail) == ("problem", True)


def test_a_go_program(tmp_path: Path) -> None:
    """Its note, in a program of C: what Go's linker puts in is what is looked for."""
    note = '__asm__(".section .note.go.buildid, \\"a\\"; .long 4, 4, 4, 0x6f47, 0"); int main(void) { return 0; }'
    finding = of(build(tmp_path, text=note))["program"]
    assert (finding.verdict, "Go" in finding.detail) == ("limit", True)


def test_shells_and_launchers_are_known() -> None:
    """What the library leaves alone (runtime/core/launchers.h), doctor says."""
    finding = of(Path("/bin/sh"))["program"]
    assert (finding.verdict, "own calls are not recorded" in finding.detail) == ("limit", True)
    text = (Path(__file__).parents[2] / "runtime" / "core" / "launchers.h").read_text()
    names = re.findall(r'"([^"]+)"', text.split("launchers[] = {")[1])
    assert len(names) > 30
    assert [name for name in names if not starts_others(name.replace("*", "x"))] == [
        "fathom-engine"  # writes the streams of its servers itself; starts nobody
    ]


def test_set_user_id(tmp_path: Path) -> None:
    path = build(tmp_path)
    path.chmod(0o4755)
    assert of(path)["set-user-id"].verdict == "problem"


@ROOT
@needs("setcap")
def test_capabilities(tmp_path: Path) -> None:
    path = build(tmp_path)
    if subprocess.run(["setcap", "cap_net_raw+ep", path], check=False).returncode:
        pytest.skip("the file system keeps no capabilities")
    assert of(path)["capabilities"].verdict == "problem"


def test_scripts_and_neither(tmp_path: Path) -> None:
    for name, head in (("a", "#!/bin/sh\n"), ("b", "#!/usr/bin/env sh\n")):
        (tmp_path / name).write_text(head)
        (tmp_path / name).chmod(0o755)
        shell = list(program.check(tmp_path / name))
        assert (shell[0].verdict, shell[1].what) == ("ok", "program")
        assert "/sh is a shell or launcher" in shell[1].detail
    for name, content in (("c", b"just text\n"), ("d", b""), ("e", b"\x7fELF")):
        (tmp_path / name).write_bytes(content)
        (tmp_path / name).chmod(0o755)
        assert of(tmp_path / name)["program"].verdict == "limit"


def test_a_program_that_was_cut_off(tmp_path: Path) -> None:
    whole = build(tmp_path, "-g").read_bytes()
    cut = tmp_path / "cut"
    for size in (64, 100, 700, len(whole) // 2, len(whole) - 40):
        cut.write_bytes(whole[:size])
        image = elf.read(cut)
        assert image is not None
        assert "nothing at all" not in image.imports | image.defines


@pytest.fixture(scope="module")
def whole_program(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return build(tmp_path_factory.mktemp("whole"), "-g").read_bytes()


@given(
    edits=st.lists(st.tuples(st.integers(4, 63) | st.integers(-4096, -1), st.integers(0, 255))),
    size=st.none() | st.integers(64, 16384),
)
def test_a_damaged_program_is_read_as_far_as_it_goes(
    whole_program: bytes, edits: list[tuple[int, int]], size: int | None
) -> None:
    """Its header is at the front, its table of sections at the end."""
    content = bytearray(whole_program[:size])
    for place, byte in edits:
        content[place % len(content)] = byte
    with tempfile.NamedTemporaryFile() as file:
        Path(file.name).write_bytes(content)
        image = elf.read(Path(file.name))
        assert image is None or "nothing at all" not in image.imports | image.defines


def test_symbols_are_those_of_nm() -> None:
    path = Path(sys.executable).resolve()
    image = elf.read(path)
    assert image is not None
    symbols = subprocess.run(["nm", "-D", path], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in symbols.splitlines()]
    wanted = {row[-1].partition("@")[0] for row in rows if row[-2] == "U"}
    assert wanted <= image.imports | {
        name for name in wanted if name in ("stdin", "stdout", "stderr", "environ")
    }
    assert image.imports <= {row[-1].partition("@")[0] for row in rows if row[-2] in "Uw"}
    defined = {row[-1].partition("@")[0] for row in rows if row[-2] == "T"}
    assert defined <= image.defines


# The machine.


@pytest.fixture
def full(tmp_path: Path) -> Iterator[Path]:
    """A file system without a byte free."""
    place = tmp_path / "full"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", place]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("needs mount")
    try:
        free = shutil.disk_usage(place).free
        (place / "filling").write_bytes(bytes(free))
        yield place
    finally:
        subprocess.run(["umount", "-l", place], check=False)


@ROOT
def test_no_memory_for_rings(full: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FATHOM_RING", str(full / "ring"))
    (finding,) = machine.rings()
    assert (finding.verdict, "0 B of 1 MiB free" in finding.detail) == ("problem", True)
    (full / "filling").unlink()
    (finding,) = machine.rings()
    assert finding.verdict == "limit"


@ROOT
def test_no_room_for_the_run(full: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(full)
    (finding,) = machine.run_directory()
    assert (finding.verdict, "-o" in finding.do) == ("problem", True)
    (full / "filling").unlink()
    (finding,) = machine.run_directory()
    assert (finding.verdict, "--budget" in finding.do) == ("limit", True)


def test_rings_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FATHOM_RING", "/dev/null/rings/r")
    (finding,) = machine.rings()
    assert (finding.verdict, "FATHOM_RING" in finding.do) == ("problem", True)


def test_a_clock_that_is_not_invariant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cpuinfo").write_text("processor\t: 0\nflags\t\t: fpu tsc constant_tsc\n")
    (finding,) = machine.clock(tmp_path / "cpuinfo")
    assert finding.verdict == "limit"
    monkeypatch.setenv("FATHOM_CLOCK", "gettime")
    (finding,) = machine.clock()
    assert (finding.verdict, finding.do) == ("limit", "unset FATHOM_CLOCK")


NO_PTRACE = """#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog all = {4, rules};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (argc < 2 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all))
		return 9;
	return execv(argv[1], argv + 1);
}
"""


def test_no_ptrace(tmp_path: Path) -> None:
    denied = build(tmp_path, text=NO_PTRACE)
    ask = "from fathom.doctor import machine; print([(f.verdict, f.do) for f in machine.tracing()])"
    runs = [
        subprocess.run(
            [*before, sys.executable, "-c", ask], capture_output=True, text=True, check=False
        )
        for before in ([denied], [])
    ]
    if runs[0].returncode == 9:
        pytest.skip("no seccomp")
    assert "limit" in runs[0].stdout and "fathom run" in runs[0].stdout
    if "'ok'" not in runs[1].stdout:
        pytest.skip("no ptrace here at all")


def test_python_packages_that_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    project = Path(__file__).parents[2] / "pyproject.toml"
    extras = tomllib.loads(project.read_text())["project"]["optional-dependencies"]
    for extra, (package, _) in installation.EXTRAS.items():
        assert extras[extra][0].partition(">")[0] == package
    monkeypatch.setitem(installation.EXTRAS, "polars", ("none_of_that_name", "`fathom.to_polars`"))
    (finding,) = installation.extras()
    assert finding.verdict == "limit" and "none_of_that_name (`fathom.to_polars`)" in finding.detail
    assert (
        finding.do.startswith(f"{sys.executable} -m pip install 'fathom-io[")
        and "polars" in finding.do
    )


def test_no_libcephfs() -> None:
    (finding,) = machine.cephfs("libnone-of-that-name.so.2")
    assert (finding.verdict, finding.do) == ("limit", "install libcephfs2")


def test_no_fuse(tmp_path: Path) -> None:
    (finding,) = machine.fuse(tmp_path / "fuse")
    assert finding.verdict == "limit"


def test_what_cannot_be_sampled(tmp_path: Path) -> None:
    (tmp_path / "self").mkdir()
    (tmp_path / "self" / "mounts").write_text("10.0.0.1@o2ib:/scratch /scratch lustre rw 0 0\n")
    findings = by_name(machine.samples(tmp_path))
    assert (findings["pressure"].verdict, findings["Lustre"].verdict) == ("limit", "limit")
    (tmp_path / "fs" / "lustre" / "llite").mkdir(parents=True)
    (tmp_path / "pressure").mkdir()
    (tmp_path / "pressure" / "io").write_text("some avg10=0.00\n")
    findings = by_name(machine.samples(tmp_path))
    assert (findings["pressure"].verdict, findings["Lustre"].verdict) == ("ok", "ok")
    assert "/scratch" in findings["Lustre"].detail


# The installation.


def test_a_missing_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "libfathom.so"
    broken.write_text("no library")
    monkeypatch.setenv("FATHOM_LIB", str(broken))
    (finding,) = installation.library()
    assert finding.verdict == "problem"
    monkeypatch.setenv("FATHOM_LIB", str(tmp_path / "gone"))
    (finding,) = installation.library()
    assert (finding.verdict, "gone" in finding.detail) == ("problem", True)


def test_parts_that_are_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FATHOM_ENGINE", str(tmp_path / "engine"))
    findings = by_name(installation.parts())
    assert (findings["engine"].verdict, bool(findings["engine"].do)) == ("problem", True)


def test_the_usual_layers_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FATHOM_LAYERS", "posix")  # a run's, not the default
    findings = list(installation.layers())
    if not findings:
        pytest.skip("not built")
    assert "posix, mpiio, hdf5" in findings[0].detail
    assert "counted only: mpi" in findings[0].detail


def test_temporary_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", "/dev/null/tmp")
    (finding,) = installation.temporary()
    assert finding.verdict == "limit"


# MPI.


@pytest.fixture
def only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH of one folder, to be filled with links to real commands."""
    place = tmp_path / "bin"
    place.mkdir()
    monkeypatch.setenv("PATH", str(place))
    return place


def test_no_mpi(only: Path) -> None:
    assert only.is_dir()
    (finding,) = mpi.launchers()
    assert finding.verdict == "limit"
    assert list(mpi.compilers()) == list(mpi.open_mpi_io()) == []


@needs("mpicc.mpich", "mpiexec.openmpi", "mpiexec.mpich")
def test_compiler_and_launcher_of_two_mpis(only: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    links = {"mpicc": "mpicc.mpich", "mpiexec": "mpiexec.openmpi"}
    for name, target in links.items():
        (only / name).symlink_to(f"/usr/bin/{target}")
    monkeypatch.setenv("PATH", f"{only}:/bin")
    (finding,) = mpi.compilers()
    assert (finding.verdict, "each rank would be alone" in finding.detail) == ("problem", True)
    assert "Open MPI" in by_name(mpi.launchers())["MPI"].detail
    (only / "mpiexec").unlink()
    (only / "mpiexec").symlink_to("/usr/bin/mpiexec.mpich")
    mpi._printed.cache_clear()
    (finding,) = mpi.compilers()
    assert (finding.verdict, finding.detail) == ("ok", "mpicc builds for MPICH")


@needs("mpicc.mpich", "mpiexec.mpich")
def test_a_wrapper_without_its_compiler(only: Path) -> None:
    for name in ("mpicc", "mpiexec"):
        (only / name).symlink_to(f"/usr/bin/{name}.mpich")
    mpi._printed.cache_clear()
    (finding,) = mpi.compilers()
    assert (finding.verdict, finding.do) == ("limit", "install gcc")


@needs("ompi_info")
def test_ompio_and_romio(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROMIO_HINTS", "/home/me/hints")
    mpi._printed.cache_clear()
    (finding,) = mpi.open_mpi_io()
    assert (finding.verdict, "ROMIO_HINTS is set" in finding.detail) == ("limit", True)
    assert "--mca io romio" in finding.do
    monkeypatch.setenv("OMPI_MCA_io", finding.do.split()[3].rstrip(","))
    mpi._printed.cache_clear()
    (finding,) = mpi.open_mpi_io()
    assert finding.verdict == "ok"
    mpi._printed.cache_clear()


@ROOT
def test_in_a_job(only: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert only.is_dir()
    for variable in ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "SLURM_JOB_NUM_NODES"):
        monkeypatch.delenv(variable, raising=False)
    assert list(mpi.batch()) == []
    monkeypatch.setenv("PBS_JOBID", "12.server")
    (finding,) = mpi.batch()
    assert (finding.verdict, "job 12.server of PBS" in finding.detail) == ("ok", True)
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("SLURM_JOB_NUM_NODES", "2")
    monkeypatch.chdir("/dev/shm")
    assert [finding.verdict for finding in mpi.batch()] == ["ok", "problem"]


# Facts.


def test_facts_are_what_other_tools_say() -> None:
    facts = {fact.what: fact for fact in the_facts()}
    assert list(facts) == ["processor", "system", "libraries", "permissions", "places"]
    assert {fact.verdict for fact in facts.values()} == {"fact"}

    def printed(*words: str) -> str:
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()

    assert f"{printed('getconf', '_NPROCESSORS_ONLN')} processors" in facts["processor"].detail
    assert f"{printed('nproc')} allowed" in facts["processor"].detail
    assert printed("uname", "-r") in facts["system"].detail
    assert printed("getconf", "GNU_LIBC_VERSION") in facts["system"].detail
    assert f"uid {printed('id', '-u')}" in facts["permissions"].detail
    kinds = [printed("stat", "-f", "-c", "%T", place) for place in ("/tmp", "/dev/shm")]
    places = facts["places"].detail.split("; ")
    assert [line.split()[1].rstrip(",") for line in places][1] == kinds[1] == "tmpfs"
    has_gdb = "no gdb" not in facts["libraries"].detail
    assert has_gdb == bool(shutil.which("gdb"))
    if shutil.which("mpiexec.mpich"):
        assert "MPICH " in facts["libraries"].detail


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="state of x86-64")
def test_the_extended_state_is_as_long_as_the_kernel_says() -> None:
    """A signal's frame has it, too, which the kernel says how long to make (AT_MINSIGSTKSZ)."""
    auxv = Path("/proc/self/auxv").read_bytes()
    pairs = dict(struct.iter_unpack("QQ", auxv))
    assert 576 <= traced.state_bytes() <= pairs.get(51, 1 << 20)


def test_the_command_prints_facts_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--facts"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 5 and all(line.startswith("fact ") for line in lines)
    assert main(["doctor", "--facts", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert [fact["what"] for fact in facts] == [line.split()[1] for line in lines]
    assert main(["doctor", "--facts", "/bin/true"]) == 2
