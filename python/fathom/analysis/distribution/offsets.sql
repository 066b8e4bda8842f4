-- Bytes of each file that each rank read or wrote through no view: intervals [first, end), those that touch or overlap as one. Of asynchronous
-- calls what was asked counts as moved.
with recursive {top},
ranges as (
	select file, layer, direction, who, start, file_offset as a, file_offset + coalesce(moved, 0) as z, kind, collective
	from top
	where layer in ('mpiio', 'stdio', 'aio', 'posix') and selection is null and direction is not null and file_offset is not null
),
islands as (
	select *, a > max(z) over (partition by file, layer, direction, who order by a, z rows between unbounded preceding and 1 preceding) as begins
	from ranges
	where z > a
),
numbered as (
	select *, sum(begins::bigint) over (partition by file, layer, direction, who order by a, z rows unbounded preceding) as island from islands
),
runs as (
	select
		file, layer, direction, who, coalesce(island, 0) as island, min(a) as a, max(z) as z, count(*) as calls, sum(z - a) as bytes,
		count(*) filter (collective is not null) as collective, count(*) filter (kind = 'post') as posted, min(start) as first_start
	from numbered
	group by file, layer, direction, who, coalesce(island, 0)
)
select
	any_value(f.path) as path,
	runs.file,
	layer,
	direction,
	who,
	list(a order by a) as firsts,
	list(z order by a) as ends,
	sum(calls) as calls,
	sum(collective) as collective,
	sum(posted) as posted,
	sum(bytes) as bytes,
	min(first_start)::bigint as first_start
from runs join files as f on f.file = runs.file
group by runs.file, layer, direction, who
order by runs.file, layer, direction, who
