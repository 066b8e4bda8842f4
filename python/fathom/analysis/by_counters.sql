-- Calls by any keys, from counters: of all levels. The parts in braces are made by breakdown.py.
with {servers},
each as (
	select {columns}, c.calls, c.errors, c.bytes, c.time, c.longest, c.process as by_process
	from counters as c join processes as p using (process) left join files as f using (file) left join nodes as n using (node)
		left join server_process using (process) left join server_file using (file)
	where {any_io} and {which}
)
select {names}, sum(calls) as calls, sum(errors) as errors, sum(bytes) as bytes, sum(time) as time,
	max(longest)::bigint as longest, count(distinct by_process)::bigint as processes
from each
group by {names}
order by time desc, {names}
