-- Reads and writes by part of the run and any keys, from `heat`, which is there at every level. Of its parts that reach over two of
-- those asked for, each gets its share.
with part as (
	select greatest(1, ceil(duration / $bins))::bigint as width from runs
),
spread as (
	select *, unnest(range(start // width, greatest(start, stop - 1) // width + 1)) as bin
	from (select process, layer, operation as kind, start, stop, calls, bytes, time from heat), part
	where layer not in ('fathom', 'user', 'threads', 'mpi')
),
each as (
	select {columns}, c.process as by_process, c.calls * share as calls, c.bytes * share as bytes, c.time * share as time
	from (
		select *, (least(stop, (bin + 1) * width) - greatest(start, bin * width)) / greatest(1, stop - start) as share from spread
	) as c join processes as p using (process) left join nodes as n using (node)
)
select {names}, round(sum(calls))::hugeint as calls, null::bigint as errors, round(sum(bytes))::hugeint as bytes,
	round(sum(time))::hugeint as time, null::bigint as longest, count(distinct by_process)::bigint as processes
from each
group by {names}
order by {order}
