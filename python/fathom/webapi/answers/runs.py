"""`runs`: which runs are open."""

import shlex
from functools import partial
from typing import Any

import fathom
from fathom.analysis import summary
from fathom.analysis.latency.layers import stack
from fathom.analysis.part import in_part
from fathom.cache.statements import CachedStatements
from fathom.pages import coverage_footer
from fathom.run import database, live
from fathom.webapi.answers import answer
from fathom.webapi.answers.job import form_of
from fathom.webapi.answers.session import OpenRun, Runs


def layers(opened: OpenRun, with_runtime: bool = False) -> list[str]:
    """Layers of which calls were seen, in stack order, top first. `with_runtime`: those of a run-time's calls, too."""
    text = "select layer from counters"
    if with_runtime:
        text += " union all select unnest(layers) from beside"
    rows = opened.run.connection.cursor().sql(f"select distinct layer from ({text})").fetchall()
    return stack(name for (name,) in rows)


#: The layer whose calls the program itself made that took the most time: what the account splits by cause.
OWN = """select layer from counters as c
where is_outermost(enclosing_layer, enclosing) and is_io(c.layer, c.kind)
group by layer order by sum(time) desc, layer limit 1"""


def _one(opened: OpenRun) -> dict[str, Any]:
    cursor = opened.run.connection.cursor()
    rows = cursor.sql("select * exclude configuration from runs").to_arrow_table().to_pylist()
    row, manifest = rows[0], opened.run.manifest
    statements = CachedStatements(opened.run, opened.run.path)
    seen = summary.coverage(statements, manifest.get("configuration", {}).get("counted", []))
    return {
        "name": opened.name,
        "path": str(opened.run.path),
        **{key: row[key] for key in ("duration", "started", "ranks", "processes", "nodes")},
        "events": seen["recorded"],
        "counted": seen["counted"],
        "coverage": row["coverage"],
        "lanes": row["processes"],
        "layers": layers(opened),
        "own layer": next((row["layer"] for row in database.rows(cursor, OWN)), None),
        "layers of all": layers(opened, with_runtime=True),
        "in part": in_part(statements, manifest),
        "left out": coverage_footer.apart(**summary.beside(statements).to_pylist()[0]),
        "program": str(manifest.get("program", "")),
        "form": form_of(manifest, row["ranks"], row["nodes"]),
        "command": shlex.join(str(word) for word in manifest.get("command", [])),
    }


@answer("runs", of_all=True)
def runs(every: Runs) -> dict[str, Any]:
    """Facts of each as it was when it was opened, and whether it still runs on this node."""
    running = set(live.runs_here())
    facts = [
        {
            **opened.once("facts", partial(_one, opened)),
            "live": opened.now is not None or opened.run.path in running,
        }
        for opened in every.all.values()
    ]
    return {"version": fathom.__version__, "generation": every.generation, "runs": facts}
