-- ns that each process spent in its own I/O calls, in each of $bins equal parts of the run. A call that reaches over several
-- parts is cut where they meet; it counts, with its bytes, where it starts.
with recursive {own_calls},
part as (
	select greatest(1, ceil(duration / $bins))::bigint as width from runs
),
within as (
	select process, kind, start // width as bin, count(*) as calls, sum(bytes) as bytes,
		sum(least(duration, (start // width + 1) * width - start)) as time
	from own, part
	group by process, kind, bin
),
beyond as (
	select process, kind, unnest(range(start // width + 1, (start + duration) // width + 1)) as bin, start, duration, width
	from own, part
	where (start + duration) // width > start // width
)
select process, kind, bin, sum(calls)::bigint as calls, coalesce(sum(bytes), 0)::bigint as bytes, sum(time)::bigint as time
from (
	from within
	union all
	select process, kind, bin, 0, 0, least(start + duration, (bin + 1) * width) - bin * width from beyond
)
group by process, kind, bin
order by process, bin, kind
