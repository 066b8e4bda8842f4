-- What `counters` and `heat` hold of the rows of `made`.
insert into counted
with followed as (
	select
		*,
		lag(file_offset + bytes) over one as before_end,
		lag(kind) over (partition by rank, layer, file order by start) as before_kind
	from made
	window one as (partition by rank, layer, op, file, enclosing order by start)
)
select
	process, file, layer, op, kind, if(depth = 0, null, ['hdf5', 'mpiio'][depth]), enclosing, count(*), coalesce(sum(bytes), 0), sum(duration),
	min(duration), max(duration), min(start), max(start + duration), count(*) filter (file_offset = before_end),
	count(*) filter (file_offset >= before_end), count(*) filter (kind <> before_kind and before_kind in ('read', 'write'))
from followed
group by process, file, layer, op, kind, depth, enclosing;

insert into heated
with spread as (
	select
		process, layer, kind, start, duration, bytes, bin,
		greatest(least(start + duration, (bin + 1) * 200000000) - greatest(start, bin * 200000000), 0) as inside
	from (
		select *, unnest(range(start // 200000000, (start + greatest(duration, 1) - 1) // 200000000 + 1)) as bin
		from made where kind in ('read', 'write')
	)
)
select
	process, layer, kind, bin, count(*) filter (start // 200000000 = bin), round(sum(bytes * inside / greatest(duration, 1))), sum(inside)
from spread
group by process, layer, kind, bin;
