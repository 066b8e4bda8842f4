-- The program's own I/O calls: those that no other recorded call holds but a region, or a wait for threads.
-- Of each function, over all processes.
select
	c.layer,
	c.op,
	c.kind,
	sum(c.calls) as calls,
	sum(c.recorded) as recorded,
	bool_and(c.recorded = c.calls) as complete,
	sum(c.bytes) as bytes,
	sum(c.time) as time,
	max(c.longest) as longest,
	min(c.first_start) as first_start,
	max(c.last_stop) as last_stop
from counters as c left join files as f using (file)
where {own_io}
group by c.layer, c.op, c.kind
order by c.layer, c.op, c.kind
