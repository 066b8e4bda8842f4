-- Time of each function, the most first; `unfiled` is that of calls whose file was not recorded (level job).
with {landscape_io}
select
	operation,
	layer,
	op,
	sum(calls)::bigint as calls,
	sum(time)::bigint as time,
	coalesce(sum(time) filter (file is null), 0)::bigint as unfiled
from io
group by operation, layer, op
order by time desc, op
