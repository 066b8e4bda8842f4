-- Calls by any keys, from those recorded in full: the program's own, or (when the keys tell layers apart) all. With key `time` a
-- call is cut where parts of the run meet, and counts where it starts. The parts in braces are made by breakdown.py.
with recursive {own_calls},
{servers},
every as not materialized (
	select c.process, c.layer, c.op, c.kind, c.file, c.start, c.duration, c.size, c.bytes, c.error, c.site, null::varchar as region,
		e.layer as enclosing_layer, e.op as enclosing
	from calls as c left join calls as e on e.id = c.parent
	where {any_io}
),
outermost as not materialized (
	select process, layer, op, kind, file, start, duration, size, bytes, error, site, region,
		null::varchar as enclosing_layer, null::varchar as enclosing
	from own
),
part as (
	select greatest(1, ceil(duration / $bins))::bigint as width from runs
),
pieces as not materialized (
	select *, start // width as bin, 1 as call, if($cut, least(duration, (start // width + 1) * width - start), duration) as spent
	from {rows}, part
	where {which}
	union all
	select *, unnest(range(start // width + 1, (start + duration) // width + 1)) as bin, 0 as call,
		least(start + duration, (bin + 1) * width) - bin * width as spent
	from {rows}, part
	where {which} and $cut and (start + duration) // width > start // width
),
each as (
	select {columns}, call, if(call = 1 and c.error <> 0, 1, 0) as error, if(call = 1, c.bytes, 0) as bytes, spent, c.duration, c.process as by_process
	from pieces as c join processes as p using (process) left join files as f using (file) left join nodes as n using (node)
		left join sites as s using (site) left join server_process using (process) left join server_file using (file)
)
select {names}, sum(call) as calls, sum(error) as errors, coalesce(sum(bytes), 0) as bytes,
	sum(spent) as time, max(duration)::bigint as longest, count(distinct by_process)::bigint as processes
from each
group by {names}
order by {order}
