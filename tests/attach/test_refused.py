"""What fathom attach refuses: one line that says why, and a program that never notices."""

from __future__ import annotations

import ctypes
import os
import signal
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fathom.attach import injector, target
from fathom.errors import FathomError
from harness import needs, paths
from harness.attached import PROGRAMS, fathom, refused, running, works

NOBODY = 65534
SECRET = f"""
import ctypes, os, sys
os.setuid({NOBODY})
ctypes.CDLL(None).prctl(4, 0)  # PR_SET_DUMPABLE
print("ready", flush=True)
sys.stdout.write(sys.stdin.readline())
sys.exit(5)
"""
VFORK = """
#include <unistd.h>
int main(void)
{
	char byte;
	if (vfork() == 0) {
		write(1, "x", 1);
		read(0, &byte, 1);
		_exit(0);
	}
	return 5;
}
"""
OF_32_BITS = """
	.globl _start
_start:	mov $3, %eax
	xor %ebx, %ebx
	mov $byte, %ecx
	mov $1, %edx
	int $0x80
	mov $1, %eax
	mov $5, %ebx
	int $0x80
	.bss
byte:	.space 4
"""


def test_what_cannot_be_attached_gets_one_line(tmp_path: Path) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    assert f"process {gone.pid}: there is no such process" in refused(tmp_path, gone.pid)
    assert "name processes by PID" in refused(tmp_path)
    assert "no process of yours runs" in refused(tmp_path, "--name", "none such")
    assert "no rank of an MPI job" in refused(tmp_path, "--job", os.getpid())
    assert "runs a launcher or a shell" in with_shell(tmp_path)


def with_shell(place: Path) -> str:
    with subprocess.Popen(["sh", "-c", "read line"], stdin=subprocess.PIPE) as shell:
        message = refused(place, shell.pid)
        assert shell.poll() is None
        shell.communicate(b"on\n")
    assert shell.returncode == 0
    return message


def test_a_static_program_is_let_alone(tmp_path: Path) -> None:
    (tmp_path / "s.c").write_text(
        "#include <unistd.h>\nint main(void) { char c; return 5 + (int)read(0, &c, 1); }\n"
    )
    subprocess.run(["cc", "-static", "-o", tmp_path / "s", tmp_path / "s.c"], check=True)
    with subprocess.Popen([tmp_path / "s"], stdin=subprocess.PIPE) as program:
        assert "is linked statically" in refused(tmp_path, program.pid)
        program.communicate(b"")
    assert program.returncode == 5


def test_a_process_with_files_of_its_own_is_let_alone(tmp_path: Path) -> None:
    """Where functions lie in our C library is wrong in the one of a container."""
    needs.require(["namespaces"])
    (tmp_path / "root" / "usr").mkdir(parents=True)
    for name in ("lib", "lib64", "bin"):
        (tmp_path / "root" / name).symlink_to(f"usr/{name}")
    script = 'mount --bind /usr "$0/usr" && exec chroot "$0" /bin/sleep 600'
    words = ["unshare", "--mount", "sh", "-c", script, str(tmp_path / "root")]
    with subprocess.Popen(words) as program:
        try:
            while Path(f"/proc/{program.pid}/comm").read_text() != "sleep\n":
                assert program.poll() is None
            assert "run fathom attach in there" in refused(tmp_path, program.pid)
            assert program.poll() is None
        finally:
            program.kill()


def test_attached_twice_and_detached_twice(tmp_path: Path) -> None:
    with running(tmp_path) as program:
        works(tmp_path, "attach", program.pid, "-o", "first")
        message = refused(tmp_path, program.pid)
        assert f"recorded already, in {tmp_path / 'first.fathom'}" in message
        works(tmp_path, "detach", program.pid)
        again = fathom(tmp_path, "detach", program.pid)
        assert again.returncode == 3
        assert again.stderr == f"fathom: process {program.pid} is not recorded\n"
        ended = fathom(tmp_path, "detach", "first")
        assert ended.returncode == 2
        assert "none of its processes" in ended.stderr
        program.end()


def test_a_preloaded_program_is_recorded_already(tmp_path: Path) -> None:
    words = [paths.FATHOM, "run", "--no-show", "-o", "run", PROGRAMS / "attached", "file"]
    with subprocess.Popen(
        words, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as command:
        assert command.stdin and command.stdout
        command.stdin.write("x")
        command.stdin.flush()
        command.stdout.readline()
        message = refused(tmp_path, "--name", "attached")
        assert f"recorded already, in {tmp_path / 'run.fathom'}" in message
        command.communicate()
    assert command.returncode == 7


#: As the command does it, with less patience, or as another user.
COMMAND = """
import os, sys, fathom.cli.attach, fathom.__main__ as command
from fathom.attach import injector
fathom.run.paths.library()
injector.SECONDS, injector.PATIENCE = 3, 0.3
uid = int(sys.argv[1])
if uid:
    os.chdir('/tmp')
    os.setuid(uid)
sys.exit(command.main(['attach', *sys.argv[2:]]))
"""


def said_of(place: Path, pid: int, *, uid: int = 0, **more: Any) -> str:
    """The one line; nothing is left of the run."""
    run = place / "refused"
    words = [paths.PYTHON, "-c", COMMAND, str(uid), str(pid), "-o", str(run)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300, **more)
    assert done.returncode == 3, done.stderr
    (line,) = done.stderr.splitlines()
    assert not run.with_suffix(".fathom").exists()
    return line.removeprefix(f"fathom: process {pid}: ")


def test_another_users_process(tmp_path: Path) -> None:
    needs.require(["root"])
    with running(tmp_path) as program:
        line = said_of(tmp_path, program.pid, uid=NOBODY)
        assert line == "it is another user's, or may not be looked at"
        program.end()


def test_a_process_that_may_not_be_dumped(tmp_path: Path) -> None:
    """As one of ssh-agent's kind, or with rights of its own: it is the user's, and not even to be looked at."""
    needs.require(["root"])
    tmp_path.chmod(0o777)
    words = [paths.PYTHON, "-c", SECRET]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        assert program.stdout and program.stdout.readline() == b"ready\n"
        line = said_of(tmp_path, program.pid, uid=NOBODY)
        assert line == "it is another user's, or may not be looked at"
        assert program.communicate(b"on\n")[0] == b"on\n"
    assert program.returncode == 5


def forbid_ptrace() -> None:
    """A seccomp filter as a container has it: ptrace is EPERM, for what is started from here."""
    libc = ctypes.CDLL(None, use_errno=True)
    rows = [(0x20, 0, 0, 0), (0x15, 0, 1, 101), (0x06, 0, 0, 0x50001), (0x06, 0, 0, 0x7FFF0000)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *row) for row in rows))
    program = struct.pack("HxxxxxxQ", len(rows), ctypes.addressof(code))
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    assert libc.prctl(22, 2, program, 0, 0) == 0


def test_where_ptrace_is_forbidden(tmp_path: Path) -> None:
    with running(tmp_path) as program:
        line = said_of(tmp_path, program.pid, preexec_fn=forbid_ptrace)
        assert line == "not permitted to trace it; `fathom doctor` says what forbids it"
        program.end()


def test_a_program_that_limits_its_own_system_calls(tmp_path: Path) -> None:
    """Calls put into it would end it, if its filter does not know them."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, preexec_fn=forbid_ptrace) as program:
        line = said_of(tmp_path, program.pid)
        assert line == "it limits its own system calls (seccomp); what Fathom needs would end it"
        program.communicate(b"")
    assert program.returncode == 0


def test_a_program_that_is_stopped(tmp_path: Path) -> None:
    with running(tmp_path) as program:
        os.kill(program.pid, signal.SIGSTOP)
        while state(program.pid) != "T":
            pass
        line = said_of(tmp_path, program.pid)
        assert line == f"it is stopped; let it go on (kill -CONT {program.pid}), then try again"
        assert state(program.pid) == "T"
        os.kill(program.pid, signal.SIGCONT)
        works(tmp_path, "attach", program.pid, "-o", "run")
        works(tmp_path, "detach", "run")
        program.end()


def test_a_program_that_waits_for_a_child_of_vfork(tmp_path: Path) -> None:
    """The kernel stops nobody there. It is let alone, and goes on."""
    (tmp_path / "v.c").write_text(VFORK)
    subprocess.run(["cc", "-o", tmp_path / "v", tmp_path / "v.c"], check=True)
    with subprocess.Popen(
        [tmp_path / "v"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as program:
        assert program.stdout and program.stdout.read(1) == b"x"
        line = said_of(tmp_path, program.pid)
        assert line == "it waits in the kernel, where nothing stops it; try again later"
        program.communicate(b"on")
    assert program.returncode == 5


def state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_a_process_that_is_traced(tmp_path: Path) -> None:
    needs.require(["strace"])
    words = ["strace", "-f", "-o", tmp_path / "trace", "-e", "trace=none"]
    with running(tmp_path, before=words) as program:
        (pid,) = target.named("attached")
        line = said_of(tmp_path, pid)
        assert line.startswith(f"process {program.process.pid} traces it already (strace,")
        program.end()


def test_a_program_of_32_bits(tmp_path: Path) -> None:
    """By assembler alone, so that no library of 32 bits is needed."""
    (tmp_path / "s.s").write_text(OF_32_BITS)
    words = ["cc", "-m32", "-nostdlib", "-static", "-o", tmp_path / "s", tmp_path / "s.s"]
    subprocess.run(words, check=True)
    try:
        started = subprocess.Popen([tmp_path / "s"], stdin=subprocess.PIPE)
    except OSError:
        pytest.skip("this kernel runs no program of 32 bits")
    with started as program:
        assert "of another architecture than this Fathom" in refused(tmp_path, program.pid)
        program.communicate(b"on\n")
    assert program.returncode == 5


def test_a_process_that_has_just_ended() -> None:
    """After it was looked at."""
    gone = subprocess.Popen(["true"])
    gone.wait()
    with pytest.raises(FathomError, match=f"process {gone.pid}: it has ended"):
        injector.detach(gone.pid)


@contextmanager
def stuck(mode: str) -> Iterator[subprocess.Popen[bytes]]:
    """tests/programs/attached_stuck.c: inside its allocator."""
    words = [PROGRAMS / "attached_stuck", mode]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        assert program.stdout and program.stdout.readline() == b"inside\n"
        try:
            yield program
            assert program.communicate(b"x", timeout=300)[0] == b"done\n"
            assert program.returncode == 7
        finally:
            program.kill()


@pytest.mark.parametrize("mode", ["main", "other"])
def test_a_thread_that_waits_inside_the_allocator(tmp_path: Path, mode: str) -> None:
    with stuck(mode) as program:
        line = said_of(tmp_path, program.pid)
        assert line == "a thread waits inside the memory allocator or the loader; try again later"


def test_a_lock_that_nobody_can_see(tmp_path: Path) -> None:
    """The call is given up, and the program goes on where it was."""
    with stuck("hidden") as program:
        assert said_of(tmp_path, program.pid) == "no answer within 3 s"


def test_a_thread_that_allocates_all_the_time(tmp_path: Path) -> None:
    with stuck("loop") as program:
        works(tmp_path, "attach", program.pid, "-o", "run")
        works(tmp_path, "detach", "run")


def test_a_batch_script_of_slurm_is_no_rank(tmp_path: Path) -> None:
    """It and what it starts have Slurm's variables of a task; a step of srun's has them rightly."""
    variables = {"SLURM_JOB_ID": "81234", "SLURM_PROCID": "0", "SLURM_NTASKS": "2"}
    for step in ({}, {"SLURM_STEP_ID": "4294967291"}):
        with running(tmp_path, **variables, **step) as program:
            assert "no rank of an MPI job below it" in refused(tmp_path, "--job", os.getpid())
            program.end()
    with running(tmp_path, **variables, SLURM_STEP_ID="0") as program:
        assert target.of_job(os.getpid()) == [program.pid]
        assert target.of_slurm("81234") == target.of_slurm("81234.0") == [program.pid]
        with pytest.raises(FathomError, match="no rank of it on"):
            target.of_slurm("81234.1")
        program.end()


def test_ceph_in_front_of_a_process(tmp_path: Path) -> None:
    """The number is the process's, not a directory's."""
    with running(tmp_path) as program:
        line = refused(tmp_path, "--ceph", program.pid)
        assert line.startswith("fathom: attach: --ceph: ")
        assert ": no admin socket of an OSD is there (osd.N.asok)" in line
        line = refused(tmp_path, f"--ceph={tmp_path}", program.pid)
        assert line.startswith(f"fathom: attach: --ceph: {tmp_path}: no admin socket")
        line = refused(tmp_path, "--ceph", "--slurm", "81234")
        assert "--ceph needs an agent" in line
        program.end()
