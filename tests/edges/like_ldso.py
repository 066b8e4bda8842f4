"""Compares every original the edges found for a lazy slot with what ld.so binds itself.

usage: like_ldso.py LIBRARY   (fathom_edges_all: it knows all functions of libc, MPI and HDF5)

Each program runs twice: as it is, where lazy slots are resolved by our lookup, and with
LD_BIND_NOW=1, where ld.so has bound them and we read the slot. Both runs list all slots as
module, offset, name, original; they must agree in every one, and there must be many.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

MPI_PROGRAM = r"""
#include <hdf5.h>
#include <mpi.h>
int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	hid_t file = H5Fcreate("f.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
	H5Fclose(file);
	MPI_Finalize();
	return 0;
}
"""
PYTHON = "import sqlite3, ssl, ctypes, lzma, bz2, asyncio, decimal, socket; socket.getaddrinfo('localhost', 80)"
FEWEST = 50  # slots in a run; less means that nothing was compared

Slots = dict[tuple[str, ...], set[str]]


def run(command: list[str], library: str, tmp: Path, now: bool) -> Slots:
    record = tmp / "record"
    record.unlink(missing_ok=True)
    env = {k: v for k, v in os.environ.items() if not k.startswith("LD_")}
    env |= {"LD_PRELOAD": library, "EDGES_OUT": str(record), "EDGES_SLOTS": "1"}
    if now:
        env["LD_BIND_NOW"] = "1"
    done = subprocess.run(command, cwd=tmp, env=env, capture_output=True, timeout=300, text=True)
    if done.returncode:
        sys.exit(f"{command}: exit {done.returncode}: {done.stderr}")
    slots: Slots = {}
    for line in record.read_text(errors="replace").splitlines():
        if line.startswith("slot "):
            *key, value = line.split()[1:]
            slots.setdefault(tuple(key), set()).add(value)
    return slots


def programs(tmp: Path) -> dict[str, list[str]]:
    commands = {
        "python": [sys.executable, "-c", PYTHON],
        "perl": ["perl", "-MPOSIX", "-MSocket", "-e", "print getpwuid(0)"],
        "git": ["git", "--version"],
        "getent": ["getent", "hosts", "localhost"],
    }
    (tmp / "m.c").write_text(MPI_PROGRAM)
    for mpi in ("mpich", "openmpi"):
        build = f"mpicc.{mpi} -o {mpi} m.c -I/usr/include/hdf5/{mpi} -lhdf5_{mpi}"
        if (
            shutil.which(f"mpicc.{mpi}")
            and not subprocess.run(build.split(), cwd=tmp, capture_output=True).returncode
        ):
            commands[mpi] = [str(tmp / mpi)]
    return {name: command for name, command in commands.items() if shutil.which(command[0])}


def main() -> int:
    wrong = 0
    tmp = Path(tempfile.mkdtemp(prefix="edges."))
    for name, command in programs(tmp).items():
        lazy = run(command, sys.argv[1], tmp, now=False)
        bound = run(command, sys.argv[1], tmp, now=True)
        # A plugin that cannot be bound at once is not loaded then: compare what both runs have.
        both = lazy.keys() & bound.keys()
        differences = [key for key in both if lazy[key] != bound[key]]
        print(f"{name}: {len(both)} slots, {len(differences)} differences")
        for key in differences:
            print("  ", *key, "ours", *lazy[key], "ld.so", *bound[key])
        wrong += len(differences) + (len(both) < FEWEST)
    shutil.rmtree(tmp)
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
