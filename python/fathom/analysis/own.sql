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
	coalesce(sum(c.time) filter (c.thread_class = 'main'), 0)::bigint as main_time,
	max(c.longest) as longest,
	min(c.first_start) as first_start,
	max(c.last_stop) as last_stop
from counters as c join processes as p using (process) left join files as f using (file)
where {own_io}
group by process, c.layer, c.op, c.kind
order by process, c.layer, c.op
