"""A call that a busy machine makes longer names nobody: the findings say no more of a program when one of its calls
took 30 or 100 ms longer."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import fathom
import pytest
from fathom.analysis import findings
from fathom.analysis.sentence import sentence
from fathom.run.store import Run
from harness import mistakes, needs

# What stands on who met whom: in the copy one process is late, and nobody waits for it.
MEETINGS = ("metadata-storm", "unordered-accesses", "unsynced-accesses")
AROUND = """with recursive around as (
	select id, parent from calls where id = $call
	union all
	select c.id, c.parent from calls as c join around as a on c.id = a.parent
)"""
CALLS = f"""{AROUND},
stalled as (
	select stream, start + duration as stop from calls where id = $call
)
select c.* replace (
	c.start + if(c.stream = s.stream and c.start >= s.stop, $ns, 0) as start,
	c.duration + if(c.id in (select id from around), $ns, 0) as duration,
	c.nested + if(c.id in (select parent from around), $ns, 0) as nested,
	c.own_duration + if(c.own in (select id from around), $ns, 0) as own_duration
)
from calls as c, stalled as s"""
COUNTERS = f"""{AROUND},
longer as (
	select c.process, if(c.thread = p.pid, 'main', 'other') as thread_class, c.file, c.layer, c.op, c.kind,
		h.layer as enclosing_layer, h.op as enclosing, sum($ns) as ns, max(c.duration + $ns) as longest
	from calls as c join processes as p using (process) left join calls as h on h.id = c.parent
	where c.id in (select id from around)
	group by all
)
select k.* replace (
	(k.time + coalesce(w.ns, 0))::bigint as time, greatest(k.longest, coalesce(w.longest, 0)) as longest,
	if(k.calls = 1, k.shortest + coalesce(w.ns, 0), k.shortest)::bigint as shortest
)
from counters as k left join longer as w on k.process = w.process and k.thread_class = w.thread_class
	and k.file is not distinct from w.file and k.layer = w.layer and k.op = w.op and k.kind = w.kind
	and k.enclosing_layer is not distinct from w.enclosing_layer and k.enclosing is not distinct from w.enclosing"""


def stalled(run: Run, call: int, ns: int) -> Run:
    """The run as it would be if this call had taken so much longer."""
    copy = run.looking_at_rows(run.sql(CALLS, call=call, ns=ns))
    copy.connection.register("counters", run.sql(COUNTERS, call=call, ns=ns))
    runs = run.sql("select * replace (duration + $ns as duration) from runs", ns=ns)
    copy.connection.register("runs", runs)
    return copy


def sentences_of(run: Run) -> dict[tuple[str, str], str]:
    """Who is named by which finding, and its sentence."""
    concluded = findings.find(run, findings.catalog())
    assert not concluded.broken, concluded.broken
    named = ("path", "rank", "who", "server", "host", "directory")
    return {
        (one.rule.name, str(next((one.values[n] for n in named if n in one.values), ""))): sentence(
            one.rule.says, one.values
        )
        for one in concluded.conclusions
        if one.rule.name not in MEETINGS
    }


@pytest.mark.full
@pytest.mark.parametrize(("name", "who"), [("many-files", "guilty"), ("chunks-reread", "innocent")])
def test_one_long_call_names_nobody(name: str, who: str, tmp_path: Path) -> None:
    """Where the store is not slow, that mistake costs next to nothing."""
    pair = replace(mistakes.load(mistakes.FOLDER / f"{name}.toml"), slow={})
    needs.require([*pair.needs, *(needs.of_mpi(pair.mpi) if pair.ranks else [])])
    (tmp_path / "data").mkdir()
    mistakes.execute(pair, getattr(pair, who), tmp_path / "data", tmp_path / "run.fathom")
    run = fathom.open(tmp_path / "run.fathom")
    before = sentences_of(run)
    # One of each function on files: those that are called once are as likely as those called often.
    ops = run.sql(
        """select op, list(id order by id) as calls from calls
        where layer = 'posix' and file is not null group by op order by op"""
    ).to_pylist()
    rng = random.Random(name)
    for op in ops:
        ns = rng.choice([30, 100]) * 10**6
        after = sentences_of(stalled(run, rng.choice(op["calls"]), ns))
        more = {key: text for key, text in after.items() if key not in before}
        assert not more, f"one {op['op']} that took {ns / 1e6:.0f} ms longer"
