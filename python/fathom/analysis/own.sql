-- The program's own I/O calls: those that no other recorded call holds but a region, or a wait for threads. Of each process and function.
select
	process,
	any_value(p.rank) as rank,
	c.layer,
	c.op,
	c.kind,
	sum(c.calls)::bigint as calls,
	sum(c.recorded)::bigint as recorded,
	sum(c.bytes)::bigint as bytes,
	sum(c.time)::bigint as time,
	max(c.longest) as longest,
	min(c.first_start) as first_start,
	max(c.last_stop) as last_stop,
	count(distinct c.thread_class) > 1 or any_value(c.thread_class) = 'other' as threads
from counters as c join processes as p using (process)
where (enclosing is null or enclosing_layer in ('user', 'threads')) and layer not in ('fathom', 'user', 'threads') and c.kind <> 'comm'
group by process, c.layer, c.op, c.kind
order by process, c.layer, c.op
