-- The same from `heat`, which is there at every level: reads and writes only. Its parts are spread evenly over those asked for; of
-- layers inside one another the one with the most time counts. $layers: those that the program calls itself; what MPI reads and writes to start
-- and to communicate is of others, as far as the program calls MPI-IO or more.
with part as (
	select greatest(1, ceil(duration / $bins))::bigint as width from runs
),
spread as (
	select process, layer, operation, calls, bytes, time, start, stop,
		unnest(range(start // width, greatest(start, stop - 1) // width + 1)) as bin, width
	from heat, part
	where list_contains($layers, layer)
),
shares as (
	select process, layer, operation, bin, calls, bytes, time,
		(least(stop, (bin + 1) * width) - greatest(start, bin * width)) / greatest(1, stop - start) as share
	from spread
),
layers as (
	select process, layer, operation as kind, bin, sum(calls * share) as calls, sum(bytes * share) as bytes, sum(time * share) as time
	from shares
	group by process, layer, operation, bin
)
select process, kind, bin, max(calls)::bigint as calls, max(bytes)::bigint as bytes, max(time)::bigint as time
from layers
group by process, kind, bin
order by process, bin, kind
