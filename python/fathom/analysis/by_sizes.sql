-- Reads and writes by size and any keys, from the histograms of counters: how many, not how long.
with {servers},
each as (
	select {columns}, unnest(c.size_histogram) as calls, generate_subscripts(c.size_histogram, 1) - 1 as bin, c.process as by_process
	from counters as c join processes as p using (process) left join files as f using (file) left join nodes as n using (node)
		left join server_process using (process) left join server_file using (file)
	where c.layer not in ('fathom', 'user', 'threads') and {direction} is not null and c.size_histogram is not null and {which}
)
select {names}, if(bin = 0, 0, pow(4, bin - 1))::bigint as size_from, if(bin = 16, null, pow(4, bin))::bigint as size_below,
	sum(calls) as calls, null::bigint as errors, null::bigint as bytes, null::bigint as time, null::bigint as longest,
	count(distinct by_process)::bigint as processes
from each
where calls > 0
group by {names}, bin
order by {names}, bin
