-- The rows of the pictures, with the I/O of their processes.
with {lane},
sums as (
{sums}
),
thread as (
	select process, count(distinct tid) as threads from streams group by process
)
select
	lane,
	case when rank is null then 'pid ' || pid else 'rank ' || rank end as label,
	rank,
	process,
	host as node,
	coalesce(threads, 0) as threads,
	coalesce("io time", 0)::hugeint as "io time",
	coalesce(bytes, 0)::hugeint as bytes,
	coalesce(calls, 0)::bigint as calls
from lane
left join nodes using (node)
left join sums using (process)
left join thread using (process)
where {lanes}
order by lane
