"""What netCDF's and PnetCDF's calls select, as blocks: compared with the elements named one by one."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ["runtime/handlers/netcdf_selection.c", "runtime/handlers/selection.c"]


def test_random_selections(tmp_path: Path) -> None:
    program = tmp_path / "selections"
    sources = [ROOT / "tests/handlers/netcdf_selection.c", *(ROOT / name for name in SOURCES)]
    flags = ["-std=gnu11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-O1"]
    command = ["cc", *flags, f"-I{ROOT / 'runtime'}", *map(str, sources), "-o", str(program)]
    subprocess.run(command, check=True)
    done = subprocess.run([str(program)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout
    assert done.stdout == "40000 selections, 0 wrong\n"
