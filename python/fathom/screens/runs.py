"""`runs`: which runs are open."""

import shlex
from functools import partial
from typing import Any

import fathom
from fathom import live
from fathom.analysis.latency.layers import stack
from fathom.screens import answer
from fathom.screens.opened import Opened, Runs


def layers(opened: Opened) -> list[str]:
    """Layers of which calls were seen, in stack order, top first."""
    rows = opened.run.connection.cursor().sql("select distinct layer from counters").fetchall()
    return stack(name for (name,) in rows)


def _one(opened: Opened) -> dict[str, Any]:
    cursor = opened.run.connection.cursor()
    rows = cursor.sql("select * exclude configuration from runs").to_arrow_table().to_pylist()
    row = rows[0]
    return {
        "name": opened.name,
        "path": str(opened.run.path),
        **{key: row[key] for key in ("duration", "started", "ranks", "processes", "nodes")},
        **{key: row[key] for key in ("events", "counted", "coverage")},
        "lanes": row["processes"],
        "layers": layers(opened),
        "command": shlex.join(str(word) for word in opened.run.manifest.get("command", [])),
    }


@answer("runs", of_all=True)
def runs(every: Runs) -> dict[str, Any]:
    """Facts of each as it was when it was opened, and whether it still runs on this node."""
    here = set(live.runs_here())
    facts = [
        {
            **opened.once("facts", partial(_one, opened)),
            "live": opened.now is not None or opened.run.path in here,
        }
        for opened in every.all.values()
    ]
    return {"version": fathom.__version__, "generation": every.generation, "runs": facts}
