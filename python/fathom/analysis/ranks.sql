-- Outermost I/O calls of each process, with its rank where MPI gave it one.
select
	process,
	any_value(p.rank) as rank,
	any_value(p.pid) as pid,
	any_value(p.ended) as ended,
	any_value(n.host) as host,
	any_value(p.exe) as exe,
	coalesce(sum(c.calls), 0) as calls,
	coalesce(sum(c.bytes), 0) as bytes,
	coalesce(sum(c.time), 0) as time
from processes as p
left join (
	from counters as c left join files as f using (file)
	where {own_io}
) as c using (process)
left join nodes as n using (node)
group by process
having sum(c.calls) > 0 or any_value(p.rank) is not null
order by rank nulls last, process
