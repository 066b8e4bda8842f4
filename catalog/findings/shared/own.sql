-- The program's own I/O calls: those that no other recorded call holds but a region, or a wait for threads. Of each process and function.
-- Columns: process, rank, layer, op, kind, calls, bytes, time (ns).
select
	process,
	any_value(p.rank) as rank,
	c.layer,
	c.op,
	c.kind,
	sum(c.calls)::hugeint as calls,
	sum(c.bytes)::hugeint as bytes,
	sum(c.time)::hugeint as time
from counters as c join processes as p using (process) left join files as f using (file)
where {own_io}
group by process, c.layer, c.op, c.kind
