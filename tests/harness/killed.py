"""Programs under Fathom that are killed at random moments, and what must be known of them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

from harness import invariants, paths, tables

KILLED = paths.PROGRAMS / "programs" / "killed"


def fathom_run(run: Path, *command: object, env: dict[str, str] | None = None) -> Any:
    return subprocess.run(
        [str(w) for w in (paths.FATHOM, "run", "--no-show", "-o", run, "--", *command)],
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def assert_sound(connection: Any, **asked: bool) -> None:
    lines = invariants.broken(connection, **{"finished": False, "whole": False, **asked})
    assert not lines, "\n".join(lines)


def kill_children(directory: Path, children: int, seed: int) -> None:
    """Each child's calls, up to the one it was killed in: a gapless row of offsets."""
    data = directory / "data"
    data.mkdir()
    run = directory / "run.fathom"
    done = fathom_run(run, KILLED, data, children, seed)
    assert done.returncode == 0, done.stderr
    connection = tables.connect(run)
    assert_sound(connection)
    finished = {int(pid): int(n) for pid, n in map(str.split, done.stdout.splitlines())}
    assert len(finished) == children
    seen = {
        pid: rest
        for pid, *rest in tables.ask(
            connection,
            """select p.pid, count(*) filter (state = 'done'), count(distinct file_offset),
                coalesce(max(file_offset), -8), count(*) filter (state = 'done' and bytes <> 8),
                count(*) filter (state = 'unfinished'), count(distinct file)
            from calls join processes p using (process) where op = 'pwrite' group by p.pid""",
        )
    }
    for pid, calls in finished.items():
        if pid not in seen:
            assert calls == 0, f"pid {pid}: {calls} calls finished, none recorded (seed {seed})"
            continue
        done_calls, offsets, last, wrong, unfinished, files = seen[pid]
        context = f"pid {pid}, seed {seed}: {calls} finished, {seen[pid]}"
        assert calls <= done_calls + unfinished and done_calls <= calls + 1, context
        assert offsets == done_calls + unfinished and unfinished <= 1, context
        assert last == 8 * (offsets - 1) and wrong == 0 and files == 1, context
    killed = "select pid from processes where ended <> 'clean'"
    not_clean = {pid for (pid,) in tables.ask(connection, killed)}
    assert set(seen) <= not_clean, "a killed process is said to have ended in order"
