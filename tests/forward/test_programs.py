"""Two programs at once on servers that stripe, recorded as one run: what each asked of which server."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from fathom.__main__ import main
from harness import needs, paths, runner

ROWS, COLUMNS = 512, 256
BYTES = 8 * ROWS * COLUMNS


def test_the_bytes_of_each_program_are_told_apart_on_each_server(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    needs.require(needs.of_mpi("mpich"))
    for name in ("files", "stores"):
        (tmp_path / name).mkdir()
    kernel = paths.BUILD / "kernels/synthetic_mpiio_mpich"
    hints = "-H striping_unit=4096 -H striping_factor={} -H start_iodevice={}"
    wide, narrow = (
        f"mpiexec.mpich -n 2 {kernel} -c {files} {hints.format(*where)} row {ROWS} {COLUMNS} {tmp_path}/files/{name}"
        for name, files, where in (("wide", 2, (3, 1)), ("narrow", 1, (1, 0)))
    )
    command = [
        paths.FATHOM, "run", "--no-show", "-o", tmp_path / "both", "--forward=4", "--forward-path",
        tmp_path / "files", "--forward-storage", tmp_path / "stores", "--",
        "sh", "-c", f"mkdir {tmp_path}/files/wide {tmp_path}/files/narrow; {wide} & {narrow} && wait",
    ]  # fmt: skip
    subprocess.run(
        [str(word) for word in command], cwd=tmp_path, env={**os.environ, **runner.STACK_ENV},
        capture_output=True, timeout=240, check=True,
    )  # fmt: skip
    assert main(["landscape", str(tmp_path / "both"), "--interference", "--json"]) == 0
    landscape = json.loads(capfd.readouterr().out)
    wrote: dict[str, dict[str, int]] = {}
    for row in landscape["servers"]:
        wrote.setdefault(row["run"], {})[row["server"].rpartition("/")[2]] = row["bytes_written"]
    copied = wrote.pop("both:not recorded")  # into files/, when the programs had ended
    assert not any(copied.values())
    assert set(wrote) == {f"both:synthetic_mpiio_mpich.{number}" for number in (1, 2)}
    programs = {
        len([n for n in where.values() if n >= BYTES // 3]): where for where in wrote.values()
    }
    # The layouts of all files, a few bytes each, are on the first server.
    assert programs[1]["fwd0"] - BYTES < 1000 and len(programs[1]) == 1
    assert programs[3].get("fwd0", 0) < 1000
    assert sum(programs[3][f"fwd{number}"] for number in (1, 2, 3)) == 2 * BYTES
    blocks = 2 * BYTES // 3
    assert all(abs(programs[3][f"fwd{number}"] - blocks) <= 2 * 4096 for number in (1, 2, 3))
