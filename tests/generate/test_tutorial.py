"""docs/tutorial-generate.md, as a newcomer does it: its program, its commands, in their order."""

from __future__ import annotations

import re
from pathlib import Path

import netCDF4
from harness import generated, needs, paths

TEXT = (paths.ROOT / "docs" / "tutorial-generate.md").read_text()


def commands() -> list[str]:
    """All that the page says to type."""
    return re.findall(r"^\$ (.*)$", TEXT, re.M)


def test_tutorial(tmp_path: Path) -> None:
    needs.require(["mpicc.openmpi", "pkg-config", *needs.of_mpi("ompio")])
    generated.flags("pnetcdf", "openmpi", "c")
    (program,) = re.findall(r"```c\n(.*?)```", TEXT, re.S)
    (tmp_path / "heat.c").write_text(program)
    launch = " ".join(generated.LAUNCH["ompio"])
    output = ""
    where = tmp_path
    for line in commands():
        if line.startswith("cd "):
            where /= line.removeprefix("cd ")
            continue
        done = generated.command("sh", "-c", translated(line, launch), cwd=where)
        assert done.returncode == 0, line + done.stderr
        output += done.stdout + done.stderr
    for line in re.findall(r"^(?:fathom: |check).*$", TEXT, re.M):
        assert line in output
    with netCDF4.Dataset(where / "heat.nc") as file:
        assert (file["temperature"][:] == 302).all()
        assert (file["temperature"].units, file.time) == ("K", 0.5)


def translated(line: str, launch: str) -> str:
    """For this machine: its own launcher and compiler, all warnings."""
    line = re.sub(r"^mpiexec", launch, line)
    line = re.sub(r"^mpicc", "mpicc.openmpi -Wall -Wextra -Werror", line)
    return re.sub(r"^fathom", f"{paths.PYTHON} -m fathom", line)
