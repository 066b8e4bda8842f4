"""`fathom tune` judged by what was counted, not by the clock: the same figure on any machine."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from . import needs, paths, runner

#: Seconds that all reads and writes of the output take a store as slow as bench/grid.py's: 10 ms a request, 8 MB/s.
COST = """
import os
from fathom.run.store import open_run
rows = open_run(os.environ["TUNE_RUN"]).sql(
    "select sum(c.calls)::bigint as calls, sum(c.bytes)::bigint as bytes "
    "from counters as c join files as f using (file) "
    f"where c.layer = 'posix' and c.kind in ('read', 'write') and starts_with(f.path, '{os.environ['TUNE_OUT']}')"
).to_pylist()
print(rows[0]["calls"] / 100 + rows[0]["bytes"] / 8e6)
"""

#: Seconds that the writes of the busiest process take where each has a store of 20 MB/s for itself.
BUSIEST = """
import os
from fathom.run.store import open_run
rows = open_run(os.environ["TUNE_RUN"]).sql(
    "select sum(c.bytes)::bigint as bytes from counters as c join files as f using (file) "
    f"where c.layer = 'posix' and c.kind = 'write' and starts_with(f.path, '{os.environ['TUNE_OUT']}') group by process"
).to_pylist()
print(max(row["bytes"] for row in rows) / 20e6)
"""

#: Collective transfers, which are what columns of a matrix need, and a buffer.
COLLECTIVE = """
accept = ["all-ranks"]
[[knob]]
knob    = "hdf5.dxpl_mpio"
dataset = "*"
values  = ["collective"]
[[knob]]
knob   = "romio.cb_buffer_size"
values = [{buffers}]
"""
#: Columns by independent transfers; their number and a directory follow.
COLUMNS = [
    paths.BUILD / "kernels" / "synthetic_hdf5_mpich", "-m", "independent", "column", 128,
]  # fmt: skip


def once(folder: Path, name: str, settings: str, *program: object) -> float:
    """That cost of one run of the program, which writes into `folder`/`name`."""
    needs.require(needs.of_mpi("mpich"))
    out, file, cost = folder / name, folder / f"{name}.toml", folder / "cost.py"
    out.mkdir()
    file.write_text(settings)
    cost.write_text(COST)
    options = ["--no-show", "--level", "file", "--tuned", file, "-o", folder / f"{name}.run"]
    words = [
        paths.FATHOM,
        "run",
        *options,
        "--",
        *runner.LAUNCH["mpich"].split(),
        "-n",
        4,
        *program,
        out,
    ]
    env = {**os.environ, **runner.STACK_ENV}
    subprocess.run(
        [str(word) for word in words], env=env, check=True, capture_output=True, timeout=300
    )
    variables = {"TUNE_RUN": str(folder / f"{name}.run.fathom"), "TUNE_OUT": str(out)}
    finished = subprocess.run(
        [paths.PYTHON, cost], env={**os.environ, **variables}, check=True, capture_output=True
    )
    return float(finished.stdout)


def tune(folder: Path, name: str, space: str, *words: object, cost: str = COST) -> tuple[Any, Any]:
    """Result and trials of a search by that cost; `words`: options, `--`, the program of four ranks of MPICH."""
    needs.require(needs.of_mpi("mpich"))
    (folder / "cost.py").write_text(cost)
    (folder / f"{name}.space.toml").write_text(space)
    objective = f"{paths.PYTHON} {folder}/cost.py"
    options = ["--space", f"{name}.space.toml", "--objective", objective, "--json", "-o", name]
    split = words.index("--") + 1
    launch = [*runner.LAUNCH["mpich"].split(), "-n", 4]
    command = [paths.FATHOM, "tune", *options, *words[:split], *launch, *words[split:]]
    done = subprocess.run(
        [str(word) for word in command], cwd=folder, env={**os.environ, **runner.STACK_ENV}, text=True,
        capture_output=True, timeout=1500, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    shown = subprocess.run(
        [paths.FATHOM, "tune", "show", name, "--json"], cwd=folder, text=True, capture_output=True, check=True
    )  # fmt: skip
    return json.loads(done.stdout), json.loads(shown.stdout)
